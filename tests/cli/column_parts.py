"""Parquet and Arrow files in parts (run by columns.py)."""

import json
import random

from column_tables import MAKERS, random_table, read, record_of, write
from columns_case import HOWS, SEEDS, ColumnsTest
from whole_process import MIB

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.parquet as pq
except ImportError:
    pa = None


class Parts(ColumnsTest):
    """Files by ranges of keys, with a manifest."""

    def parts_of(self, directory, source, *arguments, verb="sort"):
        inputs = [source] if verb == "sort" else source
        done = self.run_command(verb, "-T", self.scratch, record_of(inputs[0]), *inputs, *arguments,
                                f"--output={directory}")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        manifest = json.loads((directory / "_manifest.json").read_text())
        self.assertEqual(sorted(path.name for path in directory.iterdir()),
                         ["_manifest.json"] + [part["file"] for part in manifest["files"]])
        tables = [read(directory / part["file"]) for part in manifest["files"]]
        for part, table in zip(manifest["files"], tables):
            self.assertEqual(part["records"], table.num_rows)
            self.assertEqual(part["bytes"], (directory / part["file"]).stat().st_size)
        done = self.run_command("validate", directory)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return manifest["files"], tables

    def assert_equal_parts(self, files, rows):
        self.assertEqual([part["records"] for part in files],
                         [rows * (i + 1) // len(files) - rows * i // len(files) for i in range(len(files))])

    def test_random_tables(self):
        for seed in SEEDS:
            rng = random.Random(seed + 500)
            kinds = rng.sample(sorted(MAKERS), 3)
            table = random_table(rng, rng.choice([0, 1, 50, 3000]), kinds)
            suffix = rng.choice([".parquet", ".arrow"])
            source = write(table, self.root / f"in{suffix}", rng)
            key = rng.choice(table.column_names)
            by_column = f"--part-by={rng.choice(table.column_names)}"
            rules = rng.choice([[f"--parts={rng.randrange(1, 9)}"], [f"--part-bytes={rng.randrange(1, 50)}K"],
                                [by_column]])
            with self.subTest(seed=seed, key=key, rules=rules):
                files, tables = self.parts_of(self.root / f"parts{seed}", source, f"--key={key}", *rules)
                keys = [rules[0].removeprefix("--part-by=")] if rules == [by_column] else []
                self.assert_same(pa.concat_tables(tables),
                                 self.sort(source, *(f"--key={each}" for each in [*keys, key]), output=f"one{suffix}"))
                if rules[0].startswith("--parts="):
                    number = int(rules[0].removeprefix("--parts="))
                    self.assertEqual(len(files), number)
                    self.assert_equal_parts(files, table.num_rows)
                elif rules == [by_column]:
                    values = [{repr(0 if value == 0 else value) for value in part.column(keys[0]).to_pylist()}
                              for part in tables]
                    self.assertEqual([len(each) for each in values], [1] * len(values) if table.num_rows else [0])
                    self.assertEqual(len(set().union(*values)), len(values) if table.num_rows else 0)
                # The directory is an input as its rows are.
                self.assert_same(self.sort(self.root / f"parts{seed}", f"--key={key}", record_of(source),
                                           output=f"again{suffix}").select([key]),
                                 self.sort(source, f"--key={key}", output=f"two{suffix}").select([key]))

    def test_keys_are_in_the_manifest(self):
        source = write(pa.table({"k": list(range(100)), "t": ["a", "b"] * 50}), self.root / "in.parquet")
        files, _ = self.parts_of(self.out / "parts", source, "--key=t", "--key=k:desc", "--parts=2")
        self.assertEqual([(part["first_key"], part["last_key"]) for part in files], [("a, 98", "a, 0"), ("b, 99", "b, 1")])
        files, tables = self.parts_of(self.out / "parts", source, "--part-by=t:desc")
        self.assertEqual([part["first_key"] for part in files], ["b", "a"])
        self.assertEqual([table.num_rows for table in tables], [50, 50])

    def test_of_a_size(self):
        rng = random.Random(9)
        source = write(pa.table({"k": [rng.random() for _ in range(400_000)]}), self.root / "in.parquet")
        files, _ = self.parts_of(self.out / "parts", source, "--key=k", "--part-bytes=1M")
        self.assertGreater(len(files), 3)
        for part in files[1:-1]:
            self.assertTrue(0.8 * MIB < part["bytes"] < 1.3 * MIB, part)

    def test_limits_and_what_is_left_out(self):
        source = write(pa.table({"k": [i % 10 for i in range(1000)]}), self.root / "in.parquet")
        files, _ = self.parts_of(self.out / "a", source, "--key=k", "--parts=4", "--skip=5", "--limit=8")
        self.assertEqual([part["records"] for part in files], [2, 2, 2, 2])
        files, _ = self.parts_of(self.out / "b", source, "--key=k", "--parts=4", "-u")
        self.assertEqual([part["records"] for part in files], [10, 0, 0, 0])

    def test_of_joins(self):
        r = write(pa.table({"k": list(range(5000)), "a": ["x"] * 5000}), self.root / "r.parquet")
        s = write(pa.table({"k": list(range(0, 10000, 2)), "b": ["y"] * 5000}), self.root / "s.parquet")
        files, tables = self.parts_of(self.out / "parts", [r, s], "--key=k", "--part-bytes=1K", verb="join")
        self.assertGreater(len(files), 0)
        self.assert_same(pa.concat_tables(tables), self.join(r, s, "--key=k", "--method=sort-merge"))
        few = write(pa.table({"k": [n % 7 for n in range(500)], "a": list(range(500))}), self.root / "few.parquet")
        files, tables = self.parts_of(self.out / "by", [few, s], "--key=k", "--part-by=k", verb="join")
        self.assertEqual([set(table["k"].to_pylist()) for table in tables], [{0}, {2}, {4}, {6}])
        self.assert_same(pa.concat_tables(tables), self.join(few, s, "--key=k", "--method=sort-merge"))
        for rules, message in ((["--parts=3", "--method=hash"], b"in no order"),
                               (["--part-by=a"], b"by the first column of the left key"),
                               (["--part-by=k", "--how=left"], b"needs --how=inner or semi")):
            done = self.run_command("join", "--record=parquet", "--key=k", r, s, *rules, f"--output={self.out / 'no'}")
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)

    def test_a_number_of_parts_of_joins(self):
        for seed in SEEDS:
            rng = random.Random(seed + 900)
            kind = rng.choice(sorted(MAKERS))
            suffix = rng.choice([".parquet", ".arrow"])
            r, s = (write(random_table(rng, rng.choice([0, 1, 60, 300]), [kind, "int32"]), self.root / f"{name}{suffix}", rng)
                    for name in "rs")
            number = rng.randrange(1, 9)
            options = [f"--key={kind} 0", f"--how={rng.choice(HOWS)}", *rng.choice([[], ["--suffixes=,_of_s"]])]
            with self.subTest(seed=seed, options=options, number=number):
                files, tables = self.parts_of(self.root / f"parts{seed}", [r, s], f"--parts={number}", *options, verb="join")
                table = self.join(r, s, "--method=sort-merge", *options, output=f"one{suffix}")
                self.assert_same(pa.concat_tables(tables), table)
                self.assertEqual(len(files), number)
                self.assert_equal_parts(files, table.num_rows)

    def test_a_number_of_parts_of_joins_larger_than_memory(self):
        rows = 200_000
        text = [f"{i:0200}" for i in range(rows)]
        r = write(pa.table({"k": list(range(rows)), "a": text}), self.root / "r.parquet")
        s = write(pa.table({"k": list(range(0, 2 * rows, 2)), "b": text}), self.root / "s.parquet")
        directory = self.out / "parts"
        done = self.run_command("join", "-T", self.scratch, "--record=parquet", "--key=k", "-S", "96M", r, s, "--parts=3",
                                f"--output={directory}", "--stats=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(done.stderr)
        self.assertEqual([phase["name"] for phase in stats["phases"]],
                         ["count: build", "count: form right runs", "count: form left runs", "count: join",
                          "count: finish", "form right runs", "form left runs", "join", "finish"])
        self.assertEqual([each["rows_read"] for each in stats["inputs"]], [rows, rows])
        files = json.loads((directory / "_manifest.json").read_text())["files"]
        self.assert_equal_parts(files, rows // 2)
        self.assert_same(pa.concat_tables(read(directory / part["file"]) for part in files),
                         self.join(r, s, "--key=k", "--method=sort-merge"))

    def test_a_number_of_parts_of_joins_reads_no_pipes(self):
        r = write(pa.table({"k": [1, 2, 2]}), self.root / "r.arrow")
        command = ["join", "--record=arrow", "--key=k", "-", r, "--parts=2", f"--output={self.out / 'parts'}"]
        with open(r, "rb") as file:
            self.assertEqual(self.run_command(*command, stdin=file).returncode, 0)
        self.assertEqual([read(path).num_rows for path in sorted((self.out / "parts").glob("*.arrow"))], [2, 3])
        self.assert_fails(self.run_command(*command, input=r.read_bytes()), "standard input: is a pipe.*use --part-bytes")

    def test_an_existing_directory_survives_a_failure(self):
        source = self.root / "in.parquet"
        pq.write_table(pa.table({"k": list(range(100_000))}), source, write_page_checksum=True)
        self.parts_of(self.out / "parts", source, "--key=k", "--parts=3")
        before = {path.name: path.read_bytes() for path in (self.out / "parts").iterdir()}
        damaged = bytearray(source.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        (self.root / "bad.parquet").write_bytes(damaged)
        done = self.run_xxl("--record=parquet", "--key=k", self.root / "bad.parquet", "--parts=2", "-o", self.out / "parts")
        self.assert_fails(done, "bad.parquet")
        self.assertEqual({path.name: path.read_bytes() for path in (self.out / "parts").iterdir()}, before)
        self.assert_only_in_out("parts")
        for arguments, message in ((["--part-by=no", "--key=k"], "no column 'no'"), (["--parts=2"], "need a --key"),
                                   (["--parts=2", "--part-bytes=1M", "--key=k"], "exclude each other")):
            self.assert_fails(self.run_xxl("--record=parquet", source, *arguments, "-o", self.out / "parts"), message)

    def test_a_full_disk_is_an_error(self):
        self.expect_full_disk("parts", "--parts=5")


class TextForOthers(ColumnsTest):
    """Directories NAME=VALUE of CSV files, as other programs read them."""

    ODD = ["Berlin", "New York", "São Paulo", "a/b", "12:30", "100%", "a=b", "x%2Fy", "*?[]{}^", "back\\slash", "#1", "it's",
           'a "quote"', "two\nlines", "comma, there", ".", "..", "+", "part-0.csv", None]

    def make(self, column, values):
        """Two rows of each value."""
        rows = pa.table({"id": list(range(2 * len(values))), column: [value for value in values for _ in range(2)]})
        source = self.root / "in.csv"
        with duckdb.connect() as database:
            database.sql("SELECT * FROM rows ORDER BY id DESC").write_csv(str(source), header=True)
        output = self.out / "by"
        done = self.run_command("sort", "--csv", f"--part-by={column}", "--key=id:n", source, "-o", output)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return output, sorted(zip(rows[column].to_pylist(), range(rows.num_rows)), key=lambda row: row[1])

    def read(self, output, columns, hive):
        with duckdb.connect() as database:
            return database.execute(f"SELECT {columns} FROM read_csv($1, hive_partitioning = {hive}, hive_types_autocast = false, "
                                    "auto_detect = true) ORDER BY id", [f"{output}/**/*.csv"]).fetchall()

    def test_duckdb_has_the_column_of_names_and_of_files(self):
        output, rows = self.make("city", self.ODD)
        self.assertEqual(len(list(output.glob("city=*/part-0.csv"))), len(self.ODD))
        for hive in (True, False):
            with self.subTest(hive=hive):
                self.assertEqual(self.read(output, "city, id", hive), rows)
        with duckdb.connect() as database:
            for value in self.ODD[:-1]:
                found = database.execute("SELECT id FROM read_csv($1, hive_partitioning = true) WHERE city = $2 ORDER BY id",
                                         [f"{output}/**/*.csv", value]).fetchall()
                self.assertEqual(found, [(row,) for city, row in rows if city == value])

    def test_names_of_columns_are_escaped(self):
        output, rows = self.make("a/b=c", ["x", "y"])
        self.assertEqual(self.read(output, '"a/b=c", id', False), rows)

    def test_numbers(self):
        output, rows = self.make("n", [10, -2, 30])
        with duckdb.connect() as database:
            found = database.sql(f"SELECT n, id FROM read_csv('{output}/**/*.csv') ORDER BY id").fetchall()
        self.assertEqual(found, rows)
        table = pa.dataset.dataset(output, format="csv").to_table().sort_by("id")
        self.assertEqual(list(zip(table["n"].to_pylist(), table["id"].to_pylist())), rows)

    def test_arrow(self):
        output, rows = self.make("city", self.ODD[:8])
        for partitioning in (None, "hive"):
            table = pa.dataset.dataset(output, format="csv", partitioning=partitioning).to_table().sort_by("id")
            self.assertEqual(list(zip(table["city"].to_pylist(), table["id"].to_pylist())), rows)
