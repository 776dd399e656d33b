"""Jobs of the real program on disks that lose power at a random moment, and what the file system then finds."""

import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import whole_process  # below tests/cli, where real_jobs found it
from output_file import mounted
from real_cases import Case, RealMachine, inputs, references
from real_jobs import JOBS, Place, deal_options
from recorded_disk import FILE_SYSTEMS, LATENCY_US, Recording, make_image, recorded_disk

CUTS = 10  # of a run


class PowerCuts(RealMachine):
    """A job on a disk that loses power at a random moment, and what the file system then finds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.path.exists("/dev/fuse"):
            print("SKIPPED: power cuts: no /dev/fuse, by which a disk could be shown", file=sys.stderr)
            raise unittest.SkipTest("no /dev/fuse")

    def run_power_cuts(self, kind):
        self.needs_file_system(kind)
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
