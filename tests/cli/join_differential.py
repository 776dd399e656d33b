#!/usr/bin/env python3
"""Random inputs and options of join, compared with what others make of them:

  stand-in   xxl called as join, with the installed GNU join: the same bytes on standard output, the
             same messages, the same exit status, also for input that is not sorted
  lines      xxl join of lines in any order, with GNU sort and GNU join behind it
  rows       xxl join of CSV and TSV, with a join in Python

Each case has a seed of its own; a failing one is printed as a command line that repeats it, and as
one for the shell.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import random_cases
from join_case import TIMEOUT_SECONDS, outcome, run
from join_line_cases import lines_case, stand_in_case
from join_row_cases import rows_case


def random_case(seed, settings):
    rng = random.Random(seed)
    locale = random_cases.locale_of(seed, settings)
    if random_cases.is_large(seed, settings):
        return rows_case(rng, True) if rng.random() < 0.3 else lines_case(rng, settings, locale, True)
    roll = rng.random()
    if roll < 0.45:
        return stand_in_case(rng, settings, locale)
    if roll < 0.75:
        return lines_case(rng, settings, locale, False)
    return rows_case(rng, False)


def run_case(seed, settings):
    """The kind of the case, and None if both agree, else what differs."""
    case = random_case(seed, settings)
    program, called = (settings.link, "join") if case.kind == "stand-in" else (settings.xxl, "xxl")
    with tempfile.TemporaryDirectory(prefix="xxl-join-", dir=settings.directory) as root:
        directory = pathlib.Path(root)
        if hasattr(case, "prepare"):
            case.prepare(directory)
        for name, content in case.files.items():
            (directory / name).write_bytes(content)
        shown = random_cases.shell_command(case, called, {})
        try:
            expected = case.expect(directory)
            actual = outcome(run(program, called, case, case.arguments, directory))
        except subprocess.TimeoutExpired:
            return case.kind, f"still running after {TIMEOUT_SECONDS} seconds\n  {shown}"
        except subprocess.CalledProcessError as error:
            return case.kind, f"the program compared with failed: {error.stderr}\n  {shown}"
        if getattr(case, "reads_output", False) and (directory / "out").exists():
            actual = (actual[0], (directory / "out").read_bytes(), actual[2])
    problems = random_cases.difference_of_status(expected[0], actual[0])
    problems += random_cases.difference("standard output", expected[1], actual[1])
    problems += random_cases.difference("standard error", expected[2], actual[2])
    return case.kind, "\n  ".join([*problems, shown]) if problems else None


if __name__ == "__main__":
    sys.exit(random_cases.compare_with_gnu("join", __doc__, run_case, 1000, 12, "C,C.UTF-8,en_US.UTF-8"))
