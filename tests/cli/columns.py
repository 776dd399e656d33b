#!/usr/bin/env python3
"""Sorts and joins of Parquet and Arrow files, compared with Python's sort and with DuckDB.

Needs pyarrow and duckdb (scripts/install_packages.sh --columns puts them into build-columns/venv) and a
program whose module was built; without one of them all is skipped, and a line says so.
"""

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time

import whole_process
from column_tables import (MAKERS, PAYLOADS, random_column, random_table, read, record_of, sorted_rows, take, texts,
                           word, write)
from column_damage import Damage
from column_parts import Parts
from column_types import Directories, Int96, Orders, Types
from columns_case import HOWS, SEEDS, ColumnsTest
from tampered_case import TamperedTest
from whole_process import MIB

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet as pq
except ImportError:
    pa = None


class Verified(ColumnsTest, TamperedTest):
    """--verify finds each fault of a write to the output."""

    def source(self, suffix):
        rng = random.Random(1)
        return write(random_table(rng, 3000, sorted(MAKERS)), self.root / f"in{suffix}", rng)

    def test_files(self):
        for suffix in (".parquet", ".arrow"):
            with self.subTest(suffix=suffix):
                source = self.source(suffix)
                self.expect_all_found(["sort", record_of(source), "--key=row", source])
                self.file.unlink()

    def test_parts(self):
        source = self.source(".parquet")
        self.expect_all_found(["sort", record_of(source), "--key=row", "--parts=3", source], old=None)

    def test_joins(self):
        source = self.source(".parquet")
        self.expect_all_found(["join", record_of(source), "--key=row", source, source])


class Sort(ColumnsTest):
    def test_random_tables(self):
        for seed in SEEDS:
            for suffix in (".parquet", ".arrow", ".arrows"):
                with self.subTest(seed=seed, suffix=suffix):
                    self.check_random(random.Random(f"{seed}{suffix}"), suffix)

    def check_random(self, rng, suffix):
        kinds = rng.sample(sorted(MAKERS), 3) + rng.sample(sorted(PAYLOADS), 2)
        table = random_table(rng, rng.choice([0, 1, 200, 3000]), kinds)
        keys = [(rng.random() < 0.5, rng.random() < 0.3) for _ in range(rng.randint(1, 3))]
        names = table.column_names[:len(keys)]
        options = [f"--key={name}{':desc' if down else ''}{':nulls-first' if first else ''}"
                   for name, (down, first) in zip(names, keys)]
        order = sorted_rows([table[name].to_pylist() for name in names], keys)
        if rng.random() < 0.3:
            skip = rng.choice([1, 10, 5000])
            options.append(f"--skip={skip}")
            order = order[skip:]
        if rng.random() < 0.3:
            limit = rng.choice([0, 1, 10, 5000])
            options.append(f"--limit={limit}")
            order = order[:limit]
        source = write(table, self.root / f"in{suffix}", rng)
        result = self.sort(source, *options, output=f"out{suffix}")
        self.assert_same(result, take(table, order))
        self.assertEqual(result.schema.metadata[b"who"], b"the test")

    def test_in_little_memory_with_runs_on_disk(self):
        rng = random.Random(1)
        rows = 300_000
        table = pa.table({"key": pa.array([rng.randrange(1000) for _ in range(rows)], pa.int32()),
                          "text": [f"{i:0120}" for i in range(rows)]})
        source = write(table, self.root / "in.parquet")
        for compress in ("none", "lz4", "zstd:3"):
            result = self.sort(source, "--key=key:desc", "-S", "64M", f"--temp-compress={compress}")
            order = sorted_rows([table["key"].to_pylist()], [(True, False)])
            self.assertTrue(result.equals(take(table, order)))

    def test_unique_keeps_the_first_row_of_each_key(self):
        table = pa.table({"k": [3, 1, 3, None, 1, None], "v": list("abcdef")})
        source = write(table, self.root / "in.parquet")
        self.assert_same(self.sort(source, "-u", "--key=k"), pa.table({"k": [1, 3, None], "v": list("bad")}))

    def test_columns_by_number_and_reversed(self):
        table = pa.table({"7": [1, 2, 3], "a:b": ["x", "z", "y"]})
        source = write(table, self.root / "in.parquet")
        self.assert_same(self.sort(source, "--key=2"), table.take([0, 2, 1]))
        self.assert_same(self.sort(source, '--key="a:b":desc'), table.take([1, 2, 0]))
        self.assert_same(self.sort(source, '--key="7"', "-r"), table.take([2, 1, 0]))
        self.assert_same(self.sort(source, '--key="7":asc', "-r"), table)

    def test_several_files_directories_and_patterns(self):
        parts = self.root / "parts"
        (parts / "b").mkdir(parents=True)
        for i, name in enumerate(["2.parquet", "10.parquet", "b/1.parquet"]):
            write(pa.table({"k": pa.array([0] * 3), "from": [i] * 3}), parts / name)
        (parts / "_SUCCESS").write_bytes(b"")
        (parts / "readme.txt").write_bytes(b"no table")
        for arguments, order in [([parts / "2.parquet", parts / "10.parquet"], [0, 0, 0, 1, 1, 1]),
                                 ([f"{parts}/*.parquet"], [1, 1, 1, 0, 0, 0]),
                                 ([parts], [1, 1, 1, 0, 0, 0, 2, 2, 2])]:
            target = self.out / "out.parquet"
            done = self.run_xxl("--record=parquet", "--key=k", *arguments, "-o", target)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(read(target)["from"].to_pylist(), order)
        self.assert_fails(self.run_xxl("--record=parquet", "--key=k", f"{parts}/*.pq"), "no file fits")

    def test_the_output_may_be_the_input(self):
        source = write(pa.table({"k": [2, 1]}), self.root / "in.parquet")
        done = self.run_xxl("--record=parquet", "--key=k", source, "-o", source)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(read(source)["k"].to_pylist(), [1, 2])


class Pipes(ColumnsTest):
    def test_streams_and_files_through_pipes(self):
        table = random_table(random.Random(4), 3000, ["int32", "string", "dictionary", "list"])
        order = sorted_rows([table["int32 0"].to_pylist()], [(False, False)])
        for name in ("in.arrow", "in.arrows"):
            source = write(table, self.root / name, random.Random(2))
            done = subprocess.run(["sh", "-c", f"cat '{source}' | '{whole_process.XXL}' sort -T '{self.scratch}' "
                                   "--record=arrow --key='int32 0' | cat"], capture_output=True, check=False)
            self.assertEqual(done.stderr, b"")
            self.assert_same(pa.ipc.open_stream(done.stdout).read_all(), take(table, order))

    def test_damaged_streams(self):
        source = write(pa.table({"k": list(range(1000))}), self.root / "in.arrows")
        whole = source.read_bytes()
        file = write(pa.table({"k": list(range(1000))}), self.root / "in.arrow").read_bytes()
        for content, message in [(b"", "is empty"), (whole + whole, "more follows"), (whole[:500], "batch|-"),
                                 (file[:-20], "ends too early|batch")]:
            done = self.run_xxl("--record=arrow", "--key=k", "-o", self.out / "x.arrow", input=content)
            self.assert_fails(done, message)
            self.assert_only_in_out()

    def test_parquet_goes_to_a_pipe_but_does_not_come_from_one(self):
        source = write(pa.table({"k": [2, 1]}), self.root / "in.parquet")
        done = self.run_xxl("--record=parquet", "--key=k", source)
        self.assertEqual(pq.read_table(pa.BufferReader(done.stdout))["k"].to_pylist(), [1, 2])
        with open(source, "rb") as file:
            self.assertEqual(self.run_xxl("--record=parquet", "--key=k", stdin=file).returncode, 0)
        self.assert_fails(self.run_xxl("--record=parquet", "--key=k", input=source.read_bytes()), "pipe")

    def test_a_reader_that_goes_away_ends_it(self):
        source = write(pa.table({"k": list(range(1_000_000))}), self.root / "in.arrow")
        done = subprocess.run(["bash", "-c", f"'{whole_process.XXL}' sort -T '{self.scratch}' --record=arrow --key=k "
                               f"'{source}' | head -c 10 > /dev/null; echo ${{PIPESTATUS[0]}}"],
                              capture_output=True, check=False)
        self.assertEqual((done.stdout, done.stderr), (b"141\n", b""))


class Output(ColumnsTest):
    def test_metadata_of_parquet(self):
        fields = [pa.field("k", pa.int32(), metadata={"PARQUET:field_id": "7"}), pa.field("t", pa.string())]
        table = pa.table([pa.array([3, None, 1]), pa.array(["x", "y", "z"])], schema=pa.schema(fields, {"a": "b"}))
        source = write(table, self.root / "in.parquet")
        self.sort(source, "--key=t:desc:nulls-first", "--key=k", "--compression=gzip:9")
        metadata = pq.read_metadata(self.out / "out.parquet")
        group = metadata.row_group(0)
        self.assertEqual(group.sorting_columns,
                         (pq.SortingColumn(1, descending=True, nulls_first=True), pq.SortingColumn(0)))
        self.assertEqual(group.column(0).compression, "GZIP")
        self.assertEqual(metadata.schema.to_arrow_schema().field("k").metadata, {b"PARQUET:field_id": b"7"})
        self.assertEqual(metadata.metadata[b"a"], b"b")

    def test_compressions(self):
        table = pa.table({"k": ["a" * 100] * 1000})
        for suffix, methods in [(".parquet", ["zstd", "zstd:9", "snappy", "lz4", "gzip", "none"]),
                                (".arrow", ["zstd:3", "lz4", "none"])]:
            source = write(table, self.root / f"in{suffix}")
            for method in methods:
                self.assert_same(self.sort(source, "--key=k", f"--compression={method}", output=f"o{suffix}"), table)
        for method in ("snappy:3", "zstd:99", "brotli", "lz4:x"):
            self.assert_fails(self.run_xxl("--record=parquet", "--key=k", source, f"--compression={method}"),
                              "compression")
        self.assert_fails(self.run_xxl("--record=arrow", "--key=k", source, "--compression=gzip"), "zstd, lz4 or none")

    def test_row_groups_end_with_rows_or_memory(self):
        rows = 1_200_000
        source = write(pa.table({"k": pa.array(range(rows), pa.int32())}), self.root / "in.parquet")
        self.sort(source, "--key=k")
        metadata = pq.read_metadata(self.out / "out.parquet")
        self.assertEqual([metadata.row_group(i).num_rows for i in range(2)], [1 << 20, rows - (1 << 20)])

    def test_an_existing_output_survives_a_failure(self):
        rng = random.Random(1)
        source = self.root / "in.parquet"
        pq.write_table(pa.table({"k": [rng.randbytes(1000) for _ in range(1000)]}), source, use_dictionary=False,
                       write_page_checksum=True)
        damaged = bytearray(source.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        source.write_bytes(damaged)
        target = self.out / "out.parquet"
        target.write_bytes(b"old")
        done = self.run_xxl("--record=parquet", "--key=k", source, "-o", target)
        self.assert_fails(done, "in.parquet: row group 0: column k: ")
        self.assertEqual(target.read_bytes(), b"old")
        self.assert_only_in_out("out.parquet")

    def test_nothing_is_left_when_it_is_killed(self):
        source = write(pa.table({"k": [f"{i * 7919 % 1000003:0100}" for i in range(500_000)]}), self.root / "in.parquet")
        target = self.out / "out.parquet"
        target.write_bytes(b"old")
        for bytes_before in (1 * MIB, 20 * MIB, 60 * MIB):
            with subprocess.Popen(self.command("--record=parquet", "--key=k", "-S", "64M", source, "-o", target)) as job:
                whole_process.wait_until(
                    job, lambda: whole_process.bytes_transferred(job.pid) > bytes_before)
                job.send_signal(signal.SIGKILL)
            self.assertEqual(target.read_bytes(), b"old")
            self.assert_only_in_out("out.parquet")

    def test_a_full_disk_is_an_error(self):
        self.expect_full_disk("out.parquet")


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
        self.assert_same(self.join(r, s, "--key1=id", "--key2=user"),
                         pa.table({"id": [2, 2], "x": ["b", "b"], "x_right": ["c", "d"]}))
        self.assertEqual(self.join(r, s, "--key1=1", "--key2=1", "--suffixes=,2").column_names, ["id", "x", "x2"])

    def test_methods(self):
        """Which one was used, and what the footer says of the order."""
        left, right = pa.table({"id": [3, 1, None, 2, 1]}), pa.table({"id": [1, 2, 3], "x": ["a", "b", "c"]})
        r, s = write(left, self.root / "r.parquet"), write(right, self.root / "s.parquet")
        for method, ids in (("hash", [3, 1, 2, 1]), ("sort-merge", [1, 1, 2, 3])):
            target = self.out / "out.parquet"
            done = subprocess.run([whole_process.XXL, "join", "--record=parquet", "--key=id", f"--method={method}", r, s,
                                   f"--output={target}", "--stats=json"], capture_output=True, check=False)
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
        done = subprocess.run([whole_process.XXL, "join", "--record=parquet", "--key=id", r, s,
                               f"--output={self.out / 'out.parquet'}"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), r"^xxl: join: .*r\.parquet: row group \d+: column id: .*\n$")
        self.assertEqual(list(self.out.iterdir()), [])

    def test_counted(self):
        r = write(pa.table({"id": [1, 2, 2]}), self.root / "r.parquet")
        done = subprocess.run([whole_process.XXL, "join", "--record=parquet", "--key=id", "--count", r, r],
                              capture_output=True, check=False)
        self.assertEqual((done.stdout, done.stderr), (b"5\n", b""))


class OtherForms(ColumnsTest):
    """Text in dictionaries and views: it keeps its type, and is sorted and joined as fast as plain text."""

    ROWS = 60_000

    def tables(self):
        rng = random.Random(10)
        texts = [f"a text of more than twelve bytes: {i % (self.ROWS // 2)}" for i in range(self.ROWS)]
        keys = list(range(self.ROWS))
        rng.shuffle(keys)
        plain = pa.table({"k": keys, "text": texts, "in struct": [{"t": text} for text in texts]})
        dictionary = pa.dictionary(pa.int32(), pa.string())
        yield "plain", plain
        yield "dictionary", plain.set_column(1, "text", plain["text"].combine_chunks().dictionary_encode()).set_column(
            2, "in struct", pa.StructArray.from_arrays(
                [pa.array(texts).dictionary_encode()], fields=[pa.field("t", dictionary)]))
        yield "view", plain.set_column(1, "text", plain["text"].cast(pa.string_view()))

    def seconds(self, arguments, target):
        """Of processors: the least of two runs."""
        least = math.inf
        for _ in range(2):
            before = os.times()
            done = subprocess.run([whole_process.XXL, *arguments, f"--output={target}"], capture_output=True,
                                  check=False, timeout=whole_process.PATIENCE_SECONDS)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            after = os.times()
            least = min(least, after.children_user - before.children_user)
        return least

    def check(self, suffix, arguments_of, order_of):
        plain_seconds = None
        for name, table in self.tables():
            if suffix != ".parquet" and name == "dictionary":
                continue  # has one in the file
            path = self.root / f"{name}{suffix}"
            if suffix == ".parquet":
                pq.write_table(table, path)
            else:
                with pa.ipc.new_file(path, table.schema) as writer:
                    writer.write_table(table.combine_chunks())
            target = self.out / f"{name}{suffix}"
            seconds = self.seconds(arguments_of(path), target)
            actual = read(target)
            self.assertEqual(actual.schema.remove_metadata(), table.schema.remove_metadata())
            self.assertEqual(actual["text"].to_pylist(), order_of(table))
            if plain_seconds is None:
                plain_seconds = seconds
            elif not whole_process.SANITIZED:
                self.assertLess(seconds, 3 * plain_seconds + 0.2, name)  # it was 50 times as much

    def test_sorts(self):
        for suffix in (".parquet", ".arrow"):
            for key in ("k", "text"):
                with self.subTest(suffix=suffix, key=key):
                    rank = (lambda row: row[0]) if key == "k" else (lambda row: row[1].encode())
                    self.check(suffix, lambda path: ["sort", record_of(path), f"--key={key}", path],
                               lambda table: [text for _, text in sorted(
                                   zip(table["k"].to_pylist(), table["text"].to_pylist()), key=rank)])

    def test_joins(self):
        keys = self.root / "keys.parquet"
        pq.write_table(pa.table({"k": pa.array(range(100))}), keys)
        self.check(".parquet", lambda path: ["join", "--record=parquet", "--key=k", path, keys],
                   lambda table: [text for k, text in zip(table["k"].to_pylist(), table["text"].to_pylist())
                                  if k < 100])


class Reports(ColumnsTest):
    """--stats and --progress say of columns what they say of other records."""

    def table_larger_than_memory(self):
        rows = 300_000
        rng = random.Random(3)
        table = pa.table({"k": pa.array([rng.randrange(1 << 40) for _ in range(rows)]),
                          "v": [f"{i:0200}" for i in range(rows)]})
        source = self.root / "in.parquet"
        pq.write_table(table, source, row_group_size=30_000)
        return source

    def stats_of(self, *arguments, verb="sort"):
        target = self.out / "out.parquet"
        command = [whole_process.XXL, verb, "-T", self.scratch, "--record=parquet", "--key=k", *arguments,
                   f"--output={target}"]
        done = subprocess.run([*command, "--stats=json"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = subprocess.run([*command, "--stats"], capture_output=True, check=True).stderr
        stats = json.loads(done.stderr)
        scratch = re.search(rb"^scratch: +(.*) at most$", table, re.MULTILINE)[1]
        self.assertEqual(scratch == b"0 B", stats["scratch_bytes"] == 0)
        self.assertEqual([phase["name"].encode() in table for phase in stats["phases"]], [True] * len(stats["phases"]))
        return stats, {phase["name"]: phase for phase in stats["phases"]}

    def test_scratch_and_work_of_a_sort(self):
        source = self.table_larger_than_memory()
        size = 300_000 * 200
        stats, phases = self.stats_of("-S", "40M", source)
        self.assertEqual(list(phases), ["form runs", "merge", "finish"])
        self.assertGreater(stats["scratch_bytes"], size)
        self.assertEqual([each["directory"] for each in stats["scratch"]], [str(self.scratch)])
        written = sum(phase["bytes_written"] for phase in stats["phases"])
        self.assertEqual(written, stats["scratch"][0]["bytes_written"] + stats["bytes_written"])
        self.assertGreater(phases["form runs"]["bytes_written"], size // 2)
        self.assertGreater(phases["form runs"]["bytes_read"], stats["inputs"][0]["file_bytes"] // 2)
        self.assertGreater(phases["merge"]["bytes_read"], size)
        for name in ("form runs", "merge"):
            self.assertGreater(phases[name]["worker_busy_seconds"], 0)
        stats, phases = self.stats_of("-S", "400M", "--verify", source)
        self.assertEqual(list(phases), ["form runs", "merge", "finish", "verify"])
        self.assertEqual(stats["scratch_bytes"], 0)
        self.assertEqual(phases["verify"]["bytes_read"], stats["bytes_written"])

    def test_scratch_and_work_of_a_join(self):
        source = self.table_larger_than_memory()
        stats, phases = self.stats_of("-S", "60M", "--method=sort-merge", source, source, verb="join")
        self.assertEqual(list(phases), ["form runs of S", "form runs of R", "join", "finish"])
        self.assertGreater(stats["scratch_bytes"], 2 * 300_000 * 200)
        self.assertGreater(phases["join"]["worker_busy_seconds"], 0)
        stats, phases = self.stats_of("-S", "600M", source, source, verb="join")
        self.assertEqual(list(phases), ["build", "probe", "finish"])
        self.assertEqual(stats["scratch_bytes"], 0)
        read = sum(phase["bytes_read"] for phase in stats["phases"])
        self.assertGreater(read, sum(each["file_bytes"] for each in stats["inputs"]) // 2)

    def test_progress_has_a_total(self):
        command = self.command("--record=parquet", "--key=k", "-S", "40M", "--progress=always",
                               self.table_larger_than_memory(), "-o", self.out / "out.parquet")
        with subprocess.Popen(command, stderr=subprocess.PIPE) as job:
            while job.poll() is None:  # is stopped often, so that the line is shown on a machine of any speed
                time.sleep(0.02)
                job.send_signal(signal.SIGSTOP)
                time.sleep(0.3)
                job.send_signal(signal.SIGCONT)
            stderr = job.stderr.read()
        self.assertEqual(job.returncode, 0, stderr)
        shown = re.findall(rb"xxl: forming runs: ([^,\r]*)", stderr)
        self.assertTrue(shown)
        for each in shown:
            self.assertRegex(each, rb"^(\d|\d\d|100)% of (59|6\d)\.\d MiB$")


class Memory(ColumnsTest):
    def test_a_row_group_larger_than_memory_is_read_in_slices(self):
        source = self.root / "in.parquet"
        rng = random.Random(8)
        texts = [rng.randbytes(200).hex() for _ in range(1000)]
        rows = 600_000
        table = pa.table({"k": pa.array([rng.randrange(1 << 40) for _ in range(rows)]),
                          "v": [texts[i % 1000] + str(i) for i in range(rows)]})
        pq.write_table(table, source, row_group_size=rows, use_dictionary=False)
        target = self.out / "out.parquet"
        done = self.run_xxl("--record=parquet", "--key=k", "-S", "96M", "--stats=json", source, "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(done.stderr)
        self.assertLessEqual(stats["peak_file_memory_bytes"], stats["file_memory_bytes"])
        if not whole_process.SANITIZED:
            self.assertLessEqual(stats["peak_memory_bytes"], 96 * MIB + whole_process.MEMORY_CONSTANT)
        self.assertGreater(stats["row_groups"], 1)
        self.assertEqual(read(target).num_rows, rows)

    def test_metadata_larger_than_memory(self):
        rows = 8_000
        table = pa.table({name: pa.array(range(rows, 0, -1), pa.int32()) for name in "kvwxyz"})
        path = self.root / "in.parquet"
        pq.write_table(table, path, row_group_size=1)
        arguments = ["--record=parquet", "--key=k", "--stats=json", "-o", self.out / "out.parquet", path]
        done = self.run_xxl("-S", "32M", *arguments)
        self.assert_fails(done, "in.parquet: metadata of .* MiB in memory: .*larger -S")
        done = self.run_xxl("-S", "180M", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(done.stderr)
        self.assertLessEqual(stats["peak_file_memory_bytes"], stats["file_memory_bytes"])
        if not whole_process.SANITIZED:
            self.assertLessEqual(stats["peak_memory_bytes"], 180 * MIB + whole_process.MEMORY_CONSTANT)
        self.assertEqual(read(self.out / "out.parquet")["k"].to_pylist(), list(range(1, rows + 1)))

    def test_compressed_batches_are_told_with_the_memory_that_is_enough(self):
        rows = 150_000
        table = pa.table({"k": pa.array(range(rows, 0, -1)), "v": [f"{i:0200}" for i in range(rows)]})
        batch = table.combine_chunks().to_batches()[0]
        for name, opened, method in [("zstd.arrow", pa.ipc.new_file, "zstd"), ("lz4.arrows", pa.ipc.new_stream, "lz4")]:
            source = self.root / name
            with opened(source, table.schema, options=pa.ipc.IpcWriteOptions(compression=method)) as writer:
                writer.write_batch(batch.slice(0, 100))
                writer.write_batch(batch)
            for command, extra in ([["sort"], [source]], [["join"], [source, source]]):
                with self.subTest(name=name, command=command):
                    arguments = [*command, "--record=arrow", "--key=k", *extra, f"--output={self.out / 'out.arrow'}"]
                    done = subprocess.run([whole_process.XXL, *arguments, "-S", "48M"], capture_output=True, check=False)
                    self.assert_fails(done, f"{name}: batch 1: takes more memory than there is to read it: "
                                            r"give at least -S \d+M$")
                    advised = int(re.search(rb"-S (\d+)M$", done.stderr.strip())[1])
                    # Of a join, both sides may have a batch at once, or not.
                    little = [(advised * 3 // 4, 2)] if command == ["sort"] else []
                    for memory, status in [(advised, 0), *little]:
                        done = subprocess.run([whole_process.XXL, *arguments, "-S", f"{memory}M"], capture_output=True,
                                              check=False)
                        self.assertEqual(done.returncode, status, done.stderr)

    def check_advice(self, arguments, output):
        """What is said to be enough is, at once, and the program keeps to it."""
        done = subprocess.run([whole_process.XXL, *arguments, "-S", "4M"], capture_output=True, check=False)
        self.assert_fails(done, "would do")
        advised = int(re.search(rb"-S (\d+)M would do", done.stderr)[1])
        done = subprocess.run([whole_process.XXL, *arguments, "-S", f"{advised}M", "--stats=json", f"--output={output}"],
                              capture_output=True, check=False, timeout=whole_process.PATIENCE_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(done.stderr)
        if not whole_process.SANITIZED:
            self.assertLessEqual(stats["peak_memory_bytes"], advised * MIB + whole_process.MEMORY_CONSTANT)
        done = subprocess.run([whole_process.XXL, *arguments, "-S", f"{advised * 3 // 4}M"], capture_output=True,
                              check=False)
        self.assert_fails(done, "would do")
        return advised

    def test_advice_for_large_values(self):
        path = self.root / "in.parquet"
        large = os.urandom(15 * MIB).hex()
        for values, kind in [(["x", large, "y"], pa.string()), ([large, "", large, "z", large], pa.large_string()),
                             ([large[:MIB] + str(i) for i in range(60)], pa.string())]:
            for use_dictionary in (False, True):
                table = pa.table({"k": list(range(len(values), 0, -1)), "v": pa.array(values, kind)})
                pq.write_table(table, path, use_dictionary=use_dictionary)
                target = self.out / "out.parquet"
                self.check_advice(["sort", "--record=parquet", "--key=k", path], target)
                self.assert_same(read(target), take(table, range(len(values) - 1, -1, -1)))

    def test_advice_for_large_pages(self):
        path = self.root / "in.parquet"
        duckdb.sql(f"""COPY (SELECT (i * 7919) % 200000 AS k, repeat(md5(i::varchar), 10) AS v FROM range(200000) t(i))
                       TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 200000, COMPRESSION zstd)""")
        target = self.out / "out.parquet"
        advised = self.check_advice(["sort", "--record=parquet", "--key=k", path], target)
        self.assertLess(advised, 300)  # a page of 64 MB
        self.assertEqual(read(target)["k"].to_pylist(), list(range(200000)))

    def test_advice_for_large_dictionaries(self):
        rng = random.Random(2)
        path = self.root / "in.parquet"
        values = [f"{rng.randrange(1 << 60):015x}" * 13 for _ in range(80_000)]
        pq.write_table(pa.table({"k": rng.sample(range(len(values)), len(values)), "v": values}), path,
                       dictionary_pagesize_limit=20 * MIB)
        for how in ("inner", "full"):  # which reads both sides at the same time
            self.check_advice(["join", "--record=parquet", "--key=k", "--how=" + how, path, path],
                              self.out / f"{how}.parquet")

    def test_wide_tables(self):
        rng = random.Random(11)
        rows, columns = 9_000, 460
        table = {"k": pa.array(rng.sample(range(rows), rows))}
        for i in range(columns):
            numbers = [rng.randrange(1 << 40) for _ in range(100)]
            table[f"c{i}"] = pa.array([f"v{numbers[(i + row) % 100]}" if i % 2 else row * numbers[row % 100] % (1 << 40)
                                       for row in range(rows)])
        path = self.root / "in.parquet"
        pq.write_table(pa.table(table), path, row_group_size=3_000)
        self.check_advice(["sort", "--record=parquet", "--key=k", path], self.out / "out.parquet")
        self.check_advice(["join", "--record=parquet", "--key=k", path, path], self.out / "joined.parquet")

    def test_a_batch_larger_than_memory(self):
        rows = 4_000_000
        table = pa.table({"k": pa.array(range(rows, 0, -1), pa.int64()), "v": pa.array(range(rows), pa.int64())})
        for name, make, compression in [("in.arrow", pa.ipc.new_file, None), ("in.arrows", pa.ipc.new_stream, None),
                                        ("packed.arrow", pa.ipc.new_file, "lz4")]:
            path = self.root / name
            with make(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                writer.write_table(table)
            arguments = ["--record=arrow", "--key=k", "-S", "48M", "--stats=json", "-o", self.out / name]
            done = self.run_xxl(*arguments, path)
            if compression:
                self.assert_fails(done, f"{name}: batch 0: .*give at least -S \\d+M")
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            stats = json.loads(done.stderr)
            self.assertLessEqual(stats["peak_file_memory_bytes"], stats["file_memory_bytes"])
            if not whole_process.SANITIZED:
                self.assertLessEqual(stats["peak_memory_bytes"], 48 * MIB + whole_process.MEMORY_CONSTANT)
            self.assertEqual(read(self.out / name)["v"].to_pylist(), list(range(rows - 1, -1, -1)))
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as pipe:
                done = self.run_xxl(*arguments, stdin=pipe.stdout)
            self.assert_fails(done, "-: batch 0: .*larger -S")

    def test_large_batches_of_all_types(self):
        rows = 30_000
        rng = random.Random(9)
        kinds = sorted(MAKERS) + sorted(PAYLOADS)
        table = random_table(rng, rows, kinds)
        table = table.append_column("list of text", pa.array([[word(rng), None] for _ in range(rows)]))
        table = table.append_column("pairs", pa.array([[i, None] for i in range(rows)], pa.list_(pa.int32(), 2)))
        for suffix in (".arrow", ".arrows"):
            path = self.root / f"in{suffix}"
            make = pa.ipc.new_stream if suffix == ".arrows" else pa.ipc.new_file
            with make(path, table.schema) as writer:
                writer.write_batch(table.combine_chunks().to_batches()[0])
            self.assertGreater(path.stat().st_size, 5 << 20)
            self.assert_same(self.sort(path, "--key=row", "-S", "40M", output=f"out{suffix}"), table)
            whole = path.read_bytes()
            for _ in range(10):
                damaged = bytearray(whole)
                for _ in range(20):
                    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
                path.write_bytes(damaged)
                done = self.run_xxl("--record=arrow", "--key=row", path, "-o", self.out / "damaged.arrow")
                self.assertIn(done.returncode, (0, 2), done.stderr)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
