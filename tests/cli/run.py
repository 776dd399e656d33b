#!/usr/bin/env python3
"""Runs the command-line tests: cases/*.case against a built xxl.

A .case file holds any number of cases:

    === title of the case                  (a comment line before the first case starts with #)
    printf 'abcabd' > in                   commands for sh
    xxl sort --record=fixed:3 in
    --- stdout                             expected standard output of all commands together
    abcabd
    --- stderr                             expected standard error
    ~ xxl: sort: .* out of order           a line after "~ " is a regular expression for one line
    --- status 1                           expected exit status of the last command

A section that is missing means: nothing printed, status 0. A line "..." stands for any number of
lines. Each case runs in a fresh directory of its own with xxl and records (records.py) in the PATH,
standard input empty, LC_ALL=C and TMPDIR a directory `scratch` beside the case's own.
"""

import argparse
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from junit import write_junit

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 600


@dataclasses.dataclass
class Case:
    file: str
    line: int
    title: str
    commands: str
    stdout: list
    stderr: list
    status: int

    @property
    def name(self):
        return f"{pathlib.Path(self.file).stem}: {self.title}"


@dataclasses.dataclass
class Result:
    case: Case
    seconds: float
    problems: list  # texts; empty: passed


def check_expression(path, number, expression):
    try:
        re.compile(expression)
    except re.error as error:
        raise ValueError(f"{path}:{number}: {error}: {expression}") from error


def parse_cases(path):
    """The cases of one file; raises ValueError with the line of a mistake."""
    cases = []
    section = None  # the list that lines go to
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.startswith("=== "):
            sections = {"commands": [], "stdout": [], "stderr": []}
            cases.append((number, line[4:], sections, [0]))
            section = sections["commands"]
        elif line in ("--- stdout", "--- stderr") and cases:
            section = cases[-1][2][line[4:]]
        elif re.fullmatch(r"--- status \d+", line) and cases:
            cases[-1][3][0] = int(line.split()[2])
            section = None
        elif section is not None:
            if line.startswith("~ "):
                check_expression(path, number, line[2:])
            section.append(line)
        elif line and not line.startswith("#"):
            raise ValueError(f"{path}:{number}: not part of a case: {line}")
    for _, _, sections, _ in cases:  # an empty line between cases belongs to neither
        for lines in sections.values():
            while lines and not lines[-1].strip():
                lines.pop()
    return [
        Case(str(path), number, title, "\n".join(s["commands"]), s["stdout"], s["stderr"], status[0])
        for number, title, s, status in cases
    ]


def line_matches(expected, actual):
    if expected.startswith("~ "):
        return re.fullmatch(expected[2:], actual) is not None
    return expected == actual


def text_matches(expected, actual):
    """Whether the lines match, "..." standing for any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(text_matches(expected[1:], actual[skip:]) for skip in range(len(actual) + 1))
    return bool(actual) and line_matches(expected[0], actual[0]) and text_matches(expected[1:], actual[1:])


def run_case(case, directory, bin_directory):
    work = directory / "work"
    scratch = directory / "scratch"
    work.mkdir(parents=True)
    scratch.mkdir()
    environment = dict(os.environ, LC_ALL="C", TMPDIR=str(scratch))
    environment["PATH"] = f"{bin_directory}:{environment['PATH']}"
    start = time.monotonic()
    problems = []
    try:
        done = subprocess.run(
            ["sh", "-c", case.commands], cwd=work, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        outputs = {"stdout": done.stdout, "stderr": done.stderr}
        for name, data in outputs.items():
            expected = getattr(case, name)
            actual = data.decode(errors="backslashreplace").splitlines()
            if not text_matches(expected, actual):
                problems.append("\n".join(difflib.unified_diff(
                    expected, actual[:200], f"expected {name}", f"actual {name}", lineterm="")))
        if done.returncode != case.status:
            problems.append(f"expected status {case.status}, actual status {done.returncode}")
    except subprocess.TimeoutExpired:
        problems.append(f"still running after {TIMEOUT_SECONDS} seconds")
    left_behind = [path.name for path in scratch.iterdir()] if scratch.is_dir() else []
    if left_behind:
        problems.append(f"left behind in the scratch directory: {' '.join(left_behind)}")
    shutil.rmtree(directory, ignore_errors=True)
    return Result(case, time.monotonic() - start, problems)


def make_bin_directory(root, xxl):
    """A directory for the PATH with the programs that cases call."""
    directory = root / "bin"
    directory.mkdir()
    (directory / "xxl").symlink_to(pathlib.Path(xxl).resolve())
    (directory / "records").symlink_to(HERE / "records.py")
    return directory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", required=True, help="the program to test")
    parser.add_argument("--jobs", "-j", type=int, default=1, help="cases at the same time")
    parser.add_argument("--junit", help="write results as JUnit XML to this file")
    parser.add_argument("--only", help="run only cases whose name contains this regular expression")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="default: all of cases/")
    arguments = parser.parse_args()

    files = arguments.files or sorted((HERE / "cases").glob("*.case"))
    cases = [case for file in files for case in parse_cases(file)]
    if arguments.only:
        cases = [case for case in cases if re.search(arguments.only, case.name)]

    results = []
    with tempfile.TemporaryDirectory(prefix="xxl-cli-") as root_name:
        root = pathlib.Path(root_name)
        bin_directory = make_bin_directory(root, arguments.xxl)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            running = [
                pool.submit(run_case, case, root / str(index), bin_directory)
                for index, case in enumerate(cases)
            ]
            for future in running:
                result = future.result()
                results.append(result)
                if result.problems:
                    print(f"FAILED {result.case.name} ({result.case.file}:{result.case.line})")
                    print("\n".join(result.problems), flush=True)
    if arguments.junit:
        write_junit(arguments.junit, "cli", len(results),
                    [(result.case.name, result.seconds, "\n".join(result.problems)) for result in results])
    failed = sum(1 for result in results if result.problems)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
