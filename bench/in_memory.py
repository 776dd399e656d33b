#!/usr/bin/env python3
"""Sorts where no disk is in the way: in memory, and through pipes.

    bench/in_memory.py --dir DIR --size 4G --memory 10G --repeat 3
    bench/in_memory.py --dir /dev/shm --record u64 --way file

Of --size bytes of u64, of gensort records and of lines of 100 bytes in DIR (a directory of a disk,
or one in memory), by --parallel threads with -S --memory, the ways one after the other, as often as
--repeat says, with cold caches (which a directory in memory does not have):

  copy       the time of the I/O alone: xxl's I/O layer copies the input (io_bound of the preset bench)
  file       xxl sort F -o OUT
  from-pipe  cat F | xxl sort -o OUT
  to-pipe    xxl sort F | cat > OUT
  little     as file, with an eighth of the size for -S: what does not fit
  gnu        lines: sort -o OUT, with the same memory and as many threads

Every output is checked: binary ones for order and the checksum of the input, lines to be those that
GNU sort makes. Rows go to bench/results/in-memory.csv, or the file of --results; medians and ratios
to standard output. Exit status 1 if an output was wrong.
"""

import argparse
import csv
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

from run import REPOSITORY, drop_caches

RECORD_BYTES = {"u64": 8, "gensort": 100, "lines": 100}
WAYS = ["copy", "file", "from-pipe", "to-pipe", "little", "gnu"]
UNITS = {"M": 1 << 20, "G": 1 << 30}


def parse_size(text):
    return int(text[:-1]) * UNITS[text[-1]]


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.xxl = arguments.xxl or arguments.build / "bin" / "xxl"
        self.directory = arguments.dir
        self.size = parse_size(arguments.size)
        self.memory = parse_size(arguments.memory)
        self.environment = {**os.environ, "LC_ALL": "C"}

    def path(self, name):
        return self.directory / f"in-memory.{name}"

    def make_input(self, record):
        """The checksum of its records, or None for lines, whose order makes the output."""
        count = self.size // RECORD_BYTES[record]
        what = ["--ascii"] if record == "lines" else [f"--record={record}"]
        with open(self.path("in"), "wb") as file:
            made = subprocess.run([self.xxl, "gen", *what, "--checksum", str(count)], stdout=file,
                                  stderr=subprocess.PIPE, check=True, text=True)  # fmt: skip
        if record != "lines":
            return made.stderr.split()[-1]
        subprocess.run(["sort", f"--parallel={os.cpu_count()}", f"-S{self.memory}b",
                        f"-T{self.directory}", "-o", self.path("expected"), self.path("in")],
                       env=self.environment, check=True)  # fmt: skip
        return None

    def command(self, way, record):
        f, out = self.path("in"), self.path("out")
        memory = self.size // 8 if way == "little" else self.memory
        what = [] if record == "lines" else [f"--record={record}"]
        sort = [self.xxl, "sort", *what, f"-S{memory}b", f"-T{self.directory}",
                f"--parallel={self.arguments.parallel}"]  # fmt: skip
        text = shlex.join(map(str, sort))
        return {
            "copy": [self.arguments.build / "bench" / "io_bound", f, out],
            "file": [*sort, f, "-o", out],
            "little": [*sort, f, "-o", out],
            "from-pipe": ["bash", "-c", f"set -o pipefail; cat {f} | {text} -o {out}"],
            "to-pipe": ["bash", "-c", f"set -o pipefail; {text} {f} | cat > {out}"],
            "gnu": ["sort", f"-S{self.memory}b", f"-T{self.directory}",
                    f"--parallel={self.arguments.parallel}", "-o", out, f],
        }[way]  # fmt: skip

    def is_right(self, way, record, checksum):
        if way == "copy":
            return True
        if record == "lines":
            return subprocess.run(["cmp", "-s", self.path("out"), self.path("expected")],
                                  check=False).returncode == 0  # fmt: skip
        result = subprocess.run([self.xxl, "validate", f"--record={record}", self.path("out")],
                                capture_output=True, text=True, check=False)  # fmt: skip
        return result.returncode == 0 and f"Checksum: {checksum}\n" in result.stdout + result.stderr

    def run_once(self, way, record, checksum):
        self.path("out").unlink(missing_ok=True)
        drop_caches()
        before = os.times()
        start = time.monotonic()
        done = subprocess.run(list(map(str, self.command(way, record))), env=self.environment,
                              capture_output=True, text=True, check=False)  # fmt: skip
        seconds = time.monotonic() - start
        after = os.times()
        ok = done.returncode == 0 and self.is_right(way, record, checksum)
        if not ok:
            print(f"{record} {way}: WRONG (status {done.returncode}): {done.stderr[-300:]}")
        return {
            "record": record,
            "way": way,
            "bytes": self.size,
            "memory": self.memory,
            "threads": self.arguments.parallel,
            "seconds": f"{seconds:.3f}",
            "user": f"{after.children_user - before.children_user:.2f}",
            "system": f"{after.children_system - before.children_system:.2f}",
            "ok": int(ok),
        }

    def run(self, record):
        checksum = self.make_input(record)
        ways = [way for way in self.arguments.way or WAYS if way != "gnu" or record == "lines"]
        rows = [self.run_once(way, record, checksum)
                for _ in range(self.arguments.repeat) for way in ways]  # fmt: skip
        for name in ("in", "out", "expected"):
            self.path(name).unlink(missing_ok=True)
        median = {
            way: statistics.median(float(row["seconds"]) for row in rows if row["way"] == way)
            for way in ways
        }
        for way in ways:
            ratios = ", ".join(f"{median[way] / median[other]:.2f} of {other}"
                               for other in ("copy", "file") if other in median and other != way)  # fmt: skip
            print(f"{record:8} {way:10} {median[way]:8.2f} s"
                  f" {self.size / median[way] / 1e9:6.2f} GB/s  {ratios}", flush=True)  # fmt: skip
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="append", choices=RECORD_BYTES, default=[])
    parser.add_argument("--way", action="append", choices=WAYS, default=[])
    parser.add_argument("--size", default="4G", help="of the input (default: %(default)s)")
    parser.add_argument("--memory", default="10G", help="-S (default: %(default)s)")
    parser.add_argument("--parallel", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build-bench")
    parser.add_argument("--xxl", type=pathlib.Path, help="default: that of the build")
    parser.add_argument("--results", type=pathlib.Path,
                        default=REPOSITORY / "bench" / "results" / "in-memory.csv")  # fmt: skip
    bench = Bench(parser.parse_args())
    rows = []
    for record in bench.arguments.record or RECORD_BYTES:
        rows += bench.run(record)
    with open(bench.arguments.results, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
