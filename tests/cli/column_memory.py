"""Parquet and Arrow files that are large for the memory (run by columns.py)."""

import json
import os
import random
import re
import subprocess

import whole_process
from column_tables import MAKERS, PAYLOADS, random_table, read, take, word
from columns_case import ColumnsTest
from whole_process import MIB

try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


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
                    done = self.run_command(*arguments, "-S", "48M")
                    self.assert_fails(done, f"{name}: batch 1: takes more memory than there is to read it: "
                                            r"give at least -S \d+M$")
                    advised = int(re.search(rb"-S (\d+)M$", done.stderr.strip())[1])
                    # Of a join, both sides may have a batch at once, or not.
                    little = [(advised * 3 // 4, 2)] if command == ["sort"] else []
                    for memory, status in [(advised, 0), *little]:
                        done = self.run_command(*arguments, "-S", f"{memory}M")
                        self.assertEqual(done.returncode, status, done.stderr)

    def check_advice(self, arguments, output):
        """What is said to be enough is, at once, and the program keeps to it."""
        done = self.run_command(*arguments, "-S", "4M")
        self.assert_fails(done, "would do")
        advised = int(re.search(rb"-S (\d+)M would do", done.stderr)[1])
        done = self.run_command(*arguments, "-S", f"{advised}M", "--stats=json", f"--output={output}")
        self.assertEqual(done.returncode, 0, done.stderr)
        stats = json.loads(done.stderr)
        if not whole_process.SANITIZED:
            self.assertLessEqual(stats["peak_memory_bytes"], advised * MIB + whole_process.MEMORY_CONSTANT)
        done = self.run_command(*arguments, "-S", f"{advised * 3 // 4}M")
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
