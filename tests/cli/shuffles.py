#!/usr/bin/env python3
"""xxl shuf: orders are as random as they should be (statistics of fixed seeds, so that nothing
depends on luck), depend on the seed and the input alone, and are permutations of the input."""

import collections
import itertools
import os
import random
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import whole_process

RANDOM_SHUFFLES = int(os.environ.get("XXL_RANDOM_SHUFFLES", "120"))
# A normal variable is farther from 0 once in a million times: seeds are fixed, and were not chosen.
FARTHEST = 4.9


def shuf(*arguments, data=None, seed=1):
    """The output of xxl shuf."""
    command = [whole_process.XXL, "shuf", f"--seed={seed}", *map(str, arguments)]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, timeout=whole_process.PATIENCE_SECONDS,
                          check=True).stdout


def of_many_seeds(seeds, *arguments, data):
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        yield from threads.map(lambda seed: shuf(*arguments, data=data, seed=seed), seeds)


def deviation_of_chi_square(chi_square, degrees):
    """About normal: Wilson and Hilferty 1931."""
    variance = 2 / (9 * degrees)
    return ((chi_square / degrees)**(1 / 3) - (1 - variance)) / variance**0.5


def deviation(counts, cells, lost_degrees=1):
    """Of counts from equal ones; those of the other cells are 0."""
    expected = sum(counts) / cells
    chi_square = sum((count - expected)**2 for count in counts) / expected + (cells - len(counts)) * expected
    return deviation_of_chi_square(chi_square, cells - lost_degrees)


class Statistics(unittest.TestCase):
    def assert_usual(self, deviations):
        for name, value in deviations.items():
            self.assertLess(abs(value), FARTHEST, name)

    def test_all_permutations_of_five_records_are_equally_likely(self):
        counts = collections.Counter(of_many_seeds(range(4800), data=b"1\n2\n3\n4\n5\n"))
        self.assertEqual(set(counts),
                         {"".join(order).encode() for order in itertools.permutations(["1\n", "2\n", "3\n", "4\n", "5\n"])})
        self.assert_usual({"permutations": deviation(list(counts.values()), 120)})

    def test_samples_have_each_record_equally_often_and_each_pair(self):
        records, sample = 16, 3
        data = b"".join(b"%d\n" % i for i in range(records))
        single, pairs = collections.Counter(), collections.Counter()
        for output in of_many_seeds(range(2400), "-n", sample, data=data):
            lines = output.split()
            self.assertEqual(len(set(lines)), sample)
            single.update(lines)
            pairs.update(itertools.permutations(lines, 2))
        # (Without replacement, what is in a sample is a little more even than independent draws.)
        self.assert_usual({"records": deviation(list(single.values()), records),
                           "pairs": deviation(list(pairs.values()), records * (records - 1))})

    def test_positions_in_and_out_have_nothing_to_do_with_each_other(self):
        count, cells = 100_000, 20
        numbers = [b"%d\n" % i for i in range(count)]
        data = b"".join(numbers)
        for seed in ("a", "b", "c"):
            # Merged from runs: less memory than input.
            output = list(map(int, shuf("-S", "1M", "--parallel=2", data=data, seed=seed).split()))
            self.assertEqual(sorted(output), list(range(count)))
            grid = collections.Counter((place * cells // count, number * cells // count)
                                       for place, number in enumerate(output))
            chi_square = sum((grid[cell] - count / cells**2)**2 for cell in itertools.product(range(cells), repeat=2))
            chi_square /= count / cells**2
            mean = (count - 1) / 2
            variance = (count**2 - 1) / 12
            place_of = [0] * count
            for place, number in enumerate(output):
                place_of[number] = place
            correlations = {
                f"lag {lag} {name}": sum((order[i] - mean) * (order[i + lag] - mean) for i in range(count - lag))
                / count / variance * count**0.5
                for name, order in (("out", place_of), ("in", output)) for lag in (1, 2, 3, 100)}
            ascents = sum(a < b for a, b in itertools.pairwise(output)) if hasattr(itertools, "pairwise") else sum(
                output[i] < output[i + 1] for i in range(count - 1))
            self.assert_usual({
                "grid": deviation_of_chi_square(chi_square, (cells - 1)**2),
                "ascents": (ascents - (count - 1) / 2) / ((count + 1) / 12)**0.5,
                **correlations})
            # Poisson, of mean 1.
            self.assertLess(sum(place == number for place, number in enumerate(output)), 9)
            self.assertLess(sum(output[i] + 1 == output[i + 1] for i in range(count - 1)), 9)

    def test_without_a_seed_each_order_is_another(self):
        data = b"".join(b"%d\n" % i for i in range(100))
        run = [whole_process.XXL, "shuf"]
        orders = {subprocess.run(run, input=data, stdout=subprocess.PIPE, check=True).stdout for _ in range(5)}
        self.assertEqual(len(orders), 5)


class RandomShuffles(whole_process.FaultTest):
    def input_of(self, rng):
        """The options of a kind of records, and some."""
        kind = rng.choice(("lines", "-z", "csv", "u32", "fixed:24"))
        count = rng.choice((0, 1, 2, 100, 5000, 100_000))
        if kind in ("u32", "fixed:24"):
            size = 4 if kind == "u32" else 24
            return [f"--record={kind}"], [rng.randbytes(size) for _ in range(count)]
        end = b"\0" if kind == "-z" else b"\n"
        longest = rng.choice((0, 3, 30, 300))
        records = [b"x" * rng.randrange(longest + 1) + b"%d" % i * rng.randrange(2) for i in range(count)]
        if kind == "csv":
            return ["--record=csv"], [b'%d,"a\nb,%s"\n' % (i, record) for i, record in enumerate(records)]
        if count > 2 and rng.random() < 0.2:
            records[rng.randrange(count)] = b"l" * rng.randrange(600_000)
        return ["-z"] if kind == "-z" else [], [record + end for record in records]

    def test_orders_depend_on_seed_and_input_alone_and_are_permutations(self):
        for number in range(RANDOM_SHUFFLES):
            rng = random.Random(number)
            options, records = self.input_of(rng)
            with self.subTest(number=number, options=options, records=len(records)):
                data = b"".join(records)
                cut = len(b"".join(records[:rng.randrange(len(records) + 1)]))
                files = [self.root / "a", self.root / "b"]
                files[0].write_bytes(data[:cut])
                files[1].write_bytes(data[cut:])
                expected = shuf(*options, "-S", "64M", data=data, seed=number)
                self.assertEqual(len(expected), len(data))
                if options != ["--record=csv"]:  # whose records have line ends within
                    self.assertEqual(sorted(self.split(options, expected)), sorted(records))
                for _ in range(3):
                    memory = f"{rng.choice((2, 3, 5, 20))}M"
                    threads = f"--parallel={rng.choice((1, 2, 3, 8))}"
                    more = rng.choice(([], ["--temp-compress"], ["--batch-size=3"], ["--io=threads"]))
                    output = shuf(*options, "-S", memory, threads, *more, *files, seed=number)
                    self.assertEqual(output, expected, (memory, threads, more))
                    output = shuf(*options, "-S", memory, threads, *more, data=data, seed=number)
                    self.assertEqual(output, expected, (memory, threads, more, "pipe"))
                first = shuf(*options, "-S", "2M", "--limit=50", *files, seed=number)
                rest = shuf(*options, "-S", "2M", "--skip=50", *files, seed=number)
                self.assertEqual(first + rest, expected)
                parts = self.root / "parts"
                shuf(*options, "-S", "3M", "--part-bytes=100K", *files, "-o", parts, seed=number)
                self.assertEqual(b"".join(part.read_bytes() for part in sorted(parts.glob("part-*"))), expected)

    @staticmethod
    def split(options, data):
        if options and options[0].startswith("--record"):
            size = 4 if options[0] == "--record=u32" else 24
            return [data[at:at + size] for at in range(0, len(data), size)]
        end = b"\0" if options == ["-z"] else b"\n"
        return [record + end for record in data.split(end)[:-1]]

    def test_a_full_disk_leaves_no_output(self):
        self.expect_full_disks_to_fail(["shuf"], 1)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
