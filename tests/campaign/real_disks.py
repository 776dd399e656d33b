"""The real program on disks that are full, slow, fail, turn read-only, or are suddenly gone."""

import contextlib
import fcntl
import functools
import os
import pathlib
import re
import struct
import subprocess
import tempfile

import whole_process  # below tests/cli, where real_jobs found it
from output_file import mounted
from real_cases import RealMachine, examine_end, inputs, references, wait_for_a_moment
from real_jobs import JOBS, Place, deal_options
from recorded_disk import LATENCY_US, NEVER, READS_UNTIL_ERROR, WRITES_UNTIL_ERROR, make_image, recorded_disk
from whole_process import MIB, PATIENCE_SECONDS

FS_IOC_SHUTDOWN = 0x8004587D
SHUTDOWN_FLAGS = (0, 1, 2)  # after writing all, the journal, nothing


class Disks(RealMachine):
    """A job whose disk is in trouble."""

    def run_disks(self, share, run, *kinds):
        for kind in kinds:
            if kind != "tmpfs":
                self.needs_file_system(kind)
        self.run_cases(functools.partial(run, kinds=kinds), round(share * whole_process.OPTIONS.disks))

    def test_full(self):
        self.run_disks(0.4, run_on_a_full_disk, "tmpfs", "ext4", "xfs", "btrfs")

    def test_failing(self):
        self.run_disks(0.3, run_on_a_failing_disk, "ext4", "xfs")

    def test_slow(self):
        self.run_disks(0.1, run_on_a_slow_disk, "ext4", "xfs", "btrfs")

    def test_turning_read_only(self):
        self.run_disks(0.1, functools.partial(run_on_a_vanishing_disk, vanish=turn_read_only), "ext4")

    def test_gone(self):
        self.run_disks(0.1, functools.partial(run_on_a_vanishing_disk, vanish=shut_down), "ext4", "xfs")


def run_on_a_full_disk(case, kinds):
    """One that has room for some of what the job wants to put there."""
    dealt = case.dealt
    kind, job, folders = dealt.choice(kinds), dealt.choice(JOBS), dealt.choice((["out"], ["s1"], ["out", "s1", "s2"]))
    new, _ = references[job]
    options = deal_options(dealt, job)
    with tempfile.TemporaryDirectory(prefix="xxl-full-", dir="/dev/shm") as directory, contextlib.ExitStack() as stack:
        root = pathlib.Path(directory)
        disk = root / "disk"
        disk.mkdir()
        if kind == "tmpfs":
            stack.enter_context(mounted("-t", "tmpfs", "-o", "size=64m", "tmpfs", disk))
        else:
            make_image(root / "image", kind)
            stack.enter_context(mounted("-o", "loop", root / "image", disk))
        for folder in folders:
            (disk / folder).mkdir()
            (root / "place" / folder).mkdir(parents=True)
            stack.enter_context(mounted("--bind", disk / folder, root / "place" / folder))
        place = Place(root / "place", job, inputs(), has_old=dealt.random() < 0.5)
        left = dealt.randrange(2 * place.volume() // 4)
        fill(disk, left)
        free = free_bytes(disk)
        status, said = place.run(options)
        case.story = f"{place.command(options)} {kind} with {free} bytes for {folders}: exit {status} {said}"
        examine_end(case, place, new, status, said)
        if status != 0:
            case.expect("a full disk is named", re.search(r"\b(out|s1|s2)\b", said), said)
        if status != 0 and kind in ("tmpfs", "ext4"):  # others give back later
            case.expect("its space is free again", free_bytes(disk) >= free - MIB // 4, free_bytes(disk))
        case.outcomes[f"{kind}: exit {status}"] += 1


def free_bytes(path):
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def fill(directory, left):
    """Fills a file system but for about so many bytes."""
    with open(directory / "filler", "wb") as file, contextlib.suppress(OSError):
        while free_bytes(directory) > left:
            file.write(bytes(min(MIB, free_bytes(directory) - left)))
            file.flush()
            os.fsync(file.fileno())


@contextlib.contextmanager
def place_on_a_disk(case, kinds, way="defaults"):
    """A random job in its place, and the disk where that is; with what makes it right again and checks it."""
    dealt = case.dealt
    kind, job = dealt.choice(kinds), dealt.choice(JOBS)
    with tempfile.TemporaryDirectory(prefix="xxl-disk-", dir="/dev/shm") as directory:
        root = pathlib.Path(directory)
        here = root / "mounted"
        here.mkdir()
        make_image(root / "image", kind)
        with recorded_disk(root, root / "image") as disk:
            with mounted("-o", way, disk.device, here):
                place = Place(here / "place", job, inputs(), has_old=dealt.random() < 0.8)
                subprocess.run(["sync", "-f", here], check=True)
                yield place, disk
                status, said = case.ended
                case.outcomes[f"{kind}: exit {status}"] += 1
                disk.orders[:] = [0, NEVER, NEVER]
            with mounted(disk.device, here):  # which recovers
                if status == 0:
                    case.examine(place, references[job][0], "new", may_leave_names=True)
                else:
                    case.expect("a failure is told in one line, with exit status 2",
                                status == 2 and said.count("\n") == 1)
                    case.examine(place, references[job][0], "old", "new", may_leave_names=True)


def run_on_a_failing_disk(case, kinds):
    """All reads, or all writes, fail from some on."""
    dealt = case.dealt
    with place_on_a_disk(case, kinds) as (place, disk):
        options = deal_options(dealt, place.job)
        what = dealt.choice((READS_UNTIL_ERROR, WRITES_UNTIL_ERROR, WRITES_UNTIL_ERROR))
        if what == READS_UNTIL_ERROR:
            drop_caches_of(place)
        disk.orders[what] = good = dealt.randrange(60)
        case.ended = place.run(options)
        case.story = f"{place.command(options)} error {what} after {good} transfers: exit {case.ended}"


def drop_caches_of(place):
    for path in (place.path / "in").iterdir():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_on_a_slow_disk(case, kinds):
    """Each transfer takes some milliseconds."""
    dealt = case.dealt
    with place_on_a_disk(case, kinds) as (place, disk):
        options = deal_options(dealt, place.job)
        disk.orders[LATENCY_US] = dealt.choice((2000, 5000, 20000))
        case.ended = place.run(options)
        case.story = f"{place.command(options)} {disk.orders[LATENCY_US]} us a transfer: exit {case.ended}"
        case.expect("a slow disk is only slow", case.ended == (0, ""))


def run_on_a_vanishing_disk(case, kinds, vanish):
    dealt = case.dealt
    with place_on_a_disk(case, kinds, "errors=remount-ro" if vanish is turn_read_only else "defaults") as (place, disk):
        options = deal_options(dealt, place.job)
        with place.started(options) as process:
            moment = wait_for_a_moment(process, place, dealt, references[place.job][1])
            how = vanish(place, disk, dealt)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        case.ended = process.returncode, said.decode(errors="replace")
        case.story = f"{place.command(options)} {how} {moment}: exit {case.ended}"


def turn_read_only(place, disk, dealt):
    device = disk.device.removeprefix("/dev/")
    pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("a test")
    return "read-only"


def shut_down(place, disk, dealt):
    """As a disk that is pulled out."""
    flags = dealt.choice(SHUTDOWN_FLAGS)
    directory = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(directory, FS_IOC_SHUTDOWN, struct.pack("I", flags))
    os.close(directory)
    return f"shut down ({flags})"
