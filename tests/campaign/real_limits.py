"""The real program within limits that are too small for it: of its process and of its memory group,
and where the kernel refuses system calls."""

import ctypes
import errno
import functools
import math
import os
import pathlib
import resource
import signal
import struct
import subprocess
import tempfile
import unittest

import whole_process  # below tests/cli, where real_jobs found it
from limits import control_group
from real_cases import RealMachine, examine_end, inputs, references, room
from real_jobs import JOBS, Place, deal_options
from whole_process import MEMORY_CONSTANT, MIB, NOBODY, PATIENCE_SECONDS

# Limits of a process, from the least to the most that is dealt.
RESOURCES = {
    "AS": (8 * MIB, 2048 * MIB),
    "DATA": (4 * MIB, 1024 * MIB),
    "FSIZE": (1, 20 * MIB),
    "MEMLOCK": (1, 8 * MIB),
    "NOFILE": (3, 60),
    "NPROC": (1, 40),
    "STACK": (64 << 10, 16 * MIB),
}

# System calls that a kernel, a container or a policy may refuse, with the errors that they give.
REFUSED = {
    "io_uring_setup": (425, ("EPERM", "ENOSYS", "ENOMEM", "EMFILE")),
    "io_uring_enter": (426, ("EPERM", "ENOSYS")),
    "fallocate": (285, ("EOPNOTSUPP", "ENOSPC", "EPERM", "ENOSYS")),
    "linkat": (265, ("EPERM", "EMLINK", "ENOENT")),
    "renameat": (264, ("EPERM", "EROFS")),
    "renameat2": (316, ("ENOSYS", "EINVAL", "EPERM")),
    "fsync": (74, ("EIO", "ENOSPC", "EINVAL")),
    "ftruncate": (77, ("EIO", "EPERM", "EFBIG")),
    "pwrite64": (18, ("EIO", "ENOSPC", "EDQUOT")),
    "pwritev": (296, ("EIO", "ENOSPC")),
    "madvise": (28, ("EINVAL", "ENOMEM")),
    "mremap": (25, ("ENOMEM",)),
    "clone3": (435, ("ENOSYS", "EAGAIN")),
    "sched_getaffinity": (204, ("EPERM", "ENOSYS")),
    "sched_setaffinity": (203, ("EPERM",)),
    "getrandom": (318, ("ENOSYS",)),
    "statx": (332, ("ENOSYS",)),
    "statfs": (137, ("ENOSYS", "EIO")),
    "flock": (73, ("ENOLCK",)),
    "fcntl": (72, ("EINVAL",)),
    "fadvise64": (221, ("EINVAL",)),
    "sync_file_range": (277, ("EIO", "ENOSYS")),
    "copy_file_range": (326, ("EXDEV", "ENOSYS")),
    "getdents64": (217, ("EIO", "EACCES")),
    "fchmod": (91, ("EPERM",)),
    "fchown": (93, ("EPERM",)),
    "eventfd2": (290, ("EMFILE",)),
    "prlimit64": (302, ("EPERM",)),
}


class Limits(RealMachine):
    """A job within limits."""

    def run_limits(self, share, run):
        self.run_cases(run, round(share * whole_process.OPTIONS.limits))

    def test_of_the_process(self):
        self.run_limits(0.4, run_with_resource_limits)

    def test_refused_system_calls(self):
        self.run_limits(0.4, run_with_refused_calls)

    def test_of_a_memory_group(self):
        if whole_process.SANITIZED:
            self.skipTest("a sanitizer takes memory of its own")
        self.run_limits(0.2, run_in_a_memory_group)

    def test_ten_times_the_memory_of_its_group(self):
        if whole_process.SANITIZED:
            self.skipTest("a sanitizer takes memory of its own")
        limit = 60 * MIB
        with tempfile.TemporaryDirectory(dir="/var/tmp") as directory, \
                control_group("memory", limit_in_bytes=limit) as group:
            source, output = pathlib.Path(directory) / "in", pathlib.Path(directory) / "out"
            subprocess.run([whole_process.XXL, "gen", "--record=u64", str(10 * limit // 8), "-o", source], check=True)
            for size in ("12M", "1G"):
                done = subprocess.run(
                    [whole_process.XXL, "sort", "--record=u64", "-S", size, "-T", directory, source, "-o", output],
                    preexec_fn=lambda: enter(group), capture_output=True, timeout=PATIENCE_SECONDS, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr.decode(), r"\A(xxl: sort: warning: -S .* is cut to .*\n)?\Z", size)
                subprocess.run([whole_process.XXL, "validate", "--record=u64", output], capture_output=True, check=True)
                self.assertEqual(source.stat().st_size, output.stat().st_size)


def enter(group):
    (group / "cgroup.procs").write_text(str(os.getpid()))


def run_with_resource_limits(case):
    """As another user, since root has some without limit."""
    dealt = case.dealt
    job = dealt.choice(JOBS)
    new, _ = references[job]
    options = deal_options(dealt, job)
    limits = {name: round(math.exp(dealt.uniform(*map(math.log, RESOURCES[name]))))
              for name in dealt.sample(sorted(RESOURCES), dealt.choice((1, 1, 2)))}

    def limit():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        for name, value in limits.items():
            number = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(number, (value, value))

    with room(dealt) as directory:
        os.chmod(directory, 0o755)
        place = Place(pathlib.Path(directory) / "place", job, inputs(), has_old=dealt.random() < 0.8)
        for path in (place.path, *place.path.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        if not starts_within(limit):
            case.outcomes["it cannot be started"] += 1
            return
        status, said = place.run(options, preexec_fn=limit)
        case.story = f"{place.command(options)} {limits}: exit {status} {said}"
        if status == -signal.SIGXFSZ and "FSIZE" in limits:
            case.examine(place, new, "old", "new")
        else:
            examine_end(case, place, new, status, said)
        case.outcomes[f"{' '.join(limits)}: exit {status}"] += 1


def starts_within(limit):
    try:
        return subprocess.run([whole_process.XXL, "--version"], preexec_fn=limit, check=False,
                              capture_output=True).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def run_with_refused_calls(case):
    dealt = case.dealt
    job = dealt.choice(JOBS)
    new, _ = references[job]
    options = deal_options(dealt, job)
    name = dealt.choice(sorted(REFUSED))
    number, errors = REFUSED[name]
    error = dealt.choice(errors)
    with room(dealt) as directory:
        place = Place(pathlib.Path(directory) / "place", job, inputs(), has_old=dealt.random() < 0.8)
        status, said = place.run(options, preexec_fn=lambda: refuse(number, getattr(errno, error)))
        case.story = f"{place.command(options)} {name} {error}: exit {status} {said}"
        if name in ("fsync", "getdents64", "renameat2") and status == 2 and "is complete" in said:
            case.examine(place, new, "old", "new")
        else:
            examine_end(case, place, new, status, said)
        case.outcomes[f"{name} {error}: exit {status}"] += 1


def refuse(number, error):
    """From now on the system call fails (seccomp)."""
    load, jump_if_equal, give = 0x20, 0x15, 0x06
    filter_of = [(load, 0, 0, 0), (jump_if_equal, 0, 1, number), (give, 0, 0, 0x00050000 | error),
                 (give, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("<HBBI", *step) for step in filter_of)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("<HxxxxxxQ", len(filter_of), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def run_in_a_memory_group(case):
    """With room for -S and the constant it works; -S may also be more than the group has."""
    dealt = case.dealt
    job = dealt.choice(JOBS)
    new, _ = references[job]
    limit = dealt.choice((56, 64, 80, 120)) * MIB
    size = dealt.choice((limit - MEMORY_CONSTANT - 4 * MIB, limit - MEMORY_CONSTANT, 2 * limit, 1024 * MIB))
    options = [*deal_options(dealt, job), f"-S{size // 1024}K"]
    with tempfile.TemporaryDirectory(prefix="xxl-real-", dir="/var/tmp") as directory, \
            control_group("memory", limit_in_bytes=limit) as group:
        place = Place(pathlib.Path(directory) / "place", job, inputs(), has_old=dealt.random() < 0.8)
        status, said = place.run(options, preexec_fn=lambda: enter(group))
        case.story = f"{place.command(options)} in {limit // MIB} MiB: exit {status} {said}"
        case.expect("what fits in its memory group works there", status == 0, status)
        examine_end(case, place, new, status, said)
        case.outcomes[f"{limit // MIB} MiB, {'fits' if size <= limit else 'more'}: exit {status}"] += 1
