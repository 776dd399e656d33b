#!/usr/bin/env python3
"""Shuffles lines, beside sorts of the same lines.

    bench/shuf.py --dir /disk/shuf --records 200M --memory 1000M --repeat 3

Of lines of 100 bytes in DIR, as often as --repeat says, in turns, on as many processors as --threads says:

    shuf      xxl shuf
    sort      xxl sort, of the whole line
    sort -R   GNU sort -R, which is a sort by a hash of each line (leave it out with --programs shuf,sort)

Every output is checked: sorted, it is the input sorted, and that of shuf is not sorted itself. Rows go to the file of
--results; medians and ratios to `sort` to standard output. Exit status 1 if an output was wrong.
"""

import argparse
import csv
import os
import pathlib
import statistics
import subprocess
import sys
import time

from stream_crc import crc_of


class Bench:
    def __init__(self, arguments):
        self.xxl = arguments.xxl
        self.arguments = arguments
        self.input = arguments.dir / "in"
        self.output = arguments.dir / "out"
        subprocess.run([self.xxl, "gen", "--ascii", arguments.records, "-o", self.input], check=True)
        self.expected = self.sorted_crc(self.input)

    def sorted_crc(self, path):
        command = [self.xxl, "sort", "--device=cpu", f"-T{self.arguments.dir}", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, pipesize=1 << 20) as process:
            crc = crc_of(process.stdout)
        return crc if process.returncode == 0 else None

    def command(self, program):
        common = [f"-S{self.arguments.memory}", f"-T{self.arguments.dir}", f"--parallel={self.arguments.threads}",
                  self.input, "-o", self.output]
        return {"shuf": [self.xxl, "shuf", *common], "sort": [self.xxl, "sort", "--device=cpu", *common],
                "sort -R": ["sort", "-R", *common]}[program]

    def run(self, program):
        self.output.unlink(missing_ok=True)
        os.sync()  # what was written before is not this program's
        start = time.monotonic()
        processors = sorted(os.sched_getaffinity(0))[:self.arguments.threads]
        subprocess.run(self.command(program), check=True,
                       preexec_fn=lambda: os.sched_setaffinity(0, processors))
        return time.monotonic() - start

    def is_right(self, program):
        in_order = subprocess.run([self.xxl, "sort", "-C", self.output], check=False).returncode
        return in_order == (0 if program == "sort" else 1) and self.sorted_crc(self.output) == self.expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", type=pathlib.Path, default=pathlib.Path("build-release/bin/xxl"))
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--records", default="10M", help="as of xxl gen")
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--programs", default="shuf,sort,sort -R")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("bench/results/shuf.csv"))
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    os.environ["LC_ALL"] = "C"
    bench = Bench(arguments)
    wrong = False
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}")
    seconds = {program: [] for program in arguments.programs.split(",")}
    with open(arguments.results, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["program", "records", "memory", "threads", "seconds", "right"])
        for _ in range(arguments.repeat):
            for program, times in seconds.items():
                times.append(bench.run(program))
                right = bench.is_right(program)
                wrong |= not right
                writer.writerow([program, arguments.records, arguments.memory, arguments.threads, f"{times[-1]:.3f}",
                                 right])
                file.flush()
    for program, times in seconds.items():
        of_sort = [a / b for a, b in zip(times, seconds.get("sort", []))]
        print(f"{program}: {statistics.median(times):.2f} s",
              f"{statistics.median(of_sort):.2f} of the time of sort" if of_sort else "",
              *(f"{t:.2f}" for t in times), flush=True)
    bench.input.unlink()
    bench.output.unlink(missing_ok=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
