#!/usr/bin/env python3
"""Sorters of programs beside their peers.

  stxxl   one program, compiled with STXXL's headers and with <xxl/stxxl.h>: records are pushed and
          pulled one by one; both must give the same sequence (--methods=forward: a priority queue
          of 256 MiB)
  files   a sorter of numbers beside `xxl sort` of a file of as many
  strings the same for strings of 20 to 200 bytes
  several three sorters filled side by side, and one after the other

Programs come from a build with -DXXL_BUILD_BENCH=ON. One after the other, in turns; medians.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

METHODS = ["sorter", "sort", "ksort", "stream"]
SETTLE_SECONDS = 4  # before each run: the disk forgets the files of the one before


def run(command, directory):
    time.sleep(SETTLE_SECONDS)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                          env={**os.environ, "TMPDIR": str(directory)})
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def stxxl(arguments, writer):
    for method in arguments.methods.split(","):
        for record, size in [("pair", 16)] if method == "forward" else [("u64", 8), ("pair", 16)]:
            count = arguments.bytes // size
            seconds = {"xxl": [], "stxxl": []}
            checksums = set()
            for _ in range(arguments.repeat):
                for name in seconds:
                    load = os.getloadavg()[0]
                    result = run([arguments.build / "bench" / f"programs_of_{name}", method, record, str(count),
                                  str(arguments.memory), arguments.dir / "stxxl.disk"], arguments.dir)
                    seconds[name].append(result["seconds"])
                    if method != "forward" or name == "xxl":  # STXXL's queue mixes up equal records
                        checksums.add(result["checksum"])
                    writer.writerow([f"{method} {record}", name, result["seconds"], f"{load:.1f}"])
            if len(checksums) != 1:
                sys.exit(f"{method} {record}: the outputs differ")
            ours, theirs = (statistics.median(seconds[name]) for name in ("xxl", "stxxl"))
            print(f"{method:7} {record:5} xxl {ours:6.2f} s  STXXL {theirs:6.2f} s  {theirs / ours:.2f} times", flush=True)


def beside_file(arguments, writer, make, record, check, modes, count):
    """A sort of the file that `make` writes beside sorters of the same records."""
    xxl = arguments.build / "bin" / "xxl"
    source, target = arguments.dir / "records", arguments.dir / "sorted"
    with open(source, "wb") as file:
        subprocess.run(make, check=True, stdout=file)
    seconds = {name: [] for name in ["file", *modes]}
    for _ in range(arguments.repeat):
        for name in seconds:
            load = os.getloadavg()[0]
            if name == "file":
                time.sleep(SETTLE_SECONDS)
                start = time.monotonic()
                subprocess.run([xxl, "sort", *record, "-S", str(arguments.memory), "-T", arguments.dir,
                                source, "-o", target], check=True, env={**os.environ, "LC_ALL": "C"})
                took = time.monotonic() - start
                subprocess.run([xxl, *check, target], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
                target.unlink()
            else:
                took = run(sorter_bench(arguments, name, count), arguments.dir)["seconds"]
            seconds[name].append(took)
            writer.writerow([f"{record[0].split('=')[1] if record else 'strings'} {name}", "xxl", f"{took:.3f}", f"{load:.1f}"])
    source.unlink()
    whole = statistics.median(seconds["file"])
    for name, times in seconds.items():
        print(f"{name:7} {statistics.median(times):6.2f} s  {statistics.median(times) / whole:.2f} of the file", flush=True)


def sorter_bench(arguments, mode, count):
    return [arguments.build / "bench" / "sorter_bench", mode, str(count), str(arguments.memory), arguments.dir]


def files(arguments, writer):
    count = arguments.bytes // 8
    beside_file(arguments, writer, [arguments.build / "bin" / "xxl", "gen", "--record=u64", str(count)],
                ["--record=u64"], ["validate", "--record=u64"], ["spans", "one", "less", "opaque"], count)


def strings(arguments, writer):
    count = arguments.bytes // 111  # with a line end each
    beside_file(arguments, writer, sorter_bench(arguments, "write-strings", count), [], ["sort", "-c"], ["strings"], count)


def several(arguments, writer):
    count = arguments.bytes // 8
    seconds = {"beside": [], "series": []}
    for _ in range(arguments.repeat):
        for name in seconds:
            load = os.getloadavg()[0]
            result = run(sorter_bench(arguments, name, count), arguments.dir)
            seconds[name].append(result["seconds"])
            writer.writerow([f"three {name}", "xxl", result["seconds"], f"{load:.1f}"])
            print(f"{name} {result['seconds']:.2f} s, at most {result['peak_kib'] // 1024} MiB", flush=True)
    beside, series = (statistics.median(seconds[name]) for name in ("beside", "series"))
    print(f"three side by side {beside:.2f} s, one after the other {series:.2f} s: {beside / series:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stxxl", "files", "strings", "several"])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build-bench"))
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="scratch space")
    parser.add_argument("--bytes", type=int, default=4 << 30)
    parser.add_argument("--memory", type=int, default=512 << 20)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--csv", type=pathlib.Path, default="library.csv")
    arguments = parser.parse_args()
    with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "program", "seconds", "load_before"])
        {"stxxl": stxxl, "files": files, "strings": strings, "several": several}[arguments.what](arguments, writer)


if __name__ == "__main__":
    main()
