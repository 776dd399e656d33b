"""Options of the tests, and what many of them use."""

import os
import subprocess
import sys
import textwrap

import pytest


def pytest_addoption(parser):
    parser.addoption("--differential-count", type=int, default=200,
                     help="random sorts, and half as many random joins")
    parser.addoption("--differential-seed", type=int, default=1, help="of the first of them")


def pytest_generate_tests(metafunc):
    option = metafunc.config.getoption
    first, count = option("--differential-seed"), option("--differential-count")
    if "sort_seed" in metafunc.fixturenames:
        metafunc.parametrize("sort_seed", range(first, first + count))
    if "join_seed" in metafunc.fixturenames:
        metafunc.parametrize("join_seed", range(first, first + (count + 1) // 2))


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """The test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a process of its own; gives what it did."""

    def run(program, *arguments, timeout=240):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
            cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=timeout,
            capture_output=True, text=True, check=False,
        )

    return run


@pytest.fixture
def totals_while_forming_runs():
    """Runs a sort; returns the pairs (bytes done, bytes in all) that progress told while runs were formed."""

    def totals(rows, sort):
        """Calls sort(rows, progress). A fast machine may tell nothing: then with twice the rows, and so on."""
        seen = []

        def progress(phase, done, total):
            if phase == "forming runs" and done > 0:
                seen.append((done, total))

        for doubled in range(5):
            sort(rows << doubled, progress)
            if seen:
                break
        return seen

    return totals
