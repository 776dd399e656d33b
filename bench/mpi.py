#!/usr/bin/env python3
"""Sorts on several ranks of one machine beside one process with the same memory in all.

    bench/mpi.py --xxl PROGRAM --xxl-mpi PROGRAM --dir DIR [--mpirun "mpirun --oversubscribe"] [--ranks 1,2,4]
        [--threads N] [--records 20M] [--memory 256M] [--kinds uniform,skewed,sorted,constant] [--repeat 3] [--out FILE]
        [--apart] [--parts] [--devices cpu,gpu]

Of gensort records in DIR: uniform ones, sorted ones, ones of which nine in ten have one key (skewed), ones that all have it
(constant). Every output is checked: order, and the checksum of the input. For each kind: seconds, processor seconds (user
and system, of all ranks), bytes that blocks took over the network over those of the input, and the largest part over the
smallest; with several --devices also seconds until the last rank has formed its runs. Rows go to FILE as CSV, medians to standard output. Exit status 1 if an output was wrong. Ranks
of one machine share its disks and processors: what is measured is what the work costs, not how it scales. They read each
other's scratch, unless --apart hides it from them (as root, with Open MPI), and blocks go over TCP. With --parts ranks
write a file each: a file in memory is written by one processor at a time."""

import argparse
import csv
import json
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import time

RECORD_BYTES = 100
OVER_TCP = ["--mca", "btl", "tcp,self"]
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]  # without a view of each other's files
COLUMNS = ["kind", "ranks", "repetition", "seconds", "processor_seconds", "network_over_input", "largest_over_smallest",
           "input_bytes", "memory", "correct", "ranks_are", "device", "form_seconds"]


def number(text):
    factors = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
    return int(text[:-1]) * factors[text[-1]] if text[-1] in factors else int(text)


def mebibytes(text):
    """A size as -S takes it."""
    return int(text[:-1]) * {"M": 1, "G": 1024}[text[-1]]


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def make_input(arguments, kind, path):
    uniform = path.with_name("uniform")
    for left in (uniform, path):  # by a run with another number of records
        if left.exists() and left.stat().st_size != number(arguments.records) * RECORD_BYTES:
            left.unlink()
    if not uniform.exists():
        subprocess.run([arguments.xxl, "gen", "--record=gensort", arguments.records, "-o", uniform], check=True)
    if path.exists():
        return
    if kind == "sorted":
        subprocess.run([arguments.xxl, "sort", "--record=gensort", uniform, "-o", path], check=True)
        return
    with open(uniform, "rb") as source, open(path, "wb") as target:
        while block := source.read(RECORD_BYTES * 10000):
            records = bytearray(block)
            for index in range(len(records) // RECORD_BYTES):
                if kind == "constant" or index % 10:
                    records[index * RECORD_BYTES:index * RECORD_BYTES + 10] = b"ssssssssss"
            target.write(records)


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)


def summary(arguments, path):
    """Whether it is in order, and its checksum."""
    done = subprocess.run([arguments.xxl, "validate", "--record=gensort", path], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("Records", "Checksum"))]
    return done.returncode == 0, lines


def form_seconds(phases):
    return sum(phase["seconds"] for phase in phases if phase["name"] == "form runs")


def run(arguments, ranks, device, source, target):
    """0 ranks: one process without MPI."""
    output = f"{target}/" if ranks and arguments.parts else target
    common = ["--record=gensort", f"--device={device}", "-T", arguments.dir, "--stats=json", source, "-o", output]
    if arguments.threads:
        common.append(f"--parallel={arguments.threads}")
    if ranks == 0:
        command = [arguments.xxl, "sort", "-S", f"{mebibytes(arguments.memory)}M", *common]
    else:
        apart = APART if arguments.apart else []
        command = [*shlex.split(arguments.mpirun), *(OVER_TCP if apart else []), "-n", str(ranks), *apart, arguments.xxl_mpi,
                   "sort", "-S", f"{mebibytes(arguments.memory) // ranks}M", *common]
    before, start = processor_seconds(), time.monotonic()
    done = subprocess.run([str(word) for word in command], stderr=subprocess.PIPE, check=True)
    seconds, processors = time.monotonic() - start, processor_seconds() - before
    stats = json.loads(next(line for line in done.stderr.decode().splitlines() if line.startswith("{")))
    of_ranks = stats.get("ranks", []) if ranks else []
    if of_ranks:  # the launcher's own are not the sort's
        processors = sum(rank["processor_seconds"] for rank in of_ranks)
    received = sum(rank["bytes_received"] for rank in of_ranks)
    parts = [rank["records"] for rank in of_ranks] or [1]
    forming = max(form_seconds(rank["phases"]) for rank in of_ranks or [stats])
    return seconds, processors, received, max(parts) / max(min(parts), 1), forming


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xxl", required=True)
    parser.add_argument("--xxl-mpi", required=True)
    parser.add_argument("--dir", required=True, type=pathlib.Path)
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--threads", type=int, help="of each rank (default: a share of the processors)")
    parser.add_argument("--records", default="20M")
    parser.add_argument("--memory", default="256M", help="of all ranks together")
    parser.add_argument("--kinds", default="uniform,skewed,sorted,constant")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--devices", default="cpu", help="that form runs, as --device has them")
    parser.add_argument("--apart", action="store_true", help="ranks do not see each other's scratch")
    parser.add_argument("--parts", action="store_true", help="ranks write a file each")
    parser.add_argument("--out", help="CSV")
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    input_bytes = number(arguments.records) * RECORD_BYTES
    counts = [0, *(int(word) for word in arguments.ranks.split(","))]
    sorts = [(ranks, device) for ranks in counts for device in arguments.devices.split(",")]
    rows = []
    results = open(arguments.out or "/dev/null", "w", newline="")
    writer = csv.writer(results)
    writer.writerow(COLUMNS)
    for kind in arguments.kinds.split(","):
        source, target = arguments.dir / kind, arguments.dir / "sorted-output"
        make_input(arguments, kind, source)
        _, expected = summary(arguments, source)
        for repetition in range(arguments.repeat):
            for ranks, device in sorts:
                remove(target)
                seconds, processors, received, evenness, forming = run(arguments, ranks, device, source, target)
                in_order, found = summary(arguments, target)
                rows.append([kind, ranks, repetition, f"{seconds:.3f}", f"{processors:.3f}", f"{received / input_bytes:.4f}",
                             f"{evenness:.4f}", input_bytes, arguments.memory, int(in_order and found == expected),
                             "apart" if arguments.apart else "together", device, f"{forming:.3f}"])
                writer.writerow(rows[-1])
                results.flush()
        remove(target)
    results.close()
    print("kind       ranks  device  seconds  forming  processors  network/input  largest/smallest")
    for kind in arguments.kinds.split(","):
        for ranks, device in sorts:
            chosen = [row for row in rows if (row[0], row[1], row[-2]) == (kind, ranks, device)]
            medians = [statistics.median(float(row[column]) for row in chosen) for column in (3, 4, 5, 6, -1)]
            name = str(ranks) if ranks else "xxl"
            print(f"{kind:10} {name:>5}  {device:6}  {medians[0]:7.2f}  {medians[4]:7.2f}  {medians[1]:10.2f}  {medians[2]:13.3f}"
                  f"  {medians[3]:16.4f}")
    wrong = sum(1 for row in rows if not row[COLUMNS.index("correct")])
    print(f"{len(rows)} sorts, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
