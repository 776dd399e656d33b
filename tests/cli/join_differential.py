#!/usr/bin/env python3
"""Random inputs and options of join, compared with what others make of them:

  stand-in   xxl called as join, with the installed GNU join: the same bytes on standard output, the
             same messages, the same exit status, also for input that is not sorted
  lines      xxl join of lines in any order, with GNU sort and GNU join behind it
  rows       xxl join of CSV and TSV, with a join in Python

Each case has a seed of its own; a failing one is printed as a command line that repeats it, and as
one for the shell.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from join_case import TIMEOUT_SECONDS, outcome, run
from join_line_cases import lines_case, stand_in_case
from join_row_cases import rows_case

SEEDS_AT_ONCE = 50  # cases that a process takes at a time
MAX_SHOWN_BYTES = 400


def random_case(seed, settings):
    rng = random.Random(seed)
    locale = settings.locales[seed % len(settings.locales)]
    if settings.is_large(seed):
        return rows_case(rng, True) if rng.random() < 0.3 else lines_case(rng, settings, locale, True)
    roll = rng.random()
    if roll < 0.45:
        return stand_in_case(rng, settings, locale)
    if roll < 0.75:
        return lines_case(rng, settings, locale, False)
    return rows_case(rng, False)


def first_difference(expected, actual):
    place = next((i for i, (a, b) in enumerate(zip(expected, actual)) if a != b), min(len(expected), len(actual)))
    start = max(0, place - 60)
    return (f"{len(actual)} bytes instead of {len(expected)}, from byte {place}:\n"
            f"    expected {expected[start:place + 80]!r}\n    actual   {actual[start:place + 80]!r}")


def shell_command(case):
    """The case as a line for the shell, if its inputs are small."""
    lines = []
    for name, content in {**case.files, "-": case.stdin}.items():
        if len(content) > MAX_SHOWN_BYTES:
            continue
        octal = "".join(chr(b) if 32 <= b < 127 and b not in b"'\\%" else f"\\{b:03o}" for b in content)
        lines.append(f"printf '{octal}' {'|' if name == '-' else '> ' + name + ';'}")
    words = " ".join(shlex.quote(argument) for argument in case.arguments)
    program = "join" if case.kind == "stand-in" else "xxl"
    return " ".join(lines + [f"LC_ALL={case.locale} {program} {words}"])


def run_case(seed, settings):
    """The kind of the case, and None if both agree, else what differs."""
    case = random_case(seed, settings)
    with tempfile.TemporaryDirectory(prefix="xxl-join-", dir=settings.directory) as root:
        directory = pathlib.Path(root)
        if hasattr(case, "prepare"):
            case.prepare(directory)
        for name, content in case.files.items():
            (directory / name).write_bytes(content)
        try:
            expected = case.expect(directory)
            program, name = (settings.join, "join") if case.kind == "stand-in" else (settings.xxl, "xxl")
            actual = outcome(run(program, name, case, case.arguments, directory))
        except subprocess.TimeoutExpired:
            return case.kind, f"still running after {TIMEOUT_SECONDS} seconds\n  {shell_command(case)}"
        except subprocess.CalledProcessError as error:
            return case.kind, f"the program compared with failed: {error.stderr}\n  {shell_command(case)}"
        if getattr(case, "reads_output", False) and (directory / "out").exists():
            actual = (actual[0], (directory / "out").read_bytes(), actual[2])
    problems = []
    if actual[0] != expected[0]:
        problems.append(f"status {actual[0]} instead of {expected[0]}")
    for what, left, right in (("standard output", expected[1], actual[1]), ("standard error", expected[2], actual[2])):
        if left != right:
            problems.append(f"{what}: {first_difference(left, right)}")
    return case.kind, "\n  ".join([*problems, shell_command(case)]) if problems else None


@dataclasses.dataclass
class Settings:
    xxl: str
    join: str  # a link of that name to xxl
    gnu: str
    gnu_sort: str
    locales: list
    directory: str
    first_large: int  # seeds from here on make large inputs

    def is_large(self, seed):
        return seed >= self.first_large


def run_seeds(seeds, settings):
    counts = {}
    failures = []
    for seed in seeds:
        try:
            kind, problem = run_case(seed, settings)
        except OSError as error:
            kind, problem = "lines", str(error)
        passed, total = counts.get(kind, (0, 0))
        counts[kind] = (passed + (problem is None), total + 1)
        if problem:
            failures.append((seed, problem))
    return counts, failures


def installed_locales(wanted):
    """Those of `wanted` that there are; the others are named, loudly."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout
    known = {name.lower().replace("-", "") for name in listed.split()}
    found = [name for name in wanted if name.lower().replace("-", "") in known]
    missing = [name for name in wanted if name not in found]
    if missing:
        print(f"NOT TESTED, not installed (scripts/install_locales.sh): {' '.join(missing)}", flush=True)
    return found


def write_junit(path, failures, cases, seconds):
    suite = xml.etree.ElementTree.Element(
        "testsuite", name="join_differential", tests=str(cases), failures=str(len(failures)),
        time=f"{seconds:.3f}")
    for seed, problem in failures:
        element = xml.etree.ElementTree.SubElement(suite, "testcase", name=f"seed {seed}")
        text = "".join(c if c.isprintable() or c == "\n" else "?" for c in problem)
        xml.etree.ElementTree.SubElement(element, "failure").text = text
    xml.etree.ElementTree.ElementTree(suite).write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", required=True, help="the program to test")
    parser.add_argument("--gnu", default=shutil.which("join"), help="the join to compare with")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--large", type=int, default=12, help="further cases with inputs larger than memory")
    parser.add_argument("--seed", type=int, help="seed of the first case (default: from the clock)")
    parser.add_argument("--locales", default="C,C.UTF-8,en_US.UTF-8", help="separated by commas")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count())
    parser.add_argument("--most-failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--junit", help="write results as JUnit XML to this file")
    arguments = parser.parse_args()
    version = subprocess.run([arguments.gnu, "--version"], capture_output=True, text=True, check=True)
    first = arguments.seed if arguments.seed is not None else time.time_ns() % 10**9
    print(f"{version.stdout.splitlines()[0]}; {arguments.cases} cases and {arguments.large} large ones, "
          f"seeds from {first}", flush=True)

    start = time.monotonic()
    counts = {}
    failures = []
    with tempfile.TemporaryDirectory(prefix="xxl-join-differential-") as root:
        xxl = str(pathlib.Path(arguments.xxl).resolve())
        link = pathlib.Path(root) / "join"
        link.symlink_to(xxl)
        settings = Settings(xxl, str(link), arguments.gnu, shutil.which("sort"),
                            installed_locales(arguments.locales.split(",")), root, first + arguments.cases)
        small = range(first, first + arguments.cases)
        large = range(first + arguments.cases, first + arguments.cases + arguments.large)
        chunks = [range(seed, seed + 1) for seed in large]
        chunks += [small[i:i + SEEDS_AT_ONCE] for i in range(0, len(small), SEEDS_AT_ONCE)]
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
            for some_counts, some_failures in pool.map(run_seeds, chunks, [settings] * len(chunks)):
                for kind, (passed, total) in some_counts.items():
                    before = counts.get(kind, (0, 0))
                    counts[kind] = (before[0] + passed, before[1] + total)
                for seed, problem in some_failures:
                    print(f"FAILED {sys.argv[0]} --xxl {arguments.xxl} --seed {seed} "
                          f"{'--cases 0 --large 1' if settings.is_large(seed) else '--cases 1 --large 0'}"
                          f" --locales {settings.locales[seed % len(settings.locales)]}"
                          f"\n  {problem}", flush=True)
                failures += some_failures
                if len(failures) >= arguments.most_failures:
                    print("too many failures: stopped", flush=True)
                    pool.shutdown(wait=True, cancel_futures=True)
                    break
    total = sum(count for _, count in counts.values())
    if arguments.junit:
        write_junit(arguments.junit, failures, total, time.monotonic() - start)
    for kind, (passed, count) in sorted(counts.items()):
        print(f"{kind}: {passed} of {count} passed")
    print(f"{total - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
