"""What tests of whole processes have in common: the program under test, small file systems, waiting
for what a process does, and results as JUnit XML."""

import argparse
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from junit import write_junit

MIB = 1 << 20
PATIENCE_SECONDS = 120  # a sort that takes longer hangs
NOBODY = 65534
MEMORY_CONSTANT = 48 * MIB  # promised: -S and this bound the process

XXL = ""
SANITIZED = False
OPTIONS = None  # all of the command line


def is_root():
    return os.geteuid() == 0


def program_for_all(directory):
    """A copy in `directory`, which all users may then look into; perhaps not where it was built."""
    program = directory / "xxl"
    shutil.copy(XXL, program)
    program.chmod(0o755)
    directory.chmod(directory.stat().st_mode | 0o055)
    return program


def can_mount():
    if not is_root():
        return False
    with tempfile.TemporaryDirectory() as directory:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", directory],
                          stderr=subprocess.DEVNULL, check=False).returncode != 0:
            return False
        subprocess.run(["umount", directory], check=True)
    return True


@contextlib.contextmanager
def small_file_system(path, mebibytes):
    """A directory that holds so much and no more."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=1777", "tmpfs", path],
                   check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def can_mount_loop():
    if shutil.which("mkfs.ext4") is None:
        return False
    with tempfile.TemporaryDirectory() as directory:
        try:
            with small_disk(pathlib.Path(directory), 4):
                return True
        except subprocess.CalledProcessError:
            return False


@contextlib.contextmanager
def small_disk(root, mebibytes, options="nodiscard"):
    """The same on a file system that is not in memory: it is reached in other ways. `options`: of
    mount(8)."""
    image = root / "image"
    with open(image, "wb") as file:
        file.truncate(mebibytes * MIB)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    path = root / "small"
    path.mkdir()
    subprocess.run(["mount", "-o", f"loop,{options}", image, path], stderr=subprocess.DEVNULL, check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def bytes_transferred(pid):
    """Bytes the process has read and written so far, as the kernel counts them: in system calls, or
    for io_uring at the disks."""
    counts = dict(re.findall(r"(\w+): (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text()))
    return max(int(counts["rchar"]) + int(counts["wchar"]),
               int(counts["read_bytes"]) + int(counts["write_bytes"]))


def bytes_waiting(pipe):
    """Bytes in a pipe that its reader has not taken."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def wait_until(process, condition):
    """Waits until the condition holds or the process has ended."""
    with contextlib.suppress(OSError):  # it ended while it was looked at
        while process.poll() is None and not condition():
            os.sched_yield()


class FaultTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="xxl-faults-")
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.scratch = self.root / "scratch"
        self.out = self.root / "out"
        self.scratch.mkdir()
        self.out.mkdir()

    def gen(self, name, *arguments):
        path = self.root / name
        subprocess.run([XXL, "gen", *arguments, "-o", path], check=True)
        return path

    def command(self, *arguments, scratch=None):
        return [XXL, "sort", "-T", scratch or self.scratch, *arguments]

    def run_xxl(self, *arguments, **options):
        scratch = options.pop("scratch", None)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(self.command(*arguments, scratch=scratch), stderr=subprocess.PIPE,
                              timeout=PATIENCE_SECONDS, check=False, **options)

    def assert_fails(self, done, *patterns):
        """Exit status 2 and one line of a message, with all of the patterns in it."""
        message = done.stderr.decode()
        self.assertEqual(done.returncode, 2, message)
        self.assertEqual(message.count("\n"), 1, message)
        for pattern in patterns:
            self.assertRegex(message, pattern)

    def assert_sorted(self, path, records):
        done = subprocess.run([XXL, "validate", "--record=u64", path], capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"Records: {records}\n", done.stdout.decode())

    def assert_only_in_out(self, *names):
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), sorted(names))
        self.assertEqual(list(self.scratch.iterdir()), [])


class Result(unittest.TextTestResult):
    """Remembers what passed and how long each test took."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.seconds = {}

    def startTest(self, test):
        super().startTest(test)
        self.seconds[test.id()] = -time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[test.id()] += time.monotonic()


def failures_of(result):
    """Texts by name of the test; those of subtests belong to their test."""
    texts = {}
    for test, text in result.failures + result.errors:
        name = getattr(test, "test_case", test).id()
        texts[name] = texts.get(name, "") + text
    return texts


def main(module, add_options=lambda parser: None):
    """Runs the tests of the module, which may have options of its own (OPTIONS)."""
    global XXL, SANITIZED, OPTIONS
    parser = argparse.ArgumentParser(description=module.__doc__.splitlines()[0])
    parser.add_argument("--xxl", required=True, help="the program to test")
    parser.add_argument("--junit", help="write results as JUnit XML to this file")
    parser.add_argument("--sanitized", action="store_true", help="do not measure memory")
    parser.add_argument("--only", action="append", help="run only tests with this in their name")
    add_options(parser)
    arguments = OPTIONS = parser.parse_args()
    XXL = str(pathlib.Path(arguments.xxl).resolve())
    # A shell that starts this in the background has it ignored, and programs leave that so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    SANITIZED = arguments.sanitized

    loader = unittest.TestLoader()
    if arguments.only:
        loader.testNamePatterns = [f"*{pattern}*" for pattern in arguments.only]
    suite = loader.loadTestsFromModule(module)
    OPTIONS.tests = suite.countTestCases()
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    failures = failures_of(result)
    if arguments.junit:
        write_junit(arguments.junit, pathlib.Path(module.__file__).stem, len(result.seconds),
                    [(name, seconds, failures.get(name)) for name, seconds in result.seconds.items()],
                    skipped={test.id() for test, _ in result.skipped})
    failed = len(failures)
    print(f"{len(result.seconds) - failed - len(result.skipped)} passed, {failed} failed, "
          f"{len(result.skipped)} skipped")
    return 0 if result.wasSuccessful() and result.seconds else 1
