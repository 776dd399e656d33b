#!/usr/bin/env python3
"""xxl shuf: orders are as random as they should be (statistics of fixed seeds, so that nothing
depends on luck)."""

import collections
import itertools
import os
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import whole_process

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
        counts = collections.Counter(of_many_seeds(range(1200), data=b"1\n2\n3\n4\n5\n"))
        self.assertEqual(set(counts),
                         {"".join(order).encode() for order in itertools.permutations(["1\n", "2\n", "3\n", "4\n", "5\n"])})
        self.assert_usual({"permutations": deviation(list(counts.values()), 120)})

    def test_samples_have_each_record_equally_often_and_each_pair(self):
        records, sample = 16, 3
        data = b"".join(b"%d\n" % i for i in range(records))
        single, pairs = collections.Counter(), collections.Counter()
        for output in of_many_seeds(range(1200), "-n", sample, data=data):
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


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
