#!/usr/bin/env python3
"""What sorts on several machines would cost: time, disks, network, memory, messages (docs/cluster.md).

    bench/cluster_model.py [--nodes 1,4,16,64,256,1000] [--bytes 1G,100G,10T,1P] [--processors 16]
        [--memory 64G] [--disk 4G] [--network 3G] [--seconds-per-gb 1.8] [--out FILE]
    bench/cluster_model.py --published

One rank on each node, with so many processors, so much memory for -S, disks that read and write so many bytes
a second in all, and a network that carries so many in and out. A processor needs --seconds-per-gb for the whole
sort (of gensort records). A phase takes as long as the slowest of what it needs, since all of it overlaps; phases follow
each other. Nothing here is measured but the time of processors; --published is the same for nodes like
those of published sorts, beside their figures."""

import argparse
import csv
import dataclasses
import math
import sys

KIB, MIB = 1 << 10, 1 << 20
RECORD_BYTES = 100
LEAST_BLOCK, MOST_BLOCK = 16 * KIB, MIB  # engine/record_sort/plan.cc
MERGE_PART = 5 / 8  # of the memory, for one block of each run
SENDING_PART = 1 / 16
TABLE_BYTES = 2 * 72  # of a block: in the own runs, and in the part that is merged
READS_OF_CUT = 2.5  # blocks, for a splitter in a run
PIVOT_BYTES = 72 + RECORD_BYTES
EXCHANGES_OF_STEP = 4
DISK_SECONDS = 1e-4  # of a small read; a step has two rounds of them, of all splitters at the same time
MESSAGE_SECONDS = 5e-6


@dataclasses.dataclass
class Node:
    processors: int
    memory: float
    disk: float
    network: float
    seconds_per_gb: float


@dataclasses.dataclass
class Sort:
    nodes: int
    bytes: float
    block: int  # bytes of a block of a run
    runs: int  # of a rank
    merged: int  # of all ranks
    local_passes: int
    form: float  # seconds, as what follows
    local: float
    split: float
    merge: float
    bound: str  # what the merge waits for
    disk: float  # bytes of a rank, read and written
    network: float  # bytes of a rank
    tables: float  # bytes of memory
    messages: int  # of a rank

    possible: bool  # tables take no more than half of the memory

    @property
    def seconds(self):
        return self.form + self.local + self.split + self.merge

    @property
    def rate(self):
        """Bytes a second and node."""
        return self.bytes / self.nodes / self.seconds


def model(node, nodes, total):
    share = total / nodes
    memory = node.memory * (1 - SENDING_PART)
    runs = math.ceil(share / (2 * memory))
    # As many local passes as it takes until the runs of all ranks can be merged at once.
    local_passes = 0
    while nodes * runs > memory / LEAST_BLOCK * MERGE_PART:
        runs = math.ceil(runs / (memory / MIB * MERGE_PART))
        local_passes += 1
        if runs == 1:
            break
    largest = memory * MERGE_PART / max(nodes * runs, 8)
    block = int(min(max(2 ** math.floor(math.log2(largest)), LEAST_BLOCK), MOST_BLOCK))
    processors = share / 1e9 * node.seconds_per_gb / node.processors
    pass_disk = 2 * share / node.disk
    form = max(pass_disk, processors * 2 / 3)
    local = local_passes * max(pass_disk, processors / 3)
    # A step halves what the intervals hold.
    steps = math.ceil(math.log2(max(total / RECORD_BYTES, 2))) + 3 if nodes > 1 else 0
    cuts = (nodes - 1) * runs * READS_OF_CUT
    messages = steps * EXCHANGES_OF_STEP * (nodes - 1)
    split = steps * 2 * DISK_SECONDS + cuts * block / node.disk + messages * (MESSAGE_SECONDS + PIVOT_BYTES / node.network)
    # Blocks at cuts go to two ranks.
    received = (share + min(share, runs * nodes * block)) * (nodes - 1) / nodes
    waits = {"disk": (2 * share + min(share, runs * nodes * block)) / node.disk,
             "network": received / node.network, "processors": processors / 3}
    bound = max(waits, key=waits.get)
    blocks = share / block
    return Sort(nodes, total, block, runs, nodes * runs, local_passes, form, local, split, waits[bound], bound,
                (4 + 2 * local_passes) * share + cuts * block, received, blocks * TABLE_BYTES,
                messages + 2 * math.ceil(received / block), blocks * TABLE_BYTES <= memory / 2)


# Nodes of about that size, as they are sold; what they did is what was published.
PUBLISHED = (
    ("Exoshuffle-CloudSort 2022", 40, 1e14, 5378, Node(16, 64e9, 4e9, 3.1e9, 1.8),
     "input and output in S3, over the network"),
    ("Tencent Sort 2016", 512, 1e14, 98.8, Node(20, 256e9, 10e9, 12.5e9, 1.8),
     "in memory: each byte is read and written once"),
)


def size(text):
    factors = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    return float(text[:-1]) * factors[text[-1]] if text[-1] in factors else float(text)


def sizes(text):
    return [size(word) for word in text.split(",")]


def human(number):
    for unit, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}B"
    return f"{number:.0f} B"


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")


def print_model(node, nodes, totals):
    sorts = [model(node, count, total) for total in totals for count in nodes if total / count >= 1e6]
    rows = [("input", "nodes", "seconds", "GB/s a node", "merge waits for", "runs merged", "block", "split", "tables",
             "messages")]
    for sort in sorts:
        if not sort.possible:
            rows.append((human(sort.bytes), str(sort.nodes), "too little memory", "", "", "", "", "", human(sort.tables), ""))
            continue
        rows.append((human(sort.bytes), str(sort.nodes), f"{sort.seconds:.3g}", f"{sort.rate / 1e9:.2f}", sort.bound,
                     str(sort.merged), f"{sort.block // KIB} KiB", f"{sort.split:.2g} s", human(sort.tables),
                     human(sort.messages).replace(" ", "").rstrip("B")))
    print_table(rows)
    return sorts


def print_published():
    rows = [("", "nodes", "input", "published", "model", "of it: form, split, merge", "but")]
    for name, nodes, total, seconds, node, note in PUBLISHED:
        sort = model(node, nodes, total)
        rows.append((name, str(nodes), human(total), f"{seconds} s, {total / nodes / seconds / 1e9:.2f} GB/s a node",
                     f"{sort.seconds:.0f} s, {sort.rate / 1e9:.2f} GB/s a node",
                     f"{sort.form:.0f}, {sort.split:.1f}, {sort.merge:.0f} s ({sort.bound})", note))
    print_table(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1,4,16,64,256,1000")
    parser.add_argument("--bytes", default="1G,100G,10T,1P")
    parser.add_argument("--processors", type=int, default=16)
    parser.add_argument("--memory", type=size, default=64e9)
    parser.add_argument("--disk", type=size, default=4e9)
    parser.add_argument("--network", type=size, default=3e9)
    parser.add_argument("--seconds-per-gb", type=float, default=1.8)
    parser.add_argument("--published", action="store_true", help="nodes like those of published sorts")
    parser.add_argument("--out", help="write all that is computed to this file, as CSV")
    arguments = parser.parse_args()
    if arguments.published:
        print_published()
        return 0
    node = Node(arguments.processors, arguments.memory, arguments.disk, arguments.network, arguments.seconds_per_gb)
    sorts = print_model(node, [int(word) for word in arguments.nodes.split(",")], sizes(arguments.bytes))
    if arguments.out:
        with open(arguments.out, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([field.name for field in dataclasses.fields(Sort)] + ["seconds"])
            for sort in sorts:
                writer.writerow([*dataclasses.astuple(sort), sort.seconds])
    return 0


if __name__ == "__main__":
    sys.exit(main())
