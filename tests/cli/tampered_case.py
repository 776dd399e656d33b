"""What tests of --verify have in common: each fault of a write to the output is found (tampered_writes.c)."""

import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import whole_process

FAULTS = ("flip", "lose", "misplace", "tear")
TRIES = int(os.environ.get("XXL_TAMPERED", "2"))  # of each fault
OLD = b"old content\n"


class TamperedTest(whole_process.FaultTest):
    @classmethod
    def setUpClass(cls):
        if whole_process.SANITIZED or shutil.which("cc") is None:
            raise cls.skipTest(cls, "needs cc, and a program that is not sanitized")
        directory = tempfile.TemporaryDirectory(prefix="xxl-tamper-")
        cls.addClassCleanup(directory.cleanup)
        cls.preloaded = pathlib.Path(directory.name) / "tampered_writes.so"
        source = pathlib.Path(__file__).parent / "tampered_writes.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", cls.preloaded, source, "-ldl"], check=True)

    def setUp(self):
        super().setUp()
        self.random = random.Random(self.id())
        self.file = self.out / "file"
        self.writes = self.root / "writes"

    def run_tampered(self, command, fault, number, *, below=None):
        self.writes.unlink(missing_ok=True)
        return subprocess.run(
            [whole_process.XXL, *command], capture_output=True, check=False, timeout=whole_process.PATIENCE_SECONDS,
            env={**os.environ, "LC_ALL": "C", "LD_PRELOAD": str(self.preloaded), "TMPDIR": str(self.scratch),
                 "TAMPER_DIRECTORY": str(below or self.out), "TAMPER_FAULT": fault, "TAMPER_AT": str(number),
                 "TAMPER_COUNT": str(self.writes)})

    def content(self):
        """Of the output, a file or a directory."""
        if self.file.is_dir():
            return {path.relative_to(self.file): path.read_bytes() for path in self.file.rglob("*") if path.is_file()}
        return self.file.read_bytes()

    def expect_all_found(self, command, *, old=OLD, below=None, copied=False, always=False):
        """`command` writes to self.file. `old`: what is there before, or None. `always`: --verify or not."""
        command = [*command, "-T", self.scratch, "--io=threads", f"--output={self.file}"]

        def prepare():
            if self.file.is_dir():
                shutil.rmtree(self.file)
            if old is not None:
                self.file.write_bytes(old)

        prepare()
        done = self.run_tampered([*command, "--verify"], "none", 0, below=below)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        expected = self.content()
        writes = self.writes.stat().st_size
        found = 0
        for fault in FAULTS:
            for attempt in range(TRIES):
                number = self.random.randrange(1, writes + 1)
                with self.subTest(fault=fault, write=number, of=writes):
                    if attempt == 0 and not always:  # without, nobody sees it
                        prepare()
                        done = self.run_tampered(command, fault, number, below=below)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertNotEqual(self.content(), expected)
                    prepare()
                    verify = [] if always and attempt == 0 else ["--verify"]
                    done = self.run_tampered([*command, *verify], fault, number, below=below)
                    self.assert_fails(done, "is not what was written", "overwritten in place" if copied else "byte [0-9]+")
                    self.assertEqual(done.stdout, b"")
                    if not copied:
                        self.assertEqual(self.content() if old is not None else self.file.exists(), old or False)
                    self.assert_only_in_out(*([self.file.name] if old is not None else []))
                    found += 1
        self.assertEqual(found, len(FAULTS) * TRIES)
