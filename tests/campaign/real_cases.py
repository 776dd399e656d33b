"""Cases of trouble: what is dealt to them, processes that run them side by side, and what is counted."""

import collections
import concurrent.futures
import ctypes
import multiprocessing
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

import real_jobs
import whole_process  # below tests/cli, where real_jobs found it
from real_jobs import JOBS, Place
from whole_process import bytes_transferred, wait_until

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


def examine_end(case, place, new, status, said):
    """Of a program that ended by itself."""
    if status == 0:
        case.examine(place, new, "new")
    else:
        case.expect("a failure is told in one line, with exit status 2", status == 2 and said.count("\n") == 1)
        case.examine(place, new, "old")


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
        references.learn_all()

    def needs_file_system(self, kind):
        if shutil.which(f"mkfs.{kind}") is None:
            print(f"SKIPPED: {self.id()}: no mkfs.{kind}", file=sys.stderr)
            self.skipTest(f"no mkfs.{kind}")

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
        if whole_process.OPTIONS.verbose:
            print(f"{case.test} {case.number}: {case.story}")
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


def report():
    print("\nWhat came of it:")
    for (test, outcome), number in sorted(outcomes.items()):
        print(f"  {test:30} {outcome:40} {number:7}")
    print("Promises, how often they were checked and broken:")
    for promise, number in sorted(checked.items()):
        print(f"  {promise:71} {number:7} {broken[promise]:3}")
