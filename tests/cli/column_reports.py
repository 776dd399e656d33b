"""Reports and progress of sorts and joins of Parquet files (run by columns.py)."""

import json
import random
import re
import signal
import subprocess
import time

from columns_case import ColumnsTest

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


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
        command = [verb, "-T", self.scratch, "--record=parquet", "--key=k", *arguments, f"--output={target}"]
        done = self.run_command(*command, "--stats=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.run_command(*command, "--stats").stderr
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
        self.assertEqual(list(phases), ["form right runs", "form left runs", "join", "finish"])
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
