#!/usr/bin/env python3
"""Does the campaign find bugs? Deliberate ones, one at a time: each is put into the sources, the program
is built, and the campaign runs until it fails.

The sources are changed in place, so they must be as they were committed; they are restored at the end.
"""

import argparse
import csv
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

SYNC = """  if ((!in_place_ || read_back != nullptr) && fsync(fd) != 0) {
    throw_io_error(errno, "cannot sync", file_.path());
  }
"""
GIVE_NAME = "  if (!in_place_) in_place_ = !give_name();\n"

# Name, file, and what stands there before and after.
MUTATIONS = [
    # --- what comes back from scratch ---
    ("checksum of a block not compared", "src/run/run_store.cc",
     "block.stored_bytes)) == block.checksum &&", "block.stored_bytes)) != block.checksum + 1 &&"),
    ("errors of writes to scratch ignored", "src/run/run_store.cc",
     "if (completion.error != 0 || completion.bytes != wanted) {",
     "if (op == io::Op::read && (completion.error != 0 || completion.bytes != wanted)) {"),
    ("transfers that end early are taken for whole", "io/transfer.cc",
     "  if (request_.op == Op::write) return result == 0 ? fail(EIO) : false;",
     "  if (request_.op == Op::write) return result == 0 ? fail(EIO) : true;"),
    ("failed packed blocks are taken as they are", "src/run/block_packer.cc",
     "  return io::decompress_block(codec_, std::span(packed).first(packed_bytes), {buffer, bytes});",
     "  io::decompress_block(codec_, std::span(packed).first(packed_bytes / 2), {buffer, bytes});\n  return true;"),
    # --- the output ---
    ("errors of writes of text ignored", "src/run/general_output.cc",
     "    if (failure != nullptr) monitor_.fail(std::move(failure));", ""),
    ("output not synced", "io/output_file.cc", SYNC, ""),
    ("error of the sync ignored", "io/output_file.cc", SYNC, "  fsync(fd);\n"),
    ("output has its name before the sync", "io/output_file.cc",
     SYNC + "  if (read_back != nullptr) read_back->check(file_);\n" + GIVE_NAME, GIVE_NAME + SYNC),
    ("directory not synced", "io/output_file.cc",
     "    sync_directory(directory_, can_sync_directory_, file_);\n", ""),
    ("existing output emptied when it is opened", "io/output_file.cc",
     "constexpr int kOverwrite = O_WRONLY | O_CLOEXEC | O_NOCTTY;",
     "constexpr int kOverwrite = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_TRUNC;"),
    ("output longer than its records", "io/output_file.cc",
     "  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0)\n",
     "  if (bytes % 4096 != 0 && ftruncate(fd, static_cast<off_t>(bytes + 1)) != 0)\n"),
    ("what is read back is not compared", "io/write_comparison.cc",
     "    if (block_checksum(piece) != next_->checksum) throw_not_as_written(file_, offset_ + at);\n", ""),
    ("files of parts not synced", "io/output_directory.cc",
     '  if (fsync(file.fd()) != 0) throw_io_error(errno, "cannot sync", file.path());\n  if (read_back', "  if (read_back"),
    # --- threads ---
    ("messages to a coordinator wake nobody", "src/base/mailbox.h",
     "    arrived_.notify_one();\n  }\n\n  // Runs", "  }\n\n  // Runs"),
    ("a wait does not look again", "io/thread_queue.cc",
     "    arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });",
     "    if (!stopping_ && waiting_.empty()) arrived_.wait(lock);"),
    ("pieces of text do not wait for their turn", "src/run/general_output.cc",
     "  monitor_.wait([&] { return turn_ == ticket; });", "  monitor_.wait([&] { return true; });"),
    ("pieces of records do not wait for their turn", "src/base/turns.h",
     "    for (Ticket turn; (turn = turn_.load(std::memory_order_acquire)) != ticket;) {\n      turn_.wait(turn, std::memory_order_acquire);\n    }",
     "    (void)ticket;"),
    ("the end of a turn wakes nobody", "src/base/turns.h", "    turn_.notify_all();\n", ""),
    # --- merging ---
    ("keys at a boundary fall into the cell below", "src/merge/general_cells.cc",
     "      std::upper_bound(boundaries_.begin(), boundaries_.end(), key,\n                       [](std::string_view k, const std::string& b) { return k < b; }) -",
     "      std::lower_bound(boundaries_.begin(), boundaries_.end(), key,\n                       [](const std::string& b, std::string_view k) { return b < k; }) -"),
    ("a block ends one cell too early", "src/merge/general_cells.cc",
     "      last = cells.cell_of(run.last_key);", "      last = cells.cell_before(run.last_key);"),
    ("a record equal to the bound is merged too early", "src/merge/usable_records.cc",
     "  return x_run < run;", "  return true;"),
    ("blocks of text are given back by the first of their cells", "src/merge/general_merger.cc",
     "      if (is_sorted && --block.users == 0) give_back(block);",
     "      if (is_sorted && block.users != 0) {\n        block.users = 0;\n        give_back(block);\n      }"),
    ("a merge takes equal records from the last run first", "src/merge/record_merge.cc",
     "  return order != 0 ? order < 0 : a < b;", "  return order != 0 ? order < 0 : a > b;"),
    # --- records ---
    ("duplicates stay where two pieces meet", "src/run/output_stage.cc",
     "  return duplicate ? 1 : 0;", "  return 0;"),
    ("groups are parted where two pieces meet", "src/run/folded_piece.cc",
     "    const bool same_key = layout_.compare(open.first(), first_.first()) == 0;",
     "    const bool same_key = false;"),
    ("a limit keeps one record too few in each chunk", "src/job/general_sort/limit_threshold.cc",
     "    if (++seen < needed) continue;", "    if (++seen + 1 < needed) continue;"),
    # --- the end ---
    ("files stay open", "io/file.cc", "File::~File() {\n  if (fd_ >= 0) ::close(fd_);", "File::~File() {\n  if (fd_ >= 0 && direct_) ::close(fd_);"),
    ("scratch files keep their names", "io/file.cc", "  if (named >= 0) unlink(name.c_str());\n", ""),
    ("temporary names stay after a failure", "io/temp_name.cc",
     "  const int error = text_.empty() ? 0 : remove_name(directory_, text_.c_str());\n",
     "  const int error = 0;\n"),
    ("memory twice as large as -S", "src/base/memory_region.cc",
     "  if (!map(round_up(bytes, kHugePage) + kHugePage) && !map(bytes)) {",
     "  if (!map(round_up(2 * bytes, kHugePage) + 32 * kHugePage) && !map(bytes)) {"),
]


PROGRAM = ROOT / "build-release/bin/xxl"
CAMPAIGN = ROOT / "build-release/tests/campaign/xxl-campaign"
CASES = ROOT / "tests/campaign/cases"


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, text=True, errors="replace", capture_output=True, check=False, **options)


def is_clean():
    return run(["git", "status", "--porcelain", "--untracked-files=no"]).stdout == ""


def build():
    built = run(["cmake", "--build", "--preset", "release", "--target", "xxl_program", "xxl_campaign", "xxl_machine"])
    if built.returncode != 0:
        sys.exit(built.stdout[-3000:] + built.stderr[-3000:])


def campaign(program, *options):
    result = run([CAMPAIGN, f"--xxl={program}", "--stop-at-failure", *options])
    if result.returncode not in (0, 1):
        sys.exit(result.stdout[-2000:] + result.stderr[-2000:])
    return result


def hunt(minutes, first_seed):
    """How long the campaign takes to fail, and on what; None if it does not."""
    start = time.monotonic()
    result = campaign(PROGRAM, f"--seeds={first_seed}..", f"--minutes={minutes}")
    seconds = time.monotonic() - start
    if result.returncode == 0:
        return None
    failed = re.search(r"^FAILED (?:seed )?(\S+)\n(.*)", result.stdout, re.MULTILINE)
    return seconds, failed[1], failed[2]


def fails_without_bug(clean, where):
    """Whether that seed, or kept case, is no proof."""
    again = f"--case={CASES / where}" if where.endswith(".case") else f"--seeds={where}"
    return campaign(clean, again).returncode != 0


def misfits():
    """Bugs that can no longer be put in, as the sources have changed."""
    return [f"{name}: {file} does not have what is to be changed exactly once"
            for name, file, before, _ in MUTATIONS if (ROOT / file).read_text().count(before) != 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="for each bug (default: 10)")
    parser.add_argument("--first-seed", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="part of a bug's name")
    parser.add_argument("--results", type=pathlib.Path, help="a CSV file")
    parser.add_argument("--check", action="store_true", help="only see whether each can be put in")
    arguments = parser.parse_args()
    if lines := misfits():
        sys.exit("\n".join(lines))
    if arguments.check:
        return
    if not is_clean():
        sys.exit("the sources differ from what was committed")

    # The source is put back then, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    build()
    clean = PROGRAM.with_name("xxl-without-bug")  # where it finds its module
    shutil.copy(PROGRAM, clean)
    rows = []
    for name, file, before, after in MUTATIONS:
        if arguments.only not in name:
            continue
        path = ROOT / file
        original = path.read_text()
        try:
            path.write_text(original.replace(before, after))
            build()
            found = hunt(arguments.minutes, arguments.first_seed)
        finally:
            path.write_text(original)
        if found and fails_without_bug(clean, found[1]):
            sys.exit(f"{found[1]} fails without the bug, too: mend that first")
        rows.append([name, file, "found" if found else "NOT FOUND", f"{found[0]:.1f}" if found else "",
                     *(found[1:] if found else ("", ""))])
        print(" | ".join(rows[-1]), flush=True)
    build()
    if arguments.results:
        with arguments.results.open("w", newline="") as out:
            csv.writer(out).writerows([["bug", "file", "outcome", "seconds", "where", "how"], *rows])
    print(f"{sum(row[2] == 'found' for row in rows)} of {len(rows)} found")


if __name__ == "__main__":
    main()
