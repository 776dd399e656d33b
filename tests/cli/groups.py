#!/usr/bin/env python3
"""xxl group of random CSV files, compared with a model that groups in memory."""

import collections
import csv
import io
import os
import random
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

import whole_process

WORDS = ["a", "b", "B", "", "x,y", 'say "no"', "line\nbreak", "ä", " blank ", "0", "00", "zz" * 30]
KINDS = ["count", "sum", "min", "max", "mean", "median", "count-distinct", "first", "last", "collect"]


def random_value(choose):
    if choose.random() < 0.1:
        return ""
    if choose.random() < 0.5:
        return str(choose.randint(-20, 20))
    return f"{choose.uniform(-1000, 1000):.{choose.randint(0, 6)}f}"


def random_rows(choose, rows):
    groups = choose.choice([1, 5, 300, rows])
    return [[choose.choice(WORDS), str(choose.randrange(groups)), random_value(choose), random_value(choose)]
            for _ in range(rows)]


def write(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def group(file, *arguments):
    """The rows of the output, after its header."""
    command = [whole_process.XXL, "group", "--record=csv", "--header", *arguments, file]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=whole_process.PATIENCE_SECONDS, check=True)
    header, *rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    return header, rows


def median(values):
    middle = len(values) // 2
    ordered = sorted(values)
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def collected(values):
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="").writerow(values)
    return text.getvalue()


def aggregate(kind, texts):
    if kind == "count":
        return len(texts)
    if kind in ("first", "last"):
        return texts[0 if kind == "first" else -1]
    texts = [text for text in texts if text]
    if kind == "count-distinct":
        return len(set(texts))
    if not texts:
        return ""
    if kind == "collect":
        return collected(texts)
    numbers = [Decimal(text) for text in texts]
    return {"sum": sum, "min": min, "max": max, "median": median, "mean": lambda all: sum(all) / len(all)}[kind](numbers)


def is_same(given, expected):
    if not isinstance(expected, Decimal) or given == "":
        return given == str(expected)
    return abs(Decimal(given) - expected) <= Decimal("1e-6")


def random_aggregates(choose):
    """Of a kind and a column each; those that need different orders are not asked for together."""
    values = choose.choice(["v", "w"])
    kinds = set(choose.sample(KINDS, choose.randint(1, 5)))
    if kinds & {"median", "count-distinct"}:
        kinds -= {"first", "last", "collect"}
    return [(kind, values if kind in ("median", "count-distinct") else choose.choice(["v", "w"]))
            for kind in sorted(kinds, key=lambda _: choose.random())]


class Groups(unittest.TestCase):
    def check(self, choose, rows, directory):
        table = random_rows(choose, rows)
        columns = {name: index for index, name in enumerate(["t", "g", "v", "w"])}
        file = os.path.join(directory, "in.csv")
        with open(file, "wb") as out:
            out.write(write([list(columns)] + table))
        by = choose.choice([[], ["t"], ["g"], ["g", "t"], ["t", "g"]])
        aggregates = random_aggregates(choose)
        options = ["--by=" + ",".join(by)]
        options += [f"--{kind}" if kind == "count" else f"--{kind}={column}" for kind, column in aggregates]
        options += [f"-S{choose.choice([2, 3, 8, 64])}M", f"--parallel={choose.randint(1, 4)}", "-T", directory]
        with self.subTest(options=options, rows=rows):
            groups = collections.defaultdict(list)
            for row in table:
                groups[tuple(row[columns[name]].encode() for name in by)].append(row)
            if not by and not groups:
                groups[()] = []
            header, found = group(file, *options)
            self.assertEqual(header[:len(by)], by)
            self.assertEqual([tuple(value.encode() for value in row[:len(by)]) for row in found], sorted(groups))
            for row, key in zip(found, sorted(groups)):
                expected = [aggregate(kind, [values[columns[column]] for values in groups[key]])
                            for kind, column in aggregates]
                self.assertTrue(all(map(is_same, row[len(by):], expected)), (key, row, expected))

    def test_random_tables_are_grouped_as_in_memory(self):
        for seed in range(40):
            with tempfile.TemporaryDirectory() as directory:
                choose = random.Random(seed)
                self.check(choose, choose.choice([0, 1, 10, 2000, 2000]), directory)

    def test_tables_larger_than_memory(self):
        for seed in range(1000, 1004):
            with tempfile.TemporaryDirectory() as directory:
                self.check(random.Random(seed), 150000, directory)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
