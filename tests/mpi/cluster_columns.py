#!/usr/bin/env python3
"""Tables in Parquet and Arrow files on several ranks: random sorts and joins compared with the same by one process.

Environment as of cluster.py. Needs what tests/cli/columns.py needs; otherwise all is skipped, and a line says so."""

import json
import os
import random
import re
import subprocess
import sys

from cluster import CAN_BE_APART, ClusterTest, RANDOM_SORTS
from column_tables import MAKERS, PAYLOADS, random_table, read, record_of, write
from columns_case import ColumnsTest
import whole_process
from whole_process import MIB, can_mount, small_file_system

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


def in_files(rng, table, directory, suffix):
    """The rows, one after the other, in some files."""
    cuts = sorted(rng.randrange(table.num_rows + 1) for _ in range(rng.choice((0, 0, 1, 3))))
    files = []
    for begin, end in zip([0, *cuts], [*cuts, table.num_rows]):
        ending = ".arrows" if suffix == ".arrow" and rng.random() < 0.2 else suffix
        part = table.slice(begin, end - begin)
        if part.num_rows:  # only the dictionary values that it has
            part = pa.table([pa.array(column.to_pylist(), column.type) for column in part.columns], schema=part.schema)
        files.append(write(part, directory / f"in{len(files)}{ending}", rng))
    return files


class ColumnClusterTest(ClusterTest, ColumnsTest):
    def sort_by_ranks(self, ranks, files, *options, name="sorted", **how):
        """The table that its parts are, one after the other."""
        return self.by_ranks(ranks, record_of(files[0]), *files, *options, name=name, **how)

    def by_ranks(self, ranks, record, *arguments, name="out", **how):
        output = self.out / name
        done = self.cluster(ranks, record, *arguments, f"--output={output}/", **how)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        manifest = json.loads((output / "_manifest.json").read_text())
        self.assertEqual(manifest["record"], record.removeprefix("--record="))
        self.assertEqual(len(manifest["files"]), ranks)
        self.assertEqual(sorted(path.name for path in output.iterdir()),
                         ["_manifest.json"] + [part["file"] for part in manifest["files"]])
        tables = [read(output / part["file"]) for part in manifest["files"]]
        for part, table in zip(manifest["files"], tables):
            self.assertEqual(part["records"], table.num_rows)
        checked = subprocess.run([whole_process.XXL, "validate", output], capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, b""))
        subprocess.run(["rm", "-r", output], check=True)
        return tables

    def assert_as_alone(self, tables, files, *options):
        suffix = ".parquet" if files[0].suffix == ".parquet" else ".arrow"
        output = self.out / f"alone{suffix}"
        done = self.run_xxl(record_of(files[0]), *files, "-o", output, *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        expected = read(output)
        output.unlink()
        self.assert_as(tables, expected, suffix)

    def assert_as(self, tables, expected, suffix):
        """What one process makes of it: values, their order, types, metadata, and dictionaries."""
        for table in tables:
            self.assertTrue(table.schema.equals(expected.schema, check_metadata=True), (table.schema, expected.schema))
        self.assert_same(pa.concat_tables(tables), expected)
        if suffix == ".parquet":
            return
        for table in tables:
            for column, alone in zip(table.columns, expected.columns):
                if pa.types.is_dictionary(column.type) and column.num_chunks and alone.num_chunks:
                    self.assertEqual(column.chunk(0).dictionary, alone.chunk(0).dictionary)


class RandomColumnSorts(ColumnClusterTest):
    def sort_randomly(self, rng):
        kinds = rng.sample(sorted(MAKERS), 3) + ["dictionary"] * rng.randrange(3) + rng.sample(sorted(PAYLOADS), 2)
        table = random_table(rng, rng.choice((0, 1, 3, 50, 3000, 20000)), kinds)
        files = in_files(rng, table, self.root, rng.choice((".parquet", ".arrow")))
        options = [f"--key={name}{rng.choice(('', ':desc'))}{rng.choice(('', '', ':nulls-first'))}"
                   for name in table.column_names[:rng.randint(1, 3)]]
        options += rng.choice(([], [], ["-u"])) + rng.choice(([], [], ["--compression=zstd:3"]))
        if rng.random() < 0.3:
            options += rng.choice(([], [f"--limit={rng.randrange(table.num_rows + 2)}"])) + \
                rng.choice(([], [f"--skip={rng.randrange(table.num_rows + 2)}"]))
        means = [rng.choice(("-S48M", "-S96M")), *rng.choice(([], ["--parallel=1"])),
                 *rng.choice(([], ["--temp-compress=lz4"]))]
        tables = self.sort_by_ranks(rng.randrange(1, 6), files, *options, *means)
        self.assert_as_alone(tables, files, *options)

    def test_sort_as_one_process_does(self):
        self.for_seeds(RANDOM_SORTS, self.sort_randomly)


class ColumnJoinTest(ColumnClusterTest):
    def assert_joined_as_alone(self, ranks, sides, *options, of_ranks=(), **how):
        """`sides`: what one process reads; `of_ranks`: what ranks do, if that is something else."""
        alone = f"alone{sides[0].suffix}"
        expected = self.join(*sides, *options, "--method=sort-merge", output=alone)
        (self.out / alone).unlink()
        arguments = [record_of(sides[0]), *(of_ranks or sides), *options]
        tables = self.by_ranks(ranks, *arguments, command="join", **how)
        self.assert_as(tables, expected, sides[0].suffix)
        counted = self.cluster(ranks, *arguments, "--count", command="join", **how)
        self.assertEqual((counted.returncode, counted.stderr, counted.stdout), (0, b"", b"%d\n" % expected.num_rows))
        self.assert_only_in_out()
        return tables


HOWS = ("inner", "left", "right", "full", "semi", "anti")
JOIN_KEYS = ("int8", "int32", "int64", "double", "bool", "date", "decimal", "string", "binary", "fixed", "dictionary", "dictionary")


class RandomColumnJoins(ColumnJoinTest):
    def side(self, rng, name, keys, rows, suffix):
        kinds = rng.sample(sorted(MAKERS), 2) + ["dictionary"] * rng.randrange(2) + rng.sample(sorted(PAYLOADS), 2)
        table = random_table(rng, rows, kinds).replace_schema_metadata({"who": f"side {name}"})
        table = table.rename_columns([f"{name} {column}" if rng.random() < 0.7 else column for column in table.column_names])
        for number, kind in enumerate(keys):
            table = table.add_column(rng.randrange(table.num_columns + 1), f"key {number}", random_table(rng, rows, [kind])[0])
        directory = self.root / f"{name}{suffix}"
        directory.mkdir()
        in_files(rng, table, directory, suffix)
        return directory

    def join_randomly(self, rng):
        keys = rng.choices(JOIN_KEYS, k=rng.randint(1, 3))
        few = rng.random() < 0.5  # rows: pairs of a key are as many as its rows in R times those in S
        suffix = rng.choice((".parquet", ".arrow"))
        sides = [self.side(rng, name, keys, rng.choice((0, 1, 3, 50, 300) if few else (0, 50, 600)), suffix) for name in "rs"]
        options = [*(f"--key=key {number}" for number in range(len(keys))), f"--how={rng.choice(HOWS)}",
                   *rng.choice(([], ["--suffixes=,_of_s"])), *rng.choice(([], ["--compression=zstd:3"])),
                   rng.choice(("-S48M", "-S96M")), *rng.choice(([], ["--parallel=1"]))]
        self.assert_joined_as_alone(rng.randrange(1, 6), sides, *options)
        subprocess.run(["rm", "-r", *sides], check=True)

    def test_join_as_one_process_does(self):
        self.for_seeds(RANDOM_SORTS // 2, self.join_randomly)


class ColumnJoins(ColumnJoinTest):
    def test_joins_larger_than_memory(self):
        rng = random.Random(1)
        rows = 300_000
        for suffix in (".parquet", ".arrow"):
            sides = []
            for name in "rs":
                keys = pa.array([rng.randrange(rows) for _ in range(rows)])
                table = pa.table({"key": keys, f"text {name}": [f"{i:0150}" for i in range(rows)],
                                  f"city {name}": pa.array([f"{name} {rng.randrange(3000)}" for _ in range(rows)]).dictionary_encode()})
                # The seed makes row groups of 1000 rows, of which -S has room for some.
                sides.append(write(table, self.root / f"{name}{suffix}", random.Random(11)))
            for apart in [False] + [True] * CAN_BE_APART:
                tables = self.assert_joined_as_alone(3, sides, "--key=key", "--how=full", "-S48M", apart=apart)
                sizes = [part.num_rows for part in tables]
                self.assertLess(max(sizes), 1.2 * min(sizes))

    def test_joins_of_a_key_that_all_rows_have(self):
        sides = [write(pa.table({"key": [1] * rows, name: [f"{i:0100}" for i in range(rows)]}), self.root / f"{name}.parquet")
                 for name, rows in (("r", 3), ("s", 60_000))]
        tables = self.assert_joined_as_alone(3, sides, "--key=key", "-S48M")
        self.assertEqual(sorted(part.num_rows for part in tables), [0, 0, 180_000])

    def test_joins_of_files_of_ranks(self):
        sides = [self.root / f"{name}.parquet" for name in "rs"]
        for side in sides:
            side.mkdir()
        for rank in range(3):
            for side, kinds in zip(sides, (["int32", "dictionary", "struct"], ["int64", "string", "dictionary"])):
                table = random_table(random.Random(f"{side.name}{rank}"), rank * 200, kinds)
                table = table.replace_schema_metadata({"who": f"{side.name} of rank {rank}"})
                write(table, side / f"{rank}.parquet", random.Random(rank))
        for of_ranks in ([sides[0] / "{rank}.parquet", sides[1]], [side / "{rank}.parquet" for side in sides]):
            self.assert_joined_as_alone(3, sides, "--left-on=1", "--left-on=2", "--right-on=1", "--right-on=2", "--how=full", of_ranks=of_ranks)
        write(table.rename_columns(["a", "b", "c", "row"]), sides[1] / "1.parquet")
        failed = self.cluster(3, "--record=parquet", "--key=1", *of_ranks, f"--output={self.out}/o/", command="join")
        self.assert_cluster_fails(failed, "rank 1 has another column 'a'")
        self.assert_only_in_out()


class Columns(ColumnClusterTest):
    def test_larger_than_memory(self):
        rng = random.Random(1)
        rows = 400_000
        table = pa.table({"key": pa.array([rng.randrange(1 << 40) for _ in range(rows)]),
                          "text": [f"{i:0200}" for i in range(rows)],
                          "city": pa.array([f"city {rng.randrange(3000)}" for _ in range(rows)]).dictionary_encode()})
        for suffix in (".parquet", ".arrow"):
            source = write(table, self.root / f"in{suffix}", random.Random(4), least_rows=5000)
            for apart in [False] + [True] * CAN_BE_APART:
                tables = self.sort_by_ranks(3, [source], "--key=key", "-S40M", apart=apart)
                sizes = [part.num_rows for part in tables]
                self.assertLess(max(sizes), 1.2 * min(sizes))
                self.assert_as_alone(tables, [source], "--key=key", "-S1G")

    def test_dictionaries_that_grow_beyond_their_indices(self):
        """No rank has more values than its indices count, all together have."""
        parts = []
        for number in range(4):
            values = pa.array([f"{number} {i}" for i in range(100)])
            indices = pa.array([i % 100 for i in range(1000)], pa.int8())
            parts.append(pa.record_batch({"d": pa.DictionaryArray.from_arrays(indices, values),
                                          "k": pa.array([i * 7 % 1000 for i in range(1000)])}))
        files = []
        for number, part in enumerate(parts):
            files.append(self.root / f"in{number}.arrow")
            with pa.ipc.new_file(files[-1], part.schema) as writer:
                writer.write_batch(part)
        for key in ("k", "d"):
            tables = self.sort_by_ranks(4, files, f"--key={key}")
            self.assertEqual(tables[0].schema.field("d").type.index_type, pa.int16())
            self.assert_as_alone(tables, files, f"--key={key}")

    def levels(self, suffix, *dictionaries, rows=500):
        """A file for each dictionary."""
        files = []
        for number, values in enumerate(dictionaries):
            indices = pa.array([i * 7 % len(values) for i in range(rows)], pa.int8())
            table = pa.table({"e": pa.DictionaryArray.from_arrays(indices, list(values), ordered=True), "k": list(range(rows))})
            files.append(write(table, self.root / f"in{number}{suffix}", random.Random(number)))
        return files

    def test_ordered_dictionaries(self):
        for suffix in (".parquet", ".arrow"):
            files = self.levels(suffix, *[["lo", "mid", "hi", "max"]] * 3)
            for keys in (["--key=e"], ["--key=e:desc", "--key=k:desc"], ["--key=k"]):
                tables = self.sort_by_ranks(3, files, *keys)
                self.assert_as_alone(tables, files, *keys)
                for table in filter(len, tables):
                    self.assertEqual(table["e"].chunk(0).dictionary.to_pylist(), ["lo", "mid", "hi", "max"])
        of_ranks = [self.root / "in{rank}.arrow"]
        self.assert_as_alone(self.sort_by_ranks(3, of_ranks, "--key=e"), files, "--key=e")
        for dictionaries, message in (((["lo", "hi"], ["hi", "lo"]), "has another order"),
                                      ((["lo", "hi"], ["lo", "mid", "hi"]), "has another order")):
            self.levels(".arrow", *dictionaries)
            self.assert_cluster_fails(self.cluster(2, "--record=arrow", "--key=e", *of_ranks, "-o", f"{self.out}/o/"), message)

    def test_timestamps_beyond_nanoseconds(self):
        times = pa.array([1 << 57, -(1 << 55), None, 0, 1] * 200, pa.timestamp("us"))
        pq.write_table(pa.table({"t": times, "k": list(range(1000))}), self.root / "in.parquet", row_group_size=100,
                       use_deprecated_int96_timestamps=True)
        tables = self.sort_by_ranks(3, [self.root / "in.parquet"], "--key=t", "--key=k")
        self.assert_as_alone(tables, [self.root / "in.parquet"], "--key=t", "--key=k")
        self.assertEqual(pa.concat_tables(tables)["t"].cast(pa.int64()).to_pylist()[::200], [-(1 << 55), 0, 1, 1 << 57, None])

    def test_one_batch_and_one_row_group_are_read_by_all(self):
        table = pa.table({"k": pa.array([i * 7919 % 100_003 for i in range(100_000)])})
        pq.write_table(table, self.root / "in.parquet", row_group_size=1 << 20)
        with pa.ipc.new_file(self.root / "in.arrow", table.schema) as writer:
            writer.write_table(table)
        for name in ("in.parquet", "in.arrow"):
            output = self.out / "o"
            done = self.cluster(4, record_of(self.root / name), "--key=k", "--stats=json", self.root / name, "-o", f"{output}/")
            self.assertEqual(done.returncode, 0, done.stderr)
            runs = [rank["runs"] for rank in json.loads(done.stderr)["ranks"]]
            self.assertEqual(min(runs), 1, runs)
            subprocess.run(["rm", "-r", output], check=True)

    def test_files_of_ranks(self):
        files = []
        for rank in range(3):
            table = random_table(random.Random(rank), rank * 500, ["int32", "dictionary", "struct"])
            table = table.replace_schema_metadata({"who": f"rank {rank}"})
            files.append(write(table, self.root / f"in{rank}.parquet", random.Random(rank)))
        tables = self.sort_by_ranks(3, [self.root / "in{rank}.parquet"], "--key=1", "--key=2:desc")
        self.assert_as_alone(tables, files, "--key=1", "--key=2:desc")
        for other, message in ((table.drop_columns(["row"]), "rank 2 has 3 columns, and rank 0 4"),
                               (table.rename_columns(["a", "b", "c", "row"]), "rank 2 has another column 'a'"),
                               (table.set_column(3, "row", pa.nulls(1000, pa.int32())), "rank 2 has another column 'row'")):
            write(other, files[2])
            self.assert_cluster_fails(self.cluster(3, "--record=parquet", "--key=1", self.root / "in{rank}.parquet",
                                                   "-o", f"{self.out}/o/"), message)
        self.assert_only_in_out()

    def test_a_limit_is_met_by_the_first_rank(self):
        table = pa.table({"k": pa.array(range(100_000)), "v": pa.array(range(100_000))})
        pq.write_table(table, self.root / "in.parquet", row_group_size=10_000)
        tables = self.sort_by_ranks(3, [self.root / "in.parquet"], "--key=k:desc", "--limit=50", "--skip=7")
        self.assertEqual([part.num_rows for part in tables], [50, 0, 0])
        self.assert_as_alone(tables, [self.root / "in.parquet"], "--key=k:desc", "--limit=50", "--skip=7")


class ColumnFailures(ColumnClusterTest):
    def parts(self, output):
        """All rows: where row groups end depends on when they were written."""
        manifest = json.loads((output / "_manifest.json").read_text())
        table = pa.concat_tables([read(output / part["file"]) for part in manifest["files"]])
        return [repr(table.to_pydict()).encode()]

    def test_what_cannot_be(self):
        write(pa.table({"k": [1, 2], "l": [[1], [2]]}), self.root / "in.parquet")
        write(pa.table({"k": [1, 2]}), self.root / "other.parquet")
        (self.root / "text.parquet").write_text("no table")
        directory = ["-o", f"{self.out}/o/"]
        for options, message in ((["--key=k", "in.parquet", "-o", self.out / "o"], "directory"),
                                 (["in.parquet", *directory], "need a --key"),
                                 (["--key=x", "in.parquet", *directory], "no column 'x'"),
                                 (["--key=l", "in.parquet", *directory], "list"),
                                 (["--key=k", "--count", "in.parquet", *directory], "--count"),
                                 (["--key=k", "in.parquet", "other.parquet", *directory], "columns"),
                                 (["--key=k", "in.parquet", "in{rank}.parquet", *directory], "{rank}"),
                                 (["--key=k", "text.parquet", *directory], "text.parquet"),
                                 (["--key=k", "nothing.parquet", *directory], "nothing.parquet"),
                                 (["--key=k", "--compression=lzma", "in.parquet", *directory], "lzma"),
                                 (["--key=k", "-S1M", "in.parquet", *directory], "too little")):
            with self.subTest(options=options):
                names = [self.root / option if str(option).endswith(".parquet") else option for option in options]
                self.assert_cluster_fails(self.cluster(3, "--record=parquet", *names), message)
        self.assert_only_in_out()

    def test_a_row_that_is_too_long(self):
        table = pa.table({"k": [3, 1, 2] * 100, "s": ["x" * (5 * MIB)] + ["y"] * 299})
        pq.write_table(table, self.root / "in.parquet", compression="none", use_dictionary=False)
        arguments = ("--record=parquet", "--key=k", self.root / "in.parquet", "-o", f"{self.out}/o/")
        done = self.cluster(2, *arguments, "-S60M")
        self.assert_cluster_fails(done, "too long")
        enough = re.search(rb"give at least (-S) (\w+)", done.stderr)
        self.assertEqual(self.cluster(2, *arguments, *map(os.fsdecode, enough.groups())).returncode, 0)

    def test_joins_that_cannot_be(self):
        write(pa.table({"k": [1, 2], "l": [[1], [2]]}), self.root / "r.parquet")
        write(pa.table({"k": ["a"], "k_right": [1]}), self.root / "s.parquet")
        directory = f"--output={self.out}/o/"
        for options, message in ((["--key=k", "r.parquet", "r.parquet", f"--output={self.out}/o"], "directory"),
                                 (["--key=k", "r.parquet", "r.parquet"], "no output"),
                                 (["r.parquet", "r.parquet", directory], "say what to join by"),
                                 (["--left-on=k", "r.parquet", "r.parquet", directory], "go together"),
                                 (["--key=l", "r.parquet", "s.parquet", directory], "the right side: there is no column 'l'"),
                                 (["--key=l", "r.parquet", "r.parquet", directory], "list"),
                                 (["--key=k", "r.parquet", "s.parquet", directory], "cannot be joined"),
                                 (["--left-on=1", "--right-on=2", "r.parquet", "s.parquet", "--suffixes=a,b", directory], "comma"),
                                 (["--key=k", "r.parquet", "nothing.parquet", directory], "nothing.parquet"),
                                 (["--key=k", "-i", "r.parquet", "r.parquet", directory], "lines only"),
                                 (["--key=k", "--method=hash", "r.parquet", "r.parquet", directory], "--method"),
                                 (["--key=k", "--count", "r.parquet", "r.parquet", directory], "excludes --output"),
                                 (["--key=k", "--compression=lzma", "r.parquet", "r.parquet", directory], "lzma"),
                                 (["--key=k", "-S1M", "r.parquet", "r.parquet", directory], "too little")):
            with self.subTest(options=options):
                names = [self.root / option if str(option).endswith(".parquet") else option for option in options]
                self.assert_cluster_fails(self.cluster(3, "--record=parquet", *names, command="join"), message)
        self.assert_only_in_out()

    def test_a_damaged_row_group(self):
        table = pa.table({"k": pa.array(range(50_000)), "s": [f"{i:060}" for i in range(50_000)]})
        path = self.root / "in.parquet"
        pq.write_table(table, path, row_group_size=10_000, compression="none", write_page_checksum=True, use_dictionary=False)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        self.assert_cluster_fails(self.cluster(4, "--record=parquet", "--key=k", path, "-o", f"{self.out}/o/"), "in.parquet.*row group")
        good = write(table, self.root / "good.parquet")
        for sides in ((path, good), (good, path)):
            failed = self.cluster(4, "--record=parquet", "--key=k", *sides, f"--output={self.out}/o/", command="join")
            self.assert_cluster_fails(failed, "in.parquet.*row group")
        self.assert_only_in_out()

    def test_a_rank_that_dies_ends_all(self):
        table = pa.table({"k": [i * 7919 % 300_007 for i in range(300_000)], "s": [str(i) * 10 for i in range(300_000)]})
        pq.write_table(table, self.root / "in.parquet")
        self.kill_many(["--record=parquet", "--key=k", "-S48M"], self.root / "in.parquet", ("o/",))

    def test_a_rank_of_a_join_that_dies_ends_all(self):
        table = pa.table({"k": [i * 7919 % 200_003 for i in range(200_000)], "s": [str(i) * 10 for i in range(200_000)]})
        pq.write_table(table, self.root / "in.parquet")
        self.kill_many(["--record=parquet", "--key=k", "-S64M", self.root / "in.parquet"], self.root / "in.parquet", ("o/",),
                       command="join")

    def test_full_disks(self):
        if not can_mount():
            self.skipTest("needs root, to mount")
        table = pa.table({"k": pa.array(range(200_000)), "s": [os.urandom(100) for i in range(200_000)]})
        source = write(table, self.root / "in.parquet", random.Random(3), least_rows=5000)
        with small_file_system(self.root / "small", 12) as small:
            arguments = ("--record=parquet", "--key=k", "-S40M", "--compression=none", source)
            self.assert_cluster_fails(self.cluster(3, *arguments, "-o", f"{small}/o/"), "small")
            self.wait_until_gone()
            self.assertEqual(list(small.iterdir()), [])
            self.scratch = small
            self.assert_cluster_fails(self.cluster(3, *arguments, "-o", f"{self.out}/o/"), "small")
            self.wait_until_gone()
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()

    def test_full_disks_of_joins(self):
        if not can_mount():
            self.skipTest("needs root, to mount")
        table = pa.table({"k": pa.array(range(200_000)), "s": [os.urandom(100) for i in range(200_000)]})
        source = write(table, self.root / "in.parquet", random.Random(3), least_rows=5000)
        with small_file_system(self.root / "small", 12) as small:
            arguments = ("--record=parquet", "--key=k", "-S48M", "--compression=none", source, source)
            for self.scratch, output in ((self.scratch, small), (small, self.out)):
                self.assert_cluster_fails(self.cluster(3, *arguments, f"--output={output}/o/", command="join"), "small")
                self.wait_until_gone()
                self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
