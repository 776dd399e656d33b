#!/usr/bin/env python3
"""The real program in real trouble: killed and interrupted at random moments of random jobs, on disks
that lose power, fail, fill up or slow down, and within limits too small for it.

The same seed deals the same cases, though the moments are the machine's. A case that fails prints
how it is run again. With --minutes, each test goes on for an equal share of that time. All needs root;
what is skipped says so.
"""

import ctypes
import os
import signal
import subprocess
import sys

import real_cases  # which finds tests/cli
import whole_process
from real_disks import Disks  # noqa: F401
from real_kills import Kills  # noqa: F401
from real_limits import Limits  # noqa: F401
from real_power_cuts import PowerCuts  # noqa: F401

CLONE_NEWNS = 0x20000


def add_options(parser):
    parser.add_argument("--seed", default="1", help="of all that is dealt")
    parser.add_argument("--kills", type=int, default=100, help="how many in all")
    parser.add_argument("--power-cuts", type=int, default=60, help="how many in all")
    parser.add_argument("--disks", type=int, default=40, help="bad disks, how many in all")
    parser.add_argument("--limits", type=int, default=60, help="how many in all")
    parser.add_argument("--minutes", type=float, default=0, help="go on for so long instead")
    parser.add_argument("--case", type=int, help="only this number of each test")
    parser.add_argument("--verbose", action="store_true", help="tell of each case what happened")
    parser.add_argument("-j", type=int, default=os.cpu_count(), help="cases side by side")


def keep_mounts_to_oneself():
    """Nobody else can keep one of them busy, and all go with this process."""
    if whole_process.is_root() and ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)


if __name__ == "__main__":
    keep_mounts_to_oneself()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and programs leave that so
    status = whole_process.main(sys.modules[__name__], add_options)
    real_cases.report()
    sys.exit(status)
