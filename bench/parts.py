#!/usr/bin/env python3
"""Sorts into one file, and into parts.

    bench/parts.py --dir /dev/shm/parts --records 80M --memories 60G,3G --parts 0,16,64

Of gensort records and of lines of 100 bytes in DIR, as often as --repeat says, in turns; 0 parts: one file.
Every output is checked: order, and the checksum of the input (lines: the bytes of one file). Rows go to the file of
--results; medians and ratios to one file to standard output. Exit status 1 if an output was wrong.
"""

import argparse
import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from generated import make_input
from stream_crc import crc_of


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)


def crc_of_output(path):
    crc = 0
    for file in sorted(path.glob("part-*")) if path.is_dir() else [path]:
        with open(file, "rb") as stream:
            crc = crc_of(stream, crc)
    return crc


class Bench:
    def __init__(self, arguments):
        self.xxl = arguments.xxl
        self.directory = arguments.dir
        self.expected = None

    def make_input(self, kind, records):
        self.expected = make_input(self.xxl, kind, records, self.directory / "in")

    def sort(self, kind, memory, parts):
        out = self.directory / "out"
        remove(out)
        command = [self.xxl, "sort", "--device=cpu", f"-S{memory}", f"-T{self.directory}", self.directory / "in", "-o", out]
        command += ["--record=gensort"] if kind == "gensort" else []
        command += [f"--parts={parts}"] if parts else []
        start = time.monotonic()
        subprocess.run(command, check=True, env={**os.environ, "LC_ALL": "C"})
        return time.monotonic() - start

    def is_right(self, kind):
        out = self.directory / "out"
        if kind == "lines":
            crc = crc_of_output(out)
            self.expected = self.expected or crc  # that of one file, the first
            return crc == self.expected
        done = subprocess.run([self.xxl, "validate", "--record=gensort", out], capture_output=True, text=True,
                              check=False)
        return done.returncode == 0 and f"Checksum: {self.expected}\n" in done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", type=pathlib.Path, default=pathlib.Path("build-release/bin/xxl"))
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--kinds", default="gensort,lines")
    parser.add_argument("--records", default="10M")
    parser.add_argument("--memories", default="1G")
    parser.add_argument("--parts", default="0,16")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("bench/results/parts.csv"))
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    bench = Bench(arguments)
    wrong = False
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}")
    with open(arguments.results, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "records", "memory", "parts", "seconds", "right"])
        for kind in arguments.kinds.split(","):
            bench.make_input(kind, arguments.records)
            for memory in arguments.memories.split(","):
                seconds = {int(parts): [] for parts in arguments.parts.split(",")}
                for _ in range(arguments.repeat):
                    for parts, times in seconds.items():
                        times.append(bench.sort(kind, memory, parts))
                        right = bench.is_right(kind)
                        wrong |= not right
                        writer.writerow([kind, arguments.records, memory, parts, f"{times[-1]:.3f}", right])
                single = statistics.median(seconds.get(0, [0]))
                for parts, times in seconds.items():
                    median = statistics.median(times)
                    print(f"{kind} -S{memory} {parts or 'no'} parts: {median:.2f} s, {single / median:.2f} times as fast as one file",
                          *(f"{t:.2f}" for t in times), flush=True)
    remove(arguments.dir / "out")
    remove(arguments.dir / "in")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
