"""Joins of Parquet and Arrow files, compared with those of DuckDB (run by columns.py)."""

import json
import random

from column_tables import read, write
from columns_case import HOWS, SEEDS, ColumnsTest

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


class Join(ColumnsTest):
    def check(self, r, s, how, suffix, on):
        names = [write(table, self.root / f"{name}{suffix}", random.Random(how))
                 for name, table in (("r", r), ("s", s))]
        keys = [f"--key={key}" for key in on]
        result = self.join(*names, *keys, f"--how={how}", output=f"out{suffix}")
        merged = self.join(*names, *keys, f"--how={how}", "--method=sort-merge", output=f"out{suffix}")
        self.assertEqual(sorted(map(repr, merged.to_pylist())), sorted(map(repr, result.to_pylist())))
        keys = ", ".join(on)
        if how in ("semi", "anti"):
            query = f"SELECT r.* FROM r {how.upper()} JOIN s USING ({keys})"
        else:
            query = f"SELECT * FROM r {how.upper()} JOIN s USING ({keys})"
        with duckdb.connect() as database:
            database.register("r", r)
            database.register("s", s)
            expected = database.sql(query).fetchall()
        actual = [tuple(row.values()) for row in result.to_pylist()]
        self.assertEqual(sorted(map(repr, actual)), sorted(map(repr, expected)))

    def test_random_tables(self):
        for seed in SEEDS:
            rng = random.Random(seed)
            how = HOWS[seed % len(HOWS)]
            suffix = rng.choice([".parquet", ".arrow", ".arrows"])
            with self.subTest(seed=seed, how=how, suffix=suffix):
                distinct = rng.choice([1, 50, 5000])

                def table(name, rows):
                    ids = [None if rng.random() < 0.05 else rng.randrange(distinct) for _ in range(rows)]
                    return pa.table({"id": pa.array(ids, pa.int64()), "part": pa.array([f"p{rng.randrange(3)}" for _ in ids], pa.string()),
                                     name: pa.array([rng.randrange(100) for _ in ids], pa.int32())})
                self.check(table("a", rng.choice([0, 10, 500])), table("b", rng.choice([0, 10, 500])), how, suffix,
                           ["id", "part"])

    def test_keys_of_different_names_and_suffixes(self):
        r = write(pa.table({"id": [1, 2], "x": ["a", "b"]}), self.root / "r.parquet")
        s = write(pa.table({"user": [2, 2, 3], "x": ["c", "d", "e"]}), self.root / "s.parquet")
        self.assert_same(self.join(r, s, "--left-on=id", "--right-on=user"),
                         pa.table({"id": [2, 2], "x": ["b", "b"], "x_right": ["c", "d"]}))
        self.assertEqual(self.join(r, s, "--left-on=1", "--right-on=1", "--suffixes=,2").column_names, ["id", "x", "x2"])

    def test_methods(self):
        """Which one was used, and what the footer says of the order."""
        left, right = pa.table({"id": [3, 1, None, 2, 1]}), pa.table({"id": [1, 2, 3], "x": ["a", "b", "c"]})
        r, s = write(left, self.root / "r.parquet"), write(right, self.root / "s.parquet")
        for method, ids in (("hash", [3, 1, 2, 1]), ("sort-merge", [1, 1, 2, 3])):
            target = self.out / "out.parquet"
            done = self.run_command("join", "--record=parquet", "--key=id", f"--method={method}", r, s,
                                    f"--output={target}", "--stats=json")
            self.assertEqual(json.loads(done.stderr)["method"], method)
            self.assertEqual(read(target)["id"].to_pylist(), ids)
            group = pq.ParquetFile(target).metadata.row_group(0)
            self.assertEqual(bool(group.sorting_columns), method == "sort-merge")

    def test_a_damaged_left_table_is_named(self):
        r = write(pa.table({"id": list(range(100000))}), self.root / "r.parquet")
        s = write(pa.table({"id": [1, 2, 3]}), self.root / "s.parquet")
        content = bytearray(r.read_bytes())
        middle = len(content) // 3
        content[middle:middle + 400] = bytes(400)
        r.write_bytes(content)
        done = self.run_command("join", "--record=parquet", "--key=id", r, s, f"--output={self.out / 'out.parquet'}")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"^xxl: join: .*r\.parquet: row group \d+: column id: .*\n$")
        self.assertEqual(list(self.out.iterdir()), [])

    def test_counted(self):
        r = write(pa.table({"id": [1, 2, 2]}), self.root / "r.parquet")
        done = self.run_command("join", "--record=parquet", "--key=id", "--count", r, r)
        self.assertEqual((done.stdout, done.stderr), (b"5\n", b""))
