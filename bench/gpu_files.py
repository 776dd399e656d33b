#!/usr/bin/env python3
"""Sorts files on GPUs, beside copying them through io/ and sorting them on the CPU.

    bench/gpu_files.py --xxl PROGRAM --io-bound PROGRAM [--dir DIR]... [--out FILE] CASE...

CASE is RECORD:GB:MEMORY, for example gensort:16:2G; RECORD one of the formats of xxl sort, or
lines (of 100 bytes). Every round runs the copy (2N bytes of I/O), the sort on GPUs and the sort on
the CPU one after the other; each output is checked for order and checksum. With several --dir the
input lies in the first, the output in the second and scratch in all. One row for each run goes to
FILE as CSV.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time

from run import drop_caches


def run(command, **kwargs):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return seconds, done


def validate(xxl, record, path):
    """(checksum, in order) of a file."""
    done = subprocess.run([xxl, "validate", f"--record={record}", path], capture_output=True,
                          text=True)
    text = done.stdout + done.stderr
    checksum = next((line.split(":")[1].strip() for line in text.splitlines()
                     if line.startswith("Checksum")), text.strip())
    return checksum, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xxl", required=True)
    parser.add_argument("--io-bound")
    parser.add_argument("--dir", action="append", dest="dirs")
    parser.add_argument("--out", default="gpu_files.csv")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--ways", default="copy,gpu,cpu")
    parser.add_argument("--options", default="", help="further options of the sort on GPUs")
    parser.add_argument("cases", nargs="+")
    args = parser.parse_args()
    dirs = args.dirs or ["."]
    source = os.path.join(dirs[0], "gpu_files.in")
    target = os.path.join(dirs[1 % len(dirs)], "gpu_files.out")
    env = dict(os.environ, LC_ALL="C")

    with open(args.out, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["record", "GB", "memory", "way", "repeat", "seconds", "of_copy", "phases",
                       "devices", "check"])
        made = None
        for case in args.cases:
            record, size, memory = case.split(":")
            lines = record == "lines"
            if made != (record, size):
                size_bytes = int(float(size) * 1e9)
                record_bytes = {"gensort": 100, "lines": 100, "u32": 4, "u64": 8, "f64": 8,
                                "kv32": 8, "kv64": 16}[record]
                kind = ["--ascii"] if lines else [f"--record={record}"]
                run([args.xxl, "gen", *kind, str(size_bytes // record_bytes), "-o", source])
                made = (record, size)
                before = None if lines else validate(args.xxl, record, source)[0]
            reference = None
            for repeat in range(args.repeat):
                copy = None
                for way in args.ways.split(","):
                    drop_caches()
                    stats = {}
                    if way == "copy":
                        _, done = run([args.io_bound, source, target])
                        copy = seconds = json.loads(done.stdout)["seconds"]
                        check = ""
                    else:
                        command = [args.xxl, "sort", "-S", memory, "--stats=json",
                                   f"--device={way}", source, "-o", target]
                        command[2:2] = [] if lines else [f"--record={record}"]
                        if way != "cpu":
                            command[2:2] = args.options.split()
                        for scratch in dirs:
                            command += ["-T", scratch]
                        seconds, done = run(command, env=env)
                        stats = json.loads(done.stderr.strip().splitlines()[-1])
                        if lines:
                            # xxl has compared the checksums; here that it is in order.
                            check = "correct" if subprocess.run(
                                [args.xxl, "sort", "-C", target], env=env,
                                check=False).returncode == 0 else "WRONG"
                            digest = stats["checksum"]
                            reference = reference or digest
                            check = check if digest == reference else "WRONG"
                        else:
                            checksum, ordered = validate(args.xxl, record, target)
                            check = "correct" if ordered and checksum == before else "WRONG"
                    phases = " ".join(f"{p['name'].replace(' ', '_')}={p['seconds']:.2f}"
                                      for p in stats.get("phases", []))
                    devices = " ".join(
                        f"sort={d['sort_seconds']:.2f},in={d['copy_in_seconds']:.2f},"
                        f"out={d['copy_out_seconds']:.2f}" for d in stats.get("devices", []))
                    rows.writerow([record, size, memory, way, repeat, f"{seconds:.3f}",
                                   f"{seconds / copy:.3f}" if copy else "", phases, devices, check])
                    file.flush()
                    print(record, size, memory, way, repeat, f"{seconds:.2f} s",
                          f"x{seconds / copy:.2f}" if copy else "", phases, devices, check,
                          flush=True)
                    os.unlink(target)
    os.unlink(source)


if __name__ == "__main__":
    main()
