#!/usr/bin/env python3
"""Sorts and joins of Parquet and Arrow files, compared with Python's sort and with DuckDB.

Needs pyarrow and duckdb (scripts/install_packages.sh --columns puts them into build-columns/venv) and a
program whose module was built; without one of them all is skipped, and a line says so.
"""

import math
import os
import random
import signal
import subprocess
import sys

import whole_process
from column_damage import Damage
from column_joins import Join
from column_limits import Limit
from column_memory import Memory
from column_parts import Parts, TextForOthers
from column_reports import Reports
from column_tables import MAKERS, PAYLOADS, random_table, read, record_of, sorted_rows, take, texts, write
from column_types import Directories, Int96, Orders, Types
from columns_case import SEEDS, ColumnsTest
from tampered_case import TamperedTest
from whole_process import MIB

try:
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
            done = self.run_command(*arguments, f"--output={target}")
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


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
