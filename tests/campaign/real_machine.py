#!/usr/bin/env python3
"""The real program in real trouble: killed and interrupted at random moments of random jobs, on disks
that lose power, fail, fill up or slow down, and within limits too small for it.

The same seed deals the same cases, though the moments are the machine's. A case that fails prints
how it is run again. With --minutes, each test goes on for an equal share of that time. All needs root;
what is skipped says so.
"""

import collections
import concurrent.futures
import contextlib
import ctypes
import functools
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

import real_jobs
import whole_process  # below tests/cli, where real_jobs found it
from output_file import mounted
from real_jobs import JOBS, Place, children_of, deal_options, wait_for_helpers
from recorded_disk import LATENCY_US, Recording, recorded_disk
from whole_process import MIB, PATIENCE_SECONDS, bytes_transferred, wait_until

PR_SET_CHILD_SUBREAPER = 36
INPUT_MEBIBYTES = 6

outcomes = collections.Counter()  # of (test, what came of a fault)
checked = collections.Counter()  # of promises
broken = collections.Counter()


class Case:
    """A number of a test: what is dealt for it, and what was found."""

    def __init__(self, test, number):
        self.test = test
        self.number = number
        self.dealt = random.Random(f"{whole_process.OPTIONS.seed} {test} {number}")
        self.outcomes = collections.Counter()
        self.checked = collections.Counter()
        self.broken = []  # promises, each with what was found
        self.story = ""  # what led to that

    def expect(self, promise, holds, found=""):
        self.checked[promise] += 1
        if not holds:
            self.broken.append((promise, f"{found}\n{self.story}"))

    def examine(self, place, new, *allowed, may_leave_names=False):
        """Checks the files; what the output is."""
        for promise in place.check(new, allowed, may_leave_names):
            self.expect(*promise)
        return place.found(new)

    def repeat(self):
        options = whole_process.OPTIONS
        return f"--seed={options.seed} --only={self.test} --case={self.number}"


def set_up_worker():
    # What the program leaves when it ends becomes a child of the worker.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


class RealMachine(unittest.TestCase):
    """Deals cases to processes that run them side by side."""

    @classmethod
    def setUpClass(cls):
        if not whole_process.can_mount():
            print(f"SKIPPED: {cls.__name__}: only root can do this to a machine", file=sys.stderr)
            raise unittest.SkipTest("needs root")
        inputs()

    def run_cases(self, run, count):
        """Runs `run(case)` for so many cases, or for the test's share of --minutes."""
        options = whole_process.OPTIONS
        test = self.id().split(".")[-1].removeprefix("test_")
        if options.case is not None:
            numbers = iter([options.case])
        else:
            numbers = iter(range(count) if not options.minutes else range(10**9))
        end = time.monotonic() + 60 * options.minutes / options.tests
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(options.j, context, set_up_worker) as pool:
            running = set()
            while True:
                while len(running) < 2 * options.j and not (options.minutes and time.monotonic() > end):
                    number = next(numbers, None)
                    if number is None:
                        break
                    running.add(pool.submit(run_case, run, test, number))
                if not running:
                    return
                done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    self.add(future.result())

    def add(self, case):
        outcomes.update({(case.test, outcome): number for outcome, number in case.outcomes.items()})
        checked.update(case.checked)
        for promise, found in case.broken:
            broken[promise] += 1
            with self.subTest(repeat=case.repeat()):
                self.fail(f"{promise}: {found}")


def run_case(run, test, number):
    case = Case(test, number)
    try:
        run(case)
    except subprocess.TimeoutExpired as hang:
        case.expect("it ends", False, hang)
    except Exception:
        case.expect("the case itself works", False, traceback.format_exc())
    return case


inputs_directory = None


def inputs():
    """Those of all jobs, made when they are first needed."""
    global inputs_directory
    if inputs_directory is None:
        inputs_directory = tempfile.TemporaryDirectory(prefix="xxl-inputs-")
        real_jobs.make_inputs(pathlib.Path(inputs_directory.name), INPUT_MEBIBYTES)
    return pathlib.Path(inputs_directory.name)


class References:
    """Of each job, what it writes and how long that takes: each is run once, undisturbed."""

    def __init__(self):
        self.known = {}

    def __getitem__(self, job):
        if job.name not in self.known:
            with tempfile.TemporaryDirectory(prefix="xxl-reference-") as directory:
                place = Place(pathlib.Path(directory) / "place", job, inputs())
                start = time.monotonic()
                status, said = place.run()
                seconds = time.monotonic() - start
                if (status, said) != (0, ""):
                    raise RuntimeError(f"{place.command()}: exit {status}: {said}")
                self.known[job.name] = place.new(), seconds
        return self.known[job.name]

    def learn_all(self):
        for job in JOBS:
            self[job]


references = References()


def room(dealt):
    """Where a place is made: on the disk or in memory."""
    roots = [path for path in ("/var/tmp", "/dev/shm") if os.path.isdir(path)]
    return tempfile.TemporaryDirectory(prefix="xxl-real-", dir=dealt.choice(roots))


class Kills(RealMachine):
    """A job that a signal ends at a random moment."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        references.learn_all()

    def test_kill(self):
        self.run_kills(0.4, signal.SIGKILL)

    def test_term(self):
        self.run_kills(0.1, signal.SIGTERM)

    def test_int(self):
        self.run_kills(0.1, signal.SIGINT)

    def test_hup(self):
        self.run_kills(0.1, signal.SIGHUP)

    def test_term_then_kill(self):
        self.run_kills(0.1, signal.SIGTERM, signal.SIGKILL)

    def test_int_of_the_group(self):
        self.run_kills(0.1, signal.SIGINT, to_group=True)

    def test_kill_of_a_helper(self):
        self.run_cases(kill_helper, round(0.1 * whole_process.OPTIONS.kills))

    def run_kills(self, share, *numbers, to_group=False):
        self.run_cases(functools.partial(kill_program, numbers=numbers, to_group=to_group),
                       round(share * whole_process.OPTIONS.kills))


def wait_for_a_moment(process, place, dealt, seconds):
    """For some time, for so much work, or for the output to get a name; which of them, in words."""
    kind = dealt.choice(("time", "time", "bytes", "bytes", "name"))
    if kind == "time":
        delay = dealt.uniform(0, 1.2 * seconds)
        time.sleep(delay)
        return f"after {delay:.4f} s"
    if kind == "bytes":
        least = dealt.randrange(place.volume())
        wait_until(process, lambda: bytes_transferred(process.pid) >= least)
        return f"after {least} bytes"
    directory = place.path / "out"
    before = directory.stat().st_mtime_ns
    wait_until(process, lambda: directory.stat().st_mtime_ns != before)
    delay = dealt.choice((0, 0, dealt.uniform(0, 0.005)))
    time.sleep(delay)
    return f"{delay:.4f} s after out/ changed"


# Without /proc an unnamed file cannot get its name later: the output has a temporary one from the start.
WITHOUT_PROC = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh")


def kill_program(case, numbers, to_group):
    dealt = case.dealt
    job = dealt.choice(JOBS)
    new, seconds = references[job]
    prefix = WITHOUT_PROC if dealt.random() < 0.1 else ()
    options = deal_options(dealt, job)
    with room(dealt) as directory:
        place = Place(pathlib.Path(directory) / "place", job, inputs(), has_old=dealt.random() < 0.8)
        with place.started(options, prefix) as process:
            moment = wait_for_a_moment(process, place, dealt, seconds)
            for number in numbers:
                if not to_group:
                    process.send_signal(number)
                elif process.poll() is None:
                    os.killpg(process.pid, number)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        helpers = wait_for_helpers()
        status = process.returncode
        case.story = f"{place.command(options)} {'without /proc' if prefix else ''} {moment}: exit {status} {said}"
        case.expect("no process is left", not helpers, helpers)
        case.expect("the exit status says how it ended", status == 0 or -status in numbers, status)
        if status == 0:
            case.examine(place, new, "new")
            case.outcomes["it was faster"] += 1
        else:
            found = case.examine(place, new, "old", "new", may_leave_names=status == -signal.SIGKILL)
            case.outcomes[f"{found} output{', a temporary name' if place.temp_names() else ''}"] += 1
        if place.temp_names() or dealt.random() < 0.1:
            run_again_later(case, place, new)


def run_again_later(case, place, new):
    """The day after: the job runs as ever, and removes what had been left."""
    if place.job.old and place.found(new) == "new":
        return  # it is not its input any more
    for name in place.temp_names():
        os.utime(place.path / "out" / name, times=(0, 0))
    status, said = place.run()
    case.story += f"; again: exit {status} {said}"
    case.expect("what ended can be run again", status == 0)
    case.examine(place, new, "new")


def kill_helper(case):
    """A program that compresses scratch is killed: its end is noticed."""
    dealt = case.dealt
    job = next(job for job in JOBS if "--compress-program" in job.command)
    new, seconds = references[job]
    options = [*deal_options(dealt, job), "-S4M"]
    with room(dealt) as directory:
        place = Place(pathlib.Path(directory) / "place", job, inputs())
        with place.started(options) as process:
            moment = wait_for_a_moment(process, place, dealt, seconds)
            helper = kill_one_of(children_of(process.pid), dealt)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)
        status = process.returncode
        case.story = f"{place.command(options)} {moment}, helper {helper}: exit {status} {said}"
        case.expect("no process is left", not wait_for_helpers())
        case.expect("it fails only if there is a reason", status == 0 or helper)
        examine_end(case, place, new, status, said.decode(errors="replace"))
        case.outcomes["none to kill" if helper is None else f"exit {status}"] += 1


def examine_end(case, place, new, status, said):
    """Of a program that ended by itself."""
    if status == 0:
        case.examine(place, new, "new")
    else:
        case.expect("a failure is told in one line, with exit status 2", status == 2 and said.count("\n") == 1)
        case.examine(place, new, "old")


def kill_one_of(processes, dealt):
    for process in dealt.sample(processes, len(processes)):
        try:
            os.kill(process, signal.SIGKILL)
            return process
        except ProcessLookupError:
            pass
    return None


# Kinds of file systems: how they are made, and ways to mount them.
FILE_SYSTEMS = {
    "ext4": (64, "mkfs.ext4 -q", ("defaults", "data=writeback,noauto_da_alloc", "data=journal")),
    "xfs": (64, "mkfs.xfs -q --unsupported", ("defaults",)),  # unsupported: so small
    "btrfs": (128, "mkfs.btrfs -q -m single", ("defaults", "compress-force=zstd")),
}
CUTS = 10  # of a run


def make_image(path, kind):
    mebibytes, make, _ = FILE_SYSTEMS[kind]
    with open(path, "wb") as file:
        file.truncate(mebibytes * MIB)
    subprocess.run([*make.split(), path], check=True, capture_output=True)


class PowerCuts(RealMachine):
    """A job on a disk that loses power at a random moment, and what the file system then finds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.path.exists("/dev/fuse"):
            print("SKIPPED: power cuts: no /dev/fuse, by which a disk could be shown", file=sys.stderr)
            raise unittest.SkipTest("no /dev/fuse")
        references.learn_all()

    def run_power_cuts(self, kind):
        if shutil.which(f"mkfs.{kind}") is None:
            print(f"SKIPPED: power cuts of {kind}: no mkfs.{kind}", file=sys.stderr)
            self.skipTest(f"no mkfs.{kind}")
        runs = -(-whole_process.OPTIONS.power_cuts // (CUTS * len(FILE_SYSTEMS)))
        self.run_cases(functools.partial(cut_power, kind=kind), runs)

    def test_power_cuts_of_ext4(self):
        self.run_power_cuts("ext4")

    def test_power_cuts_of_xfs(self):
        self.run_power_cuts("xfs")

    def test_power_cuts_of_btrfs(self):
        self.run_power_cuts("btrfs")

    def test_a_power_cut_shows_what_was_not_synced(self):
        """That the disk here is as bad as disks are: a program that does not sync loses its output."""
        case = Case("unsynced", 1)
        cut_power(case, "ext4", command=["sh", "-c", "sort in/lines > out/new; mv out/new out/file"])
        self.assertIn("after exit 0 the output is there", [promise for promise, _ in case.broken])


def cut_power(case, kind, command=None):
    """Runs a job, or the first with another command, on a disk and then shows moments of that disk."""
    dealt = case.dealt
    job = JOBS[0] if command else dealt.choice(JOBS)
    new, _ = references[job]
    options = deal_options(dealt, job)
    way = dealt.choice(FILE_SYSTEMS[kind][2])
    with tempfile.TemporaryDirectory(prefix="xxl-power-", dir="/dev/shm") as directory:
        root = pathlib.Path(directory)
        image, here = root / "image", root / "mounted"
        here.mkdir()
        make_image(image, kind)
        before = image.read_bytes()
        with recorded_disk(root, image) as disk:
            with mounted("-o", way, disk.device, here):
                place = Place(here / "place", job, inputs(), has_old=dealt.random() < 0.8)
                subprocess.run(["sync", "-f", here], check=True)
                disk.orders[LATENCY_US] = dealt.choice((0, 0, 100, 1000))
                start = disk.now()
                status, said = place.run(options, command=command)
                end = disk.now()
                case.story = f"{place.command(options)} on {kind} ({way}): exit {status} {said}"
                case.expect("the case itself works", status == 0)
        recording = Recording(before, disk.log.read_bytes())
        first, last = recording.entries_until(start), recording.entries_until(end)
        for count in deal_cuts(dealt, first, last, len(recording.entries)):
            cut = recording.cut(count, dealt, image)
            case.story = f"{place.command(options)} on {kind} ({way}), {last - count} writes before its end, {cut}"
            with mounted("-o", f"loop,{way}", image, here):
                allowed = ("new",) if count >= last else ("old", "new")
                found = case.examine(place.at(here / "place"), new, *allowed, may_leave_names=True)
            case.outcomes[f"{found} output {'after' if count >= last else 'before'} its end"] += 1


def deal_cuts(dealt, first, last, total):
    """In order; more of them about the end of the job, which was after `last` of the writes."""
    near = max(first, last - 12)
    return sorted([dealt.randint(first, last) for _ in range(CUTS // 2)] +
                  [dealt.randint(near, last) for _ in range(CUTS - CUTS // 2 - 2)] +
                  [last, dealt.randint(last, total)])


def tearDownModule():
    print("\nWhat came of it:")
    for (test, outcome), number in sorted(outcomes.items()):
        print(f"  {test:30} {outcome:40} {number:7}")
    print("Promises, how often they were checked and broken:")
    for promise, number in sorted(checked.items()):
        print(f"  {promise:71} {number:7} {broken[promise]:3}")


def add_options(parser):
    parser.add_argument("--seed", default="1", help="of all that is dealt")
    parser.add_argument("--kills", type=int, default=100, help="how many in all")
    parser.add_argument("--power-cuts", type=int, default=60, help="how many in all")
    parser.add_argument("--minutes", type=float, default=0, help="go on for so long instead")
    parser.add_argument("--case", type=int, help="only this number of each test")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="cases side by side")


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and programs leave that so
    sys.exit(whole_process.main(sys.modules[__name__], add_options))
