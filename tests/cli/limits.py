#!/usr/bin/env python3
"""Limits of the process and of its control groups: xxl works within them, or says in one line what
it could not have, and never hangs.

Some tests make control groups or change to another user: they need root, and say so when they are
skipped.
"""

import contextlib
import errno
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import whole_process
from whole_process import MIB, NOBODY, PATIENCE_SECONDS

GROUPS = pathlib.Path("/sys/fs/cgroup")

# pthread_create() of which the calls from $FAIL_FROM to $FAIL_TO fail, inflateInit2() that does with
# $FAIL_INFLATE, io_uring_enter() that fails with $RING_ERROR after $RING_AFTER calls, and
# sync_file_range() that adds a byte to $SYNC_LOG, and fails
# with $SYNC_ERROR.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int number(const char *name) {
  const char *text = getenv(name);
  return text ? atoi(text) : 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
  static int calls;
  int call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (number("FAIL_FROM") <= call && call <= number("FAIL_TO")) return EAGAIN;
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
      dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, run, argument);
}

int inflateInit2_(void *stream, int bits, const char *version, int size) {
  if (number("FAIL_INFLATE")) return -4;  // no memory
  int (*real)(void *, int, const char *, int) = dlsym(RTLD_NEXT, "inflateInit2_");
  return real(stream, bits, version, size);
}

struct io_uring;
int io_uring_submit_and_wait(struct io_uring *ring, unsigned count) {
  static int calls;
  int call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (number("RING_ERROR") && call > number("RING_AFTER")) return -number("RING_ERROR");
  int (*real)(struct io_uring *, unsigned) = dlsym(RTLD_NEXT, "io_uring_submit_and_wait");
  return real(ring, count);
}

int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags) {
  int log = open(getenv("SYNC_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(log, ".", 1) != 1) return -1;
  close(log);
  if (number("SYNC_ERROR")) {
    errno = number("SYNC_ERROR");
    return -1;
  }
  int (*real)(int, off64_t, off64_t, unsigned) = dlsym(RTLD_NEXT, "sync_file_range");
  return real(fd, offset, bytes, flags);
}
"""


@contextlib.contextmanager
def control_group(controller, **limits):
    """A group of version 1 with these limits; skips the test where there can be none."""
    path = GROUPS / controller / f"xxl-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        raise unittest.SkipTest(f"no control groups of version 1 here: {error}")
    try:
        for name, value in limits.items():
            (path / f"{controller}.{name}").write_text(str(value))
        yield path
    finally:
        path.rmdir()


class LimitsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="xxl-limits-"))
        cls.directory.chmod(0o777)
        cls.program = whole_process.program_for_all(cls.directory)
        numbers = list(range(150000))
        random.Random(1).shuffle(numbers)
        cls.write("lines", "".join(f"{number:08}\n" for number in numbers).encode())
        cls.write("sorted_lines", "".join(f"{number:08}\n" for number in range(150000)).encode())
        cls.write("rows", "".join(f"{number},x\n" for number in numbers).encode())
        cls.write("sorted_rows", "".join(f"{number},x\n" for number in range(150000)).encode())
        cls.write("u64", struct.pack("<150000Q", *numbers))
        cls.write("sorted_u64", struct.pack("<150000Q", *range(150000)))
        cls.write("count", b"150000\n")
        cls.write("few", b"b\na\n")
        cls.write("sorted_few", b"a\nb\n")
        # Arguments, and what is to come out.
        cls.jobs = {
            "few lines": (["sort", "few"], "sorted_few"),
            "lines": (["sort", "lines"], "sorted_lines"),
            "lines in runs": (["sort", "-S4M", "lines"], "sorted_lines"),
            "lines merged": (["sort", "-m", "sorted_lines", "/dev/null"], "sorted_lines"),
            "lines checked": (["sort", "-c", "sorted_lines"], "nothing"),
            "rows": (["sort", "--record=csv", "--no-header", "--key=1:number", "-S4M", "rows"], "sorted_rows"),
            "records": (["sort", "--record=u64", "u64"], "sorted_u64"),
            "records in runs": (["sort", "--record=u64", "-S1M", "u64"], "sorted_u64"),
            "records merged": (["sort", "--record=u64", "-m", "sorted_u64", "/dev/null"],
                               "sorted_u64"),
            "records checked": (["sort", "--record=u64", "-c", "sorted_u64"], "nothing"),
            "lines joined": (["join", "--record=lines", "--key=1", "-S8M", "--count", "lines",
                              "sorted_lines"], "count"),
            "records joined by sorting": (["join", "--record=u64", "--method=sort-merge", "-S4M",
                                           "--count", "u64", "sorted_u64"], "count"),
            "records joined by hashing": (["join", "--record=u64", "--method=hash", "-S16M",
                                           "--count", "u64", "sorted_u64"], "count"),
        }
        cls.write("nothing", b"")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)

    @classmethod
    def write(cls, name, content):
        (cls.directory / name).write_bytes(content)

    def run_xxl(self, arguments, before=lambda: None, environment=None):
        return subprocess.run(
            [self.program] + arguments, preexec_fn=before, cwd=self.directory, check=False,
            timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL, capture_output=True,
            env={**os.environ, "LC_ALL": "C", "TMPDIR": str(self.directory), **(environment or {})})

    def expect(self, job, done):
        self.assertEqual((done.returncode, done.stderr), (0, b""), job)
        self.assertEqual(done.stdout, (self.directory / self.jobs[job][1]).read_bytes(), job)

    def expect_all(self, before, jobs=None, options=()):
        for job in jobs or self.jobs:
            with self.subTest(job):
                arguments = self.jobs[job][0]
                self.expect(job, self.run_xxl([arguments[0], *options, *arguments[1:]], before))

    def test_no_thread_is_needed(self):
        if not whole_process.is_root():
            self.skipTest("to be another user, whose processes are bounded, takes root")

        def as_nobody():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        self.expect_all(as_nobody)
        self.expect_all(as_nobody, ["lines in runs", "records in runs"], ["--parallel=1"])

    def test_no_thread_for_compressed_files(self):
        subprocess.run(["zstd", "-q", "lines"], cwd=self.directory, check=True)
        done = self.run_xxl(["sort", "-S4M", "lines.zst"], lambda: None,
                            {**self.shim(), "FAIL_FROM": "1", "FAIL_TO": "1000"})
        self.expect("lines", done)

    def test_a_group_without_room_for_threads(self):
        with control_group("pids", max=1) as group:
            def enter():
                (group / "cgroup.procs").write_text(str(os.getpid()))
            self.expect_all(enter,
                            ["lines in runs", "records in runs", "records joined by hashing"])

    def shim(self):
        source, library = self.directory / "shim.c", self.directory / "shim.so"
        if whole_process.SANITIZED:
            self.skipTest("sanitizers want to be loaded first")
        if not library.exists():
            if shutil.which("cc") is None:
                self.skipTest("no compiler")
            source.write_text(SHIM)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return {"LD_PRELOAD": str(library)}

    def test_any_thread_may_be_refused(self):
        """The Nth thread alone, and all from the Nth on."""
        shim = self.shim()
        jobs = ["lines in runs", "rows", "lines merged", "records in runs",
                "records joined by sorting", "records joined by hashing"]
        for nth in [*range(1, 8), 12, 17, 18, 19, 25]:
            for last in (nth, 1000):
                for job in jobs if nth < 4 else jobs[nth % 2::2]:
                    with self.subTest(job, nth=nth, last=last):
                        command, *rest = self.jobs[job][0]
                        done = self.run_xxl([command, "--parallel=4", *rest], lambda: None,
                                            {**shim, "FAIL_FROM": str(nth), "FAIL_TO": str(last)})
                        self.expect(job, done)

    def test_a_thread_that_must_be_there_is_an_error(self):
        done = self.run_xxl(["sort", "--record=u64", "--io=io_uring", "u64"], lambda: None,
                            {**self.shim(), "FAIL_FROM": "1", "FAIL_TO": "1000"})
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(),
                         r"^xxl: sort: (cannot start a thread .*ulimit -u.*|io_uring refused.*)\n$")

    def test_debug_ends_when_there_is_no_memory(self):
        """What fails beside the sort's own errors, too, ends the thread that underlines."""
        subprocess.run(["gzip", "-fk", "few"], cwd=self.directory, check=True)
        done = self.run_xxl(["sort", "--debug", "few.gz"], lambda: None,
                            {**self.shim(), "FAIL_INFLATE": "1"})
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), "out of memory")

    def test_io_uring_that_refuses_from_the_start_is_gone_without(self):
        for error in (1, 12, 38):  # EPERM, ENOMEM, ENOSYS
            for job in ("lines in runs", "records in runs"):
                done = self.run_xxl(self.jobs[job][0], lambda: None,
                                    {**self.shim(), "RING_ERROR": str(error)})
                self.expect(job, done)

    def test_io_uring_that_fails_later_is_an_error(self):
        backend = self.run_xxl(["info"]).stdout
        if b"disk access:     io_uring" not in backend:
            self.skipTest("no io_uring here")
        for error in (5, 11, 12):  # EIO, EAGAIN for ever, ENOMEM
            for after in (1, 2, 5):
                done = self.run_xxl(self.jobs["records in runs"][0] + ["-o", "never"], lambda: None,
                                    {**self.shim(), "RING_ERROR": str(error),
                                     "RING_AFTER": str(after)})
                self.assertEqual(done.returncode, 2, (error, after))
                self.assertRegex(done.stderr.decode(),
                                 r"^xxl: sort: \S+: .*io_uring has failed \(.*\): "
                                 r"try --io=threads\n$")
                self.assertFalse((self.directory / "never").exists())

    def test_no_descriptor_for_the_threads_of_queues(self):
        def with_few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))
        done = self.run_xxl(["sort", "lines", "-o", "sorted"], with_few_files)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual((self.directory / "sorted").read_bytes(),
                         (self.directory / "sorted_lines").read_bytes())

    def test_little_stack(self):
        def with_little_stack():
            resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))
        self.expect_all(with_little_stack)
        self.expect_all(with_little_stack, ["lines in runs", "records in runs"], ["--parallel=4"])
        done = self.run_xxl(["sort", "--debug", "few"], with_little_stack)
        self.assertEqual((done.returncode, done.stdout), (0, b"a\n_\nb\n_\n"))

    def without_size(self):
        """Jobs whose memory is that of the default."""
        return {job: [word for word in arguments if not word.startswith("-S")]
                for job, (arguments, _) in self.jobs.items()}

    def test_address_space_bounds_the_default_of_memory(self):
        if whole_process.SANITIZED:
            self.skipTest("sanitizers reserve all addresses")
        for limit, mebibytes in ((resource.RLIMIT_AS, 100), (resource.RLIMIT_AS, 400),
                                 (resource.RLIMIT_DATA, 30), (resource.RLIMIT_DATA, 400)):
            def bounded(limit=limit, size=mebibytes * MIB):
                resource.setrlimit(limit, (size, size))
            for job, arguments in self.without_size().items():
                with self.subTest(job, mebibytes=mebibytes):
                    self.expect(job, self.run_xxl(arguments, bounded))

    def test_too_little_address_space_is_an_error(self):
        """No hang, no abort: right, or one line that says what was wanting."""
        if whole_process.SANITIZED:
            self.skipTest("sanitizers reserve all addresses")
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            # (With less than the program itself takes, 8 MiB, the kernel does not start it.)
            for mebibytes in (10, 12, 16, 20, 30, 40):
                for job in ("lines in runs", "records in runs", "records joined by hashing"):
                    def bounded(limit=limit, size=mebibytes * MIB):
                        resource.setrlimit(limit, (size, size))
                    done = self.run_xxl(self.jobs[job][0], bounded)
                    if done.returncode == 0:
                        self.expect(job, done)
                    elif done.returncode != 127:  # the program could not even be loaded
                        self.assertEqual(done.returncode, 2, (mebibytes, job, done.stderr))
                        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                        self.assertRegex(done.stderr, b"memory")

    def test_a_memory_group_bounds_the_default_of_memory(self):
        """What does not fit in the group is sorted in it all the same."""
        if not whole_process.is_root() or whole_process.SANITIZED:
            self.skipTest("takes root, and a program without sanitizers")
        large = self.directory / "large"
        subprocess.run([whole_process.XXL, "gen", "--record=u64", "14M", "-o", large], check=True)
        with control_group("memory", limit_in_bytes=100 * MIB) as group:
            def enter():
                (group / "cgroup.procs").write_text(str(os.getpid()))
            done = self.run_xxl(["info"], enter)
            self.assertRegex(done.stdout.decode(), r"memory: +100 MiB, default of -S now [1-4]\d")
            done = self.run_xxl(["sort", "--record=u64", "large", "-o", "out"], enter)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        done = self.run_xxl(["sort", "--record=u64", "-c", "out"])
        self.assertEqual(done.returncode, 0)

    def test_memory_that_a_group_does_not_have_is_cut_with_a_warning(self):
        if not whole_process.is_root():
            self.skipTest("takes root")
        (self.directory / "text").write_bytes(b"b\na\n")
        (self.directory / "sort").symlink_to(whole_process.XXL)
        warning = (rb"^xxl: (sort|shuf): warning: -S 512 MiB is cut to 496 MiB: the memory of this machine "
                   rb"or its control group \(cgroup\), less what the program and the system need\n$")
        with control_group("memory", limit_in_bytes=560 * MIB) as group:
            def enter():
                (group / "cgroup.procs").write_text(str(os.getpid()))
            for job in (["sort", "-S512M", "text"], ["sort", "-S512M", "--explain", "text"],
                        ["sort", "-S512M", "--record=csv", "--no-header", "--key=1", "text"],
                        ["shuf", "-S512M", "text"]):
                done = self.run_xxl(job, enter)
                self.assertEqual(done.returncode, 0)
                self.assertRegex(done.stderr, warning)
            done = self.run_xxl(["sort", "-S496M", "text"], enter)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            done = subprocess.run([self.directory / "sort", "-S512M", "text"], cwd=self.directory,
                                  preexec_fn=enter, capture_output=True, check=False)
            self.assertEqual((done.stdout, done.stderr), (b"a\nb\n", b""))

    def test_merges_of_many_small_files_take_little_memory(self):
        """What a merge reads ahead is no more than its files have."""
        if whole_process.SANITIZED:
            self.skipTest("takes a program without sanitizers")
        names = []
        for number in range(2000):
            names.append(f"f{number:04}")
            (self.directory / names[-1]).write_bytes(b"%07d\n" % number)
        expected = b"".join(b"%07d\n" % number for number in range(2000))
        for job in (["sort", "-m"], ["sort", "-m", "--record=csv", "--no-header", "--key=1"],
                    ["sort", "-m", "--record=u64"], ["union", "-m"]):
            with tempfile.TemporaryFile() as output:
                process = subprocess.Popen([whole_process.XXL, job[0], "-S2G", *job[1:], *names],
                                           cwd=self.directory, stdout=output)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                output.seek(0)
                written = output.read()
            self.assertEqual(process.returncode, 0)
            self.assertLess(usage.ru_maxrss * 1024, 100 * MIB, job)
            if "--record=u64" not in job:
                self.assertEqual(written, expected)
            self.assertEqual(len(written), len(expected))

    def test_a_memory_group_bounds_what_waits_to_be_written(self):
        """Output goes to the disk at its pace: a group whose page cache waits for it is killed."""
        if not whole_process.is_root():
            self.skipTest("takes root")
        shim, log = self.shim(), self.directory / "syncs"
        text = self.directory / "text"
        with open(text, "wb") as file:
            subprocess.run([whole_process.XXL, "gen", "--ascii", "500k"], stdout=file, check=True)
        with control_group("memory", limit_in_bytes=100 * MIB) as group:
            def enter():
                (group / "cgroup.procs").write_text(str(os.getpid()))
                os.dup2(os.open(self.directory / "out", os.O_WRONLY | os.O_CREAT, 0o600), 1)
            for options, least in (([], 12), (["-o", "out.zst"], 3)):
                log.write_bytes(b"")
                done = self.run_xxl(["sort", *options, "text"], enter,
                                    {**shim, "SYNC_LOG": str(log)})
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                # A step each 100 MiB / 32.
                self.assertGreaterEqual(log.stat().st_size, least)
            done = self.run_xxl(["sort", "text"], enter,
                                {**shim, "SYNC_LOG": str(log), "SYNC_ERROR": str(errno.ENOSPC)})
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr.decode(), "^xxl: sort: .*No space left on device\n$")

    def test_a_quota_of_processors_bounds_the_threads(self):
        with control_group("cpu", cfs_period_us=100000, cfs_quota_us=100000) as group:
            def enter():
                (group / "cgroup.procs").write_text(str(os.getpid()))
            self.assertRegex(self.run_xxl(["info"], enter).stdout.decode(), r"processors: +1\n")


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
