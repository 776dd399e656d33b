#!/usr/bin/env python3
"""The memory that sorts, merges and joins of text take at most: -S and 48 MiB, whatever comes in.

    bench/memory_matrix.py --xxl PROGRAM --dir DIR [--sizes 0.5,2,8] [--memory 4M,16M,64M,256M]
        [--kinds lines,csv,prefix] [--sources file,pipe] [--verbs sort,merge,join]
        [--threads N] [--jobs N] [--cgroup] [--out FILE]

Runs every combination, --jobs at a time. Sizes are in GB (10^9 bytes). Kinds: lines of 100 bytes;
rows of CSV sorted by their third column; lines that share their first 300 bytes. Files are made
once, of half a GB, and named as often as a size needs them; pipes are written while they are read,
and need no disk. Output is not stored: it goes through a pipe to `xxl sort -c`, and what comes out
must be what went in, by its length, its lines and the sum of its bytes. So DIR needs room for half
a GB of each kind, twice, and for the scratch of the cases that run at a time. A join has half of the
size on each side, two parts of one series of records of which half are the same.

The peak is that of the resident set, as wait4 tells it. With --cgroup each process runs in a memory
cgroup (v1, as root) with the bound as its limit, and is killed above it. One row a case goes to
FILE as CSV; the exit status is 1 if a case failed.
"""

import argparse
import csv
import itertools
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading
import time
import zlib

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20
BOUND_MIB = 48  # beside -S
RECORD = 100
PART_RECORDS = 5_000_000  # of a file
PIECE_RECORDS = 10_000    # handled at a time
CGROUPS = pathlib.Path("/sys/fs/cgroup/memory")
PREFIX = b"p" * 300
KEYS = {"lines": [], "csv": ["--record=csv", "--no-header", "--key=3"], "prefix": []}
COLUMNS = ["verb", "kind", "source", "gb", "memory", "threads", "peak_mib", "bound_mib", "seconds",
           "status", "correct"]


def as_lines(piece):
    """KEY  NUMBER  LETTERS, as gen writes them, without blanks in keys, and the last digits of numbers
    turned round, which brings them out of order."""
    lines = bytearray(piece)
    for i in range(10):
        lines[i::RECORD] = piece[i::RECORD].replace(b" ", b"x")
        lines[34 + i::RECORD] = piece[43 - i::RECORD]
    return bytes(lines)


def as_rows(piece):
    """NUMBER,LETTERS,KEY"""
    rows = bytearray(as_lines(piece).translate(bytes.maketrans(b',"', b"xx")))
    for i in range(10):
        number, key = rows[34 + i::RECORD], rows[i::RECORD]
        rows[i::RECORD], rows[87 + i::RECORD] = number, key
    for i in (10, 86):
        rows[i::RECORD] = b"," * (len(piece) // RECORD)
    return rows


SHAPES = {
    "lines": as_lines,
    "csv": as_rows,
    "prefix": lambda piece: b"".join(PREFIX + line for line in as_lines(piece).splitlines(True)),
}
RECORD_BYTES = {"lines": RECORD, "csv": RECORD, "prefix": RECORD + len(PREFIX)}


class Tally:
    """Tells bytes that are the same, in any order of records, from others."""

    def __init__(self):
        self.bytes = self.lines = self.sum = 0

    def add(self, data):
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        # The lower half of it is the sum of all bytes.
        self.sum = zlib.adler32(data, self.sum) & 0xffff

    def add_all_of(self, other, times):
        self.bytes += times * other.bytes
        self.lines += times * other.lines
        self.sum = (self.sum + times * other.sum) % 65521

    def __eq__(self, other):
        return (self.bytes, self.lines, self.sum) == (other.bytes, other.lines, other.sum)


def generate(case, start, records, write, tally):
    """Hands `records` of a kind to `write`, piece by piece."""
    with subprocess.Popen([case["xxl"], "gen", "--ascii", f"--start={start}", "--parallel=1",
                           str(records)], stdout=subprocess.PIPE) as source:
        left = records
        while left > 0:
            piece = source.stdout.read(min(left, PIECE_RECORDS) * RECORD)
            if not piece:
                break
            left -= len(piece) // RECORD
            shaped = SHAPES[case["kind"]](piece)
            tally.add(shaped)
            write(shaped)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def part_path(case, which):
    return pathlib.Path(case["dir"]) / f"{case['kind']}-{which}"


def make_parts(case):
    """The files of a kind: one as it comes, and one sorted."""
    plain, is_sorted = part_path(case, "plain"), part_path(case, "sorted")
    if is_sorted.exists():
        return
    with open(plain, "wb") as file:
        generate(case, 0, PART_RECORDS * RECORD // RECORD_BYTES[case["kind"]], file.write, Tally())
    subprocess.run([case["xxl"], "sort", *KEYS[case["kind"]], "-T", case["dir"], "-S", "256M",
                    "-o", f"{is_sorted}.new", plain], check=True)
    os.rename(f"{is_sorted}.new", is_sorted)


def tally_of(path):
    tally = Tally()
    with open(path, "rb") as file:
        while data := file.read(MIB):
            tally.add(data)
    return tally


def copy(path, fd):
    with open(path, "rb") as file:
        while data := file.read(MIB):
            write_all(fd, data)


def feed(fd, work):
    def run():
        try:
            work(fd)
        except BrokenPipeError:
            pass
        finally:
            os.close(fd)
    thread = threading.Thread(target=run)
    thread.start()
    return thread


def plan_inputs(case, expected):
    """The inputs: paths, or (for a pipe) what writes to it."""
    count = max(1, round(case["gb"] * 1e9 / (PART_RECORDS * RECORD)))
    records = round(case["gb"] * 1e9 / RECORD_BYTES[case["kind"]])
    if case["verb"] == "join":
        half = records // 2
        return [lambda fd, start=start: generate(case, start, half, lambda d: write_all(fd, d),
                                                 expected) for start in (0, half // 2)]
    which = "sorted" if case["verb"] == "merge" else "plain"
    path = part_path(case, which)
    if case["verb"] == "sort" and case["source"] == "pipe":
        return [lambda fd: generate(case, 0, records, lambda d: write_all(fd, d), expected)]
    expected.add_all_of(tally_of(path), count)
    if case["source"] == "file":
        return [path] * count
    return [lambda fd: copy(path, fd)] * count


def join_files(case):
    """Files for a join: made for the case, as they are of its size."""
    paths = []
    half = round(case["gb"] * 1e9 / RECORD_BYTES[case["kind"]]) // 2
    for side, start in enumerate((0, half // 2)):
        path = pathlib.Path(case["dir"]) / f"{case['kind']}-{case['gb']}-{side}-{os.getpid()}"
        with open(path, "wb") as file:
            generate(case, start, half, file.write, Tally())
        paths.append(path)
    return paths


def check_output(case, fd, tally, verdict):
    """Relays the output to `xxl sort -c`, or counts the rows of a join."""
    with open(fd, "rb", buffering=0) as output:
        if case["verb"] == "join":
            half = round(case["gb"] * 1e9 / RECORD_BYTES[case["kind"]]) // 2
            rows = 0
            while data := output.read(MIB):
                rows += data.count(b"\n")
            verdict.append(rows == half - half // 2)
            return
        with subprocess.Popen([case["xxl"], "sort", "-c", *KEYS[case["kind"]], "-S", "64M", "-"],
                              stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as check:
            while data := output.read(MIB):
                tally.add(data)
                check.stdin.write(data)
            check.stdin.close()
            verdict.append(check.wait() == 0)


def start_in_cgroup(case):
    group = CGROUPS / f"xxl-memory-{os.getpid()}"
    group.mkdir(exist_ok=True)
    (group / "memory.limit_in_bytes").write_text(str(case["bound"]))
    (group / "memory.max_usage_in_bytes").write_text("0")
    return group


def command_of(case, paths):
    command = [case["xxl"], "join" if case["verb"] == "join" else "sort", "-S", case["memory"],
               "-T", case["dir"], f"--parallel={case['threads']}"]
    if case["verb"] == "merge":
        command.append("-m")
    if case["verb"] == "join":
        # By the number, which both have; keys may be equal by chance.
        command += {"lines": ["-j", "2"], "csv": ["--record=csv", "--no-header", "--key=1"],
                    "prefix": ["-j", "2"]}[case["kind"]]
    else:
        command += KEYS[case["kind"]]
    return command + [str(path) for path in paths]


def run_case(case):
    expected, tally, verdict = Tally(), Tally(), []
    made = join_files(case) if case["verb"] == "join" and case["source"] == "file" else []
    inputs = made or plan_inputs(case, expected)
    feeders, paths, read_ends = [], [], []
    for each in inputs:
        if isinstance(each, pathlib.Path):
            paths.append(each)
            continue
        read_end, write_end = os.pipe()
        read_ends.append(read_end)
        paths.append(f"/dev/fd/{read_end}")
        feeders.append((write_end, each))
    out_read, out_write = os.pipe()
    group = start_in_cgroup(case) if case["cgroup"] else None
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))
            for fd in read_ends:
                os.set_inheritable(fd, True)
            os.dup2(out_write, 1)
            command = command_of(case, paths)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    for fd in [out_write, *read_ends]:
        os.close(fd)
    threads = [feed(fd, work) for fd, work in feeders]
    checker = threading.Thread(target=check_output, args=(case, out_read, tally, verdict))
    checker.start()
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - start
    for thread in [*threads, checker]:
        thread.join()
    for path in made:
        path.unlink()
    peak = usage.ru_maxrss * 1024
    if group is not None:
        peak = max(peak, int((group / "memory.max_usage_in_bytes").read_text()))
        group.rmdir()
    status = os.waitstatus_to_exitcode(status)
    correct = status == 0 and verdict == [True] and (case["verb"] == "join" or tally == expected)
    row = {**case, "peak_mib": round(peak / MIB, 1), "bound_mib": case["bound"] // MIB,
           "seconds": round(seconds, 1), "status": status, "correct": correct}
    return {column: row[column] for column in COLUMNS}


def bytes_of(text):
    return int(text[:-1]) * {"M": MIB, "G": 1024 * MIB}[text[-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xxl", default=str(REPOSITORY / "build-release/bin/xxl"))
    parser.add_argument("--dir", required=True, help="for files and scratch")
    parser.add_argument("--sizes", default="0.5,2")
    parser.add_argument("--memory", default="4M,16M,64M,256M")
    parser.add_argument("--kinds", default="lines,csv,prefix")
    parser.add_argument("--sources", default="file,pipe")
    parser.add_argument("--verbs", default="sort,merge,join")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cgroup", action="store_true")
    parser.add_argument("--out", default=str(REPOSITORY / "bench/results/memory.csv"))
    arguments = parser.parse_args()
    common = {"xxl": str(pathlib.Path(arguments.xxl).resolve()),
              "dir": str(pathlib.Path(arguments.dir).resolve()), "threads": arguments.threads,
              "cgroup": arguments.cgroup}
    kinds = arguments.kinds.split(",")
    for kind in kinds:
        make_parts({**common, "kind": kind})
    cases = [{**common, "verb": verb, "kind": kind, "source": source, "gb": float(size),
              "memory": memory, "bound": bytes_of(memory) + BOUND_MIB * MIB}
             for size, memory, verb, kind, source in itertools.product(
                 arguments.sizes.split(","), arguments.memory.split(","),
                 arguments.verbs.split(","), kinds, arguments.sources.split(","))]
    failed = 0
    with open(arguments.out, "w", newline="", encoding="ascii") as file, \
            multiprocessing.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        rows = csv.DictWriter(file, COLUMNS)
        rows.writeheader()
        for row in pool.imap_unordered(run_case, cases):
            rows.writerow(row)
            file.flush()
            good = row["correct"] and row["peak_mib"] <= row["bound_mib"]
            failed += not good
            print(" ".join(str(value) for value in row.values()), "" if good else "FAILED",
                  flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
