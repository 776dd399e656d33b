#!/usr/bin/env python3
"""Sorts on an array of disks made of memory, over its bandwidth and the number of threads, or over sizes.

    bench/array.py BENCH_ARRAY --movers 4 --bytes 16G
    bench/array.py BENCH_ARRAY --movers 4 --sizes
    bench/array.py --plot-only

BENCH_ARRAY is the program of bench/array.cc; bench/README.md says what it simulates. Without
--sizes, --bytes are sorted in an eighth of that as memory (--ratio), for each --record, --threads and
--bandwidth; with it, inputs from 1 GB up to what memory holds at that ratio, and --bytes at ratios from 4 to
4096 (as long as 4 MB are left), on the last of the arrays by the most threads. All --repeat times.
Every output is checked by the program; exit status 1 if one was wrong, or a run failed.

Rows go to bench/results/array.csv (array-sizes.csv), medians to standard output, a figure of
array.csv to docs/figures/. Needs nothing but Python, and matplotlib for the figure: --no-plot leaves
it out, --plot-only draws that of the rows that are there.
"""

import argparse
import collections
import csv
import math
import os
import pathlib
import statistics
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ["gensort", "u64", "lines"]
SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BANDWIDTHS = "1G,2G,4G,8G,16G,32G,64G,100G"
SMALLEST_INPUT = 10**9
RATIOS = [4 << i for i in range(11)]
SMALLEST_MEMORY = 4 * 10**6
# Of a run, the movers may be behind for this part; then the figure is theirs, not the sort's.
MOST_BEHIND = 0.1
Group = collections.namedtuple("Group", "record bytes memory threads bandwidth")


def parse_amount(text):
    return int(text[:-1]) * SUFFIXES[text[-1]] if text[-1] in SUFFIXES else int(text)


def warn(text):
    print(f"array.py: {text}", file=sys.stderr)


def available_bytes():
    """Of memory, of what the machine and the control group of a container leave."""
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    available = int(lines["MemAvailable"].split()[0]) * 1024
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        limit = pathlib.Path("/sys/fs/cgroup") / name
        if limit.exists() and limit.read_text().strip().isdigit():
            available = min(available, int(limit.read_text()))
    return available


def default_threads(movers):
    """1, 2, 4, ... and all that are left by the movers, up to 32."""
    most = max(1, min(32, len(os.sched_getaffinity(0)) - movers))
    return sorted({1 << i for i in range(most.bit_length())} | {most})


class Sweep:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rows = []
        self.failed = False
        self.path = arguments.results / ("array-sizes.csv" if arguments.sizes else "array.csv")

    def run(self, record, size, ratio, threads, bandwidths):
        """One call of the program; keeps its rows, also if it fails later."""
        arguments = self.arguments
        command = [arguments.program, "--header", f"--record={record}", f"--bytes={size}",
                   f"--memory={size // ratio}", f"--threads={','.join(map(str, threads))}",
                   f"--bandwidth={bandwidths}", f"--disks={arguments.disks}",
                   f"--latency={arguments.latency}", f"--depth={arguments.depth}",
                   f"--movers={arguments.movers}", f"--repeat={arguments.repeat}",
                   *arguments.option]  # fmt: skip
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
            for row in csv.DictReader(process.stdout):
                self.rows.append(row)
                print(" ".join(f"{key}={row[key]}" for key in
                               ("record", "bytes", "memory", "threads", "array_GB_per_s", "seconds",
                                "sorted_GB_per_s", "behind_seconds", "checked")), flush=True)  # fmt: skip
                self.write()
        if process.returncode != 0:
            warn(f"exit status {process.returncode}: {' '.join(map(str, command))}")
            self.failed = True

    def write(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "w", newline="", encoding="ascii") as file:
            writer = csv.DictWriter(file, self.rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)

    def sweep_bandwidths(self):
        for record in self.arguments.record:
            self.run(record, self.arguments.bytes, self.arguments.ratio, self.arguments.threads,
                     self.arguments.bandwidth)  # fmt: skip

    def sweep_sizes(self):
        arguments = self.arguments
        threads = [max(arguments.threads)]
        bandwidth = arguments.bandwidth.split(",")[-1]
        # The program keeps input, scratch and output, each with a sixteenth to spare.
        copies = 2 if "--forget-input" in arguments.option else 3
        most = ((arguments.most or available_bytes()) - 2 * 10**9) / (copies * 17 / 16 + 1 / arguments.ratio)
        sizes = []
        while not sizes or 2 * sizes[-1] <= most:
            sizes.append(2 * sizes[-1] if sizes else min(SMALLEST_INPUT, arguments.bytes))
        for record in arguments.record:
            for size in sizes:
                self.run(record, size, arguments.ratio, threads, bandwidth)
            for ratio in RATIOS:
                is_new = ratio != arguments.ratio or arguments.bytes not in sizes
                if is_new and arguments.bytes // ratio >= SMALLEST_MEMORY:
                    self.run(record, arguments.bytes, ratio, threads, bandwidth)


def rows_of(path):
    with open(path, newline="", encoding="ascii") as file:
        return list(csv.DictReader(file))


def medians(rows):
    """For each group of equal runs: seconds, GB/s sorted, runs, passes, part of the time behind."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[Group(row["record"], int(row["bytes"]), int(row["memory"]), int(row["threads"]),
                     float(row["array_GB_per_s"]))].append(row)  # fmt: skip
    result = {}
    for group, same in groups.items():
        middle = {name: statistics.median(float(row[name]) for row in same)
                  for name in ("seconds", "runs", "passes", "behind_seconds")}  # fmt: skip
        middle["rate"] = group.bytes / middle["seconds"] / 1e9
        middle["behind"] = middle["behind_seconds"] / middle["seconds"]
        result[group] = middle
    return result


def bound(group, middle, rate_of_one):
    """GB/s that the array, or as many processors as there are threads, would sort at best."""
    return min(group.bandwidth / (2 + 2 * middle["passes"]), rate_of_one * group.threads)


def rates_of_one(table):
    """By record: the best rate of the fewest threads, for each of them."""
    rates = {}
    for record in {group.record for group in table}:
        fewest = min(group.threads for group in table if group.record == record)
        rates[record] = max(middle["rate"] for group, middle in table.items()
                            if group.record == record and group.threads == fewest) / fewest  # fmt: skip
    return rates


def print_medians(table):
    rates = rates_of_one(table)
    print("record        bytes      memory threads array    GB/s   of bound  ns/B  runs passes behind")
    for group, middle in sorted(table.items()):
        part = middle["rate"] / bound(group, middle, rates[group.record])
        print(f"{group.record:8} {group.bytes:12} {group.memory:10} {group.threads:5}"
              f" {group.bandwidth:7.1f} {middle['rate']:8.3f} {part:7.0%}"
              f" {1 / middle['rate']:8.3f} {middle['runs']:5.0f} {middle['passes']:4.0f}"
              f" {middle['behind']:7.1%}")  # fmt: skip


def plot_bandwidths(table, directory):
    from plot import pyplot, save, ticker  # which need matplotlib

    records = [record for record in RECORDS if any(group.record == record for group in table)]
    all_threads = sorted({group.threads for group in table})
    rates = rates_of_one(table)
    figure, all_axes = pyplot.subplots(1, len(records), figsize=(4.5 * len(records), 4),
                                       squeeze=False)  # fmt: skip
    for record, axes in zip(records, all_axes[0]):
        threads = sorted({group.threads for group in table if group.record == record})
        for count in threads:
            points = sorted((group.bandwidth, middle["rate"], bound(group, middle, rates[record]),
                             middle["behind"] > MOST_BEHIND) for group, middle in table.items()
                            if group.record == record and group.threads == count)  # fmt: skip
            colour = pyplot.cm.viridis(all_threads.index(count) / max(1, len(all_threads) - 1))
            axes.plot([p[0] for p in points], [p[2] for p in points], linestyle=":", color=colour)
            axes.plot([p[0] for p in points], [p[1] for p in points], color=colour,
                      label=f"{count} threads" if count > 1 else "1 thread")  # fmt: skip
            for x, y, _, is_behind in points:
                axes.plot([x], [y], marker="o", color=colour,
                          fillstyle="none" if is_behind else "full")  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(record)
        axes.set_xlabel("bandwidth of the array, GB/s")
        # Whole decades, so that each axis has numbers.
        values = [middle["rate"] for group, middle in table.items() if group.record == record]
        axes.set_ylim(10 ** math.floor(math.log10(min(values))),
                      10 ** math.ceil(math.log10(max(values))))  # fmt: skip
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(True, which="both", linewidth=0.3)
    all_axes[0][0].set_ylabel("input sorted, GB/s (dotted: the bound)")
    all_axes[0][-1].legend()
    save(figure, directory, "array")


def plot(results, directory):
    if (results / "array.csv").exists():
        plot_bandwidths(medians(rows_of(results / "array.csv")), directory)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", type=pathlib.Path, help="bench_array as it was built")
    parser.add_argument("--sizes", action="store_true", help="sweep over sizes and ratios")
    parser.add_argument("--record", action="append", choices=RECORDS)
    parser.add_argument("--bytes", type=parse_amount, default=8 * 10**9)
    parser.add_argument("--ratio", type=int, default=8, help="input over memory of the sort")
    parser.add_argument("--threads", type=lambda text: list(map(int, text.split(","))),
                        help="default: 1, 2, 4 ... to what the movers leave")  # fmt: skip
    parser.add_argument("--bandwidth", default=BANDWIDTHS, help="default: %(default)s")
    parser.add_argument("--movers", type=int, default=1)
    parser.add_argument("--disks", type=int, default=8)
    parser.add_argument("--latency", type=int, default=80, help="in microseconds")
    parser.add_argument("--depth", type=int, default=32)
    parser.add_argument("--most", type=parse_amount,
                        help="memory for --sizes, array and sort (default: what is available)")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--option", action="append", default=[], metavar="--NAME=VALUE",
                        help="a further one of the program's, as --option=--copy=streaming")  # fmt: skip
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench" / "results")
    parser.add_argument("--figures", type=pathlib.Path, default=REPOSITORY / "docs" / "figures")
    parser.add_argument("--no-plot", action="store_true")
    parser.add_argument("--plot-only", action="store_true")
    arguments = parser.parse_args()
    if arguments.program is None and not arguments.plot_only:
        parser.error("give the program bench_array")
    arguments.record = arguments.record or RECORDS
    arguments.threads = arguments.threads or default_threads(arguments.movers)
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.plot_only:
        plot(arguments.results, arguments.figures)
        return 0
    sweep = Sweep(arguments)
    sweep.sweep_sizes() if arguments.sizes else sweep.sweep_bandwidths()
    if sweep.rows:
        print_medians(medians(sweep.rows))
    if not arguments.no_plot and sweep.rows:
        plot(arguments.results, arguments.figures)
    return 1 if sweep.failed or any(row["checked"] != "yes" for row in sweep.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
