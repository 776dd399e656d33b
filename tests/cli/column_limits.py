"""Sorts with --limit of Parquet files (run by columns.py)."""

import json
import math
import random

from column_tables import MAKERS, random_column, read, sorted_rows, take
from columns_case import SEEDS, ColumnsTest

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


class Limit(ColumnsTest):
    """Row groups that cannot have rows of the result are not read."""

    def check(self, table, key, limit, row_group_rows, expected_groups=None, **options):
        source = self.root / "in.parquet"
        pq.write_table(table, source, row_group_size=row_group_rows, **options)
        target = self.out / "out.parquet"
        down, first = ":desc" in key, ":nulls-first" in key
        done = self.run_xxl("--record=parquet", f"--key={key}", f"--limit={limit}", "--stats=json", source, "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        order = sorted_rows([table[key.split(":")[0]].to_pylist()], [(down, first)])[:limit]
        self.assert_same(read(target), take(table, order))
        groups = json.loads(done.stderr)["inputs"][0]["row_groups_read"]
        if expected_groups is not None:
            self.assertEqual(groups, expected_groups)
        return groups

    def test_of_sorted_numbers(self):
        table = pa.table({"k": list(range(1000)), "v": [str(i) for i in range(1000)]})
        self.check(table, "k", 10, 100, 1)
        self.check(table, "k", 100, 100, 1)
        self.check(table, "k", 101, 100, 2)
        self.check(table, "k:desc", 10, 100, 1)
        self.check(table, "v", 10, 100, 2)  # as text: 0, 1, 10, 100, 101, ...
        self.check(table, "k", 2000, 100, 10)

    def test_with_nulls(self):
        table = pa.table({"k": [None] * 100 + list(range(100)) + [None] * 50 + list(range(100, 150))})
        self.check(table, "k", 10, 50, 1)
        self.check(table, "k:desc", 10, 50, 1)
        self.check(table, "k:nulls-first", 10, 50)
        self.check(table, "k:nulls-first", 160, 50)
        self.check(table, "k", 151, 50)

    def test_without_statistics_all_is_read(self):
        table = pa.table({"k": list(range(1000))})
        self.check(table, "k", 10, 100, 10, write_statistics=False)

    def test_equal_bounds_are_read(self):
        self.check(pa.table({"k": [5] * 100, "row": list(range(100))}), "k", 10, 10, 10)
        self.check(pa.table({"k": [5] * 100, "row": list(range(100))}), "k:desc", 10, 10, 10)

    def test_floating_point_numbers_are_all_read(self):
        self.check(pa.table({"k": [1.0] * 10 + [math.nan] * 10 + [0.5, math.nan] * 5}), "k:desc", 5, 10, 3)

    def test_of_all_types(self):
        for seed in SEEDS:
            rng = random.Random(seed)
            for kind in MAKERS:
                with self.subTest(seed=seed, kind=kind):
                    column = random_column(rng, kind, 300)
                    part_sorted = sorted_rows([column.to_pylist()], [(False, False)])
                    for _ in range(20):  # nearly in order, so that there is something to leave out
                        i, j = rng.randrange(300), rng.randrange(300)
                        part_sorted[i], part_sorted[j] = part_sorted[j], part_sorted[i]
                    table = pa.table({"k": pa.array([column[i].as_py() for i in part_sorted], column.type), "row": list(range(300))})
                    key = "k" + rng.choice(["", ":desc"]) + rng.choice(["", ":nulls-first"])
                    self.check(table, key, rng.choice([1, 10, 100, 299]), rng.choice([7, 30]),
                               use_dictionary=rng.random() < 0.5)

    def test_with_unique_all_is_read(self):
        table = pa.table({"k": [0] * 100 + [1] * 100})
        source = self.root / "in.parquet"
        pq.write_table(table, source, row_group_size=100)
        self.assert_same(self.sort(source, "--key=k", "-u", "--limit=2"), pa.table({"k": [0, 1]}))

    def test_explain_says_how_many(self):
        source = self.root / "in.parquet"
        pq.write_table(pa.table({"k": list(range(1000))}), source, row_group_size=100)
        done = self.run_xxl("--record=parquet", "--key=k", "--limit=10", "--explain", source)
        self.assertRegex(done.stdout.decode(), "row groups: +1 of 10")
