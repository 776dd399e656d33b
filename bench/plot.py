#!/usr/bin/env python3
"""Draws docs/figures/ from bench/results/ (see run.py). Needs matplotlib.

    time_by_size    time against input size, from the cases size-*
    where_time_goes seconds of each phase: busy, waiting for reads, waiting for writes
"""

import argparse
import collections
import csv
import pathlib
import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker  # noqa: E402  (after the choice of backend)

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
GIB = 1 << 30
NAMES = {"io_bound": "moving the same volume (bound)", "xxl": "xxl", "stxxl": "stxxl::sort"}
COLOURS = {"io_bound": "0.6", "xxl": "tab:blue", "stxxl": "tab:orange"}


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def save(figure, directory, name):
    directory.mkdir(parents=True, exist_ok=True)
    for suffix in ("png", "svg"):
        figure.savefig(directory / f"{name}.{suffix}", dpi=150, bbox_inches="tight")
    print(directory / f"{name}.png")


def plot_time_by_size(results, directory):
    seconds = collections.defaultdict(list)  # by program and bytes
    for path in sorted(results.glob("size-*g.csv")):
        for row in rows_of(path):
            seconds[row["program"], int(row["bytes"])].append(float(row["seconds"]))
    if not seconds:
        return
    figure, axes = pyplot.subplots(figsize=(6, 4))
    for program in NAMES:
        sizes = sorted(size for p, size in seconds if p == program)
        medians = [statistics.median(seconds[program, size]) for size in sizes]
        axes.plot([size / GIB for size in sizes], medians, marker="o", color=COLOURS[program],
                  label=NAMES[program])  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("input, GiB of u64")
    axes.set_ylabel("seconds")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(True, which="both", linewidth=0.3)
    axes.legend()
    save(figure, directory, "time_by_size")


def plot_where_time_goes(results, directory, cases):
    bars = []  # (label, busy, read wait, write wait), each phase of the first repetition
    for case in cases:
        path = results / f"{case}-phases.csv"
        if not path.exists():
            continue
        for row in rows_of(path):
            if row["repetition"] != "0" or row["program"] != "xxl":
                continue
            waits = [float(row["read_wait_seconds"]), float(row["write_wait_seconds"])]
            bars.append((f"{case}\n{row['name']}", float(row["seconds"]) - sum(waits), *waits))
    if not bars:
        return
    labels, *parts = zip(*bars)
    figure, axes = pyplot.subplots(figsize=(7, 0.6 + 0.45 * len(bars)))
    left = [0.0] * len(bars)
    names = ("busy", "waiting for reads", "waiting for writes")
    for name, values, colour in zip(names, parts, ("tab:blue", "tab:red", "tab:purple")):
        axes.barh(labels, values, left=left, label=name, color=colour)
        left = [a + b for a, b in zip(left, values)]
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.legend()
    save(figure, directory, "where_time_goes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench" / "results")
    parser.add_argument("--figures", type=pathlib.Path, default=REPOSITORY / "docs" / "figures")
    parser.add_argument("--case", action="append", metavar="NAME",
                        help="cases of the second figure (default: the main ones)")  # fmt: skip
    arguments = parser.parse_args()
    plot_time_by_size(arguments.results, arguments.figures)
    cases = arguments.case or ["u64-4g", "gensort-8g", "u64-20g", "u64-20g-batch8"]
    plot_where_time_goes(arguments.results, arguments.figures, cases)


if __name__ == "__main__":
    main()
