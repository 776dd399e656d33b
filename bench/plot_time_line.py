#!/usr/bin/env python3
"""Draws what disks and GPUs did when, from the file of xxl sort --time-line.

    bench/plot_time_line.py TIME_LINE.csv FIGURE.svg [--title TEXT]

Below, each GPU's copies and sorting; above, what the disks moved, in bins of 1/200 of the time.
"""

import argparse
import collections
import csv

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

COLOURS = {"copy in": "tab:blue", "sort piece": "tab:orange", "cut": "tab:red",
           "sort batch": "tab:olive", "gather": "tab:brown", "copy out": "tab:green",
           "swap": "tab:red"}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("time_line")
    parser.add_argument("figure")
    parser.add_argument("--title", default="")
    arguments = parser.parse_args()
    with open(arguments.time_line, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    end = max(float(row["end"]) for row in rows)
    bins = 200
    moved = {"read": [0.0] * (bins + 1), "write": [0.0] * (bins + 1)}
    tracks = collections.defaultdict(list)
    for row in rows:
        if row["track"].startswith(("disk", "pipe")):
            place = int(float(row["end"]) / end * bins)
            moved[row["what"]][place] += float(row["bytes"]) / (end / bins) / 1e9
        else:
            tracks[row["track"]].append((float(row["start"]), float(row["end"]), row["what"]))
    names = sorted(tracks)
    figure, (disk, gpu) = pyplot.subplots(
        2, 1, sharex=True, figsize=(9, 2.4 + 0.35 * max(len(names), 3)),
        height_ratios=[2, max(1, 0.4 * len(names))])  # fmt: skip
    times = [end / bins * i for i in range(bins + 1)]
    disk.step(times, moved["read"], label="read", color="tab:blue")
    disk.step(times, moved["write"], label="write", color="tab:green")
    disk.set_ylabel("disk, GB/s")
    disk.legend(loc="upper right")
    disk.set_title(arguments.title)
    seen = {}
    for place, name in enumerate(names):
        for what in {what for _, _, what in tracks[name]}:
            spans = [(a, b - a) for a, b, w in tracks[name] if w == what]
            seen[what] = gpu.broken_barh(spans, (place - 0.4, 0.8), color=COLOURS.get(what, "gray"))
    gpu.set_yticks(range(len(names)), names)
    gpu.invert_yaxis()
    gpu.set_xlabel("seconds")
    gpu.legend(seen.values(), seen.keys(), loc="upper right", fontsize="small")
    figure.tight_layout()
    figure.savefig(arguments.figure, dpi=110)


if __name__ == "__main__":
    main()
