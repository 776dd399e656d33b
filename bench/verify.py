#!/usr/bin/env python3
"""Sorts with and without --verify.

    bench/verify.py --dir /disk/verify --records 20M --memory 512M

Of gensort records and of lines of 100 bytes in DIR, in --pairs turns of each. Every output is checked: order, and
the checksum of the input (lines: the bytes of the first one). Rows go to the file of --results; medians to standard
output. Exit status 1 if an output was wrong.
"""

import argparse
import csv
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from generated import make_input


class Bench:
    def __init__(self, arguments):
        self.xxl = arguments.xxl
        self.directory = arguments.dir
        self.memory = arguments.memory
        self.expected = None

    def make_input(self, kind, records):
        self.expected = make_input(self.xxl, kind, records, self.directory / "in")

    def sort(self, kind, *options):
        """Seconds, those of processors, and what --stats says."""
        (self.directory / "out").unlink(missing_ok=True)
        os.sync()
        command = [self.xxl, "sort", f"-S{self.memory}", f"-T{self.directory}", "--stats=json", *options,
                   self.directory / "in", "-o", self.directory / "out"]
        command += ["--record=gensort"] if kind == "gensort" else []
        before, start = os.times(), time.monotonic()
        done = subprocess.run(command, check=True, stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"})
        seconds, after = time.monotonic() - start, os.times()
        busy = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, busy, json.loads(done.stderr)

    def is_right(self, kind):
        out = self.directory / "out"
        if kind == "gensort":
            done = subprocess.run([self.xxl, "validate", "--record=gensort", out], stdout=subprocess.PIPE, text=True,
                                  check=False)
            return done.returncode == 0 and self.expected in done.stdout.split()
        ordered = subprocess.run([self.xxl, "sort", "-c", out], env={**os.environ, "LC_ALL": "C"}, check=False)
        with open(out, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.expected = self.expected or digest
        return ordered.returncode == 0 and digest == self.expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", default="build-release/bin/xxl")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--records", default="20M")
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--results", type=argparse.FileType("w"), default=sys.stderr)
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    rows = csv.writer(arguments.results)
    rows.writerow(["kind", "memory", "bytes", "pair", "verify", "seconds", "processor_seconds",
                   "verify_seconds", "verify_bytes_read"])
    bench = Bench(arguments)
    right = True
    for kind in ("gensort", "lines"):
        bench.make_input(kind, arguments.records)
        size = (arguments.dir / "in").stat().st_size
        seconds, processors = {False: [], True: []}, {False: [], True: []}
        rates = []
        for pair in range(arguments.pairs):
            for verify in (False, True) if pair % 2 == 0 else (True, False):
                taken, busy, stats = bench.sort(kind, *(["--verify"] if verify else []))
                phase = stats["phases"][-1] if verify else {"seconds": 0, "bytes_read": 0}
                right &= bench.is_right(kind) and phase["bytes_read"] == (size if verify else 0)
                seconds[verify].append(taken)
                processors[verify].append(busy)
                if verify:
                    rates.append(phase["bytes_read"] / phase["seconds"] / 1e9)
                rows.writerow([kind, arguments.memory, size, pair, int(verify), f"{taken:.2f}", f"{busy:.2f}",
                               f"{phase['seconds']:.2f}", phase["bytes_read"]])
                arguments.results.flush()
        for what, of in (("seconds", seconds), ("seconds of processors", processors)):
            without, with_it = statistics.median(of[False]), statistics.median(of[True])
            print(f"{kind}: {without:.1f} {what}, with --verify {with_it:.1f} ({with_it / without:.2f})", flush=True)
        print(f"{kind}: read back at {statistics.median(rates):.2f} GB/s", flush=True)
    print("all outputs were right" if right else "AN OUTPUT WAS WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
