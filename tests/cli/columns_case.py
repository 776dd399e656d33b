"""What tests of Parquet and Arrow files have in common."""

import os
import random
import subprocess
import sys

import whole_process
from column_tables import read, record_of, texts, write

try:
    import duckdb
    import pyarrow as pa
except ImportError as error:
    duckdb = pa = None
    MISSING = str(error)

HOWS = ["inner", "left", "right", "full", "semi", "anti"]
SEEDS = range(int(os.environ.get("XXL_COLUMNS_SEEDS", "12")))  # more of them take longer


def module_is_there():
    done = subprocess.run([whole_process.XXL, "sort", "--record=parquet", "--key=x", "/dev/null"],
                          capture_output=True, check=False)
    return b"module" not in done.stderr


class ColumnsTest(whole_process.FaultTest):
    def setUp(self):
        super().setUp()
        if pa is None:
            self.skip(f"needs pyarrow and duckdb: {MISSING}")
        if not module_is_there():
            self.skip("the module for Parquet and Arrow files was not built")

    def skip(self, why):
        print(f"SKIPPED: columns: {why}", file=sys.stderr)
        self.skipTest(why)

    def run_command(self, *arguments, **options):
        return subprocess.run([whole_process.XXL, *arguments], capture_output=True, check=False,
                              timeout=whole_process.PATIENCE_SECONDS, **options)

    def sort(self, source, *arguments, output="out.parquet"):
        target = self.out / output
        done = self.run_xxl(record_of(source), source, "-o", target, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return read(target)

    def join(self, r, s, *arguments, output="out.parquet"):
        target = self.out / output
        done = self.run_command("join", "-T", self.scratch, record_of(r), r, s, f"--output={target}", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return read(target)

    def expect_full_disk(self, output, *options):
        if not whole_process.can_mount():
            self.skip("a small disk needs root")
        rng = random.Random(3)
        source = write(pa.table({"k": [rng.randbytes(100) for _ in range(100_000)]}), self.root / "in.parquet")
        with whole_process.small_file_system(self.root / "small", 4) as small:
            done = self.run_xxl("--record=parquet", "--key=k", source, *options, "-o", small / output)
            self.assert_fails(done, f"small/{output}.*No space left")
            self.assertEqual(list(small.iterdir()), [])

    def assert_same(self, actual, expected):
        self.assertEqual(actual.schema.remove_metadata(), expected.schema.remove_metadata())
        self.assertEqual(texts(actual), texts(expected))
