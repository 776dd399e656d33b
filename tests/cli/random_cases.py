"""Runs random cases, each with a seed of its own, and prints a command line that repeats a failing one."""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from junit import write_junit

SEEDS_AT_ONCE = 50  # cases that a process takes at a time
MAX_SHOWN_BYTES = 400


def options_of(doc, cases, jobs):
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--xxl", required=True, help="the program to test")
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9,
                        help="seed of the first case (default: from the clock)")
    parser.add_argument("--jobs", "-j", type=int, default=jobs)
    parser.add_argument("--most-failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--junit", help="write results as JUnit XML to this file")
    return parser


def is_large(seed, settings):
    """True if the case has more input than memory: the cases after the first --cases."""
    return seed >= settings.seed + settings.cases


def run_seeds(seeds, run_case, settings):
    counts = {}
    failures = []
    for seed in seeds:
        try:
            kind, problem = run_case(seed, settings)
        except OSError as error:
            kind, problem = "not run", str(error)
        passed, total = counts.get(kind, (0, 0))
        counts[kind] = (passed + (problem is None), total + 1)
        if problem:
            failures.append((seed, problem))
    return counts, failures


def run_all(suite, run_case, settings, repeat, large=0):
    """Calls run_case(seed, settings) for each seed; it returns the kind, and what is wrong or None. Settings are those of
    options_of(), and get `directory`; repeat(seed) gives further options that repeat a case. Returns the exit status."""
    start = time.monotonic()
    print(f"{settings.cases} cases{f' and {large} large ones' if large else ''}, seeds from {settings.seed}", flush=True)
    first_large = settings.seed + settings.cases
    small = range(settings.seed, first_large)
    chunks = [range(seed, seed + 1) for seed in range(first_large, first_large + large)]
    chunks += [small[i:i + SEEDS_AT_ONCE] for i in range(0, len(small), SEEDS_AT_ONCE)]
    settings.xxl = str(pathlib.Path(settings.xxl).resolve())
    counts = {}
    failures = []
    with tempfile.TemporaryDirectory(prefix=f"xxl-{suite}-") as settings.directory, \
            concurrent.futures.ProcessPoolExecutor(settings.jobs) as pool:
        same = [[each] * len(chunks) for each in (run_case, settings)]
        for some_counts, some_failures in pool.map(run_seeds, chunks, *same):
            for kind, (passed, total) in some_counts.items():
                before = counts.get(kind, (0, 0))
                counts[kind] = (before[0] + passed, before[1] + total)
            for seed, problem in some_failures:
                print(f"FAILED {sys.argv[0]} --xxl {settings.xxl} --seed {seed} {repeat(seed)}\n  {problem}", flush=True)
            failures += some_failures
            if len(failures) >= settings.most_failures:
                print("too many failures: stopped", flush=True)
                pool.shutdown(wait=True, cancel_futures=True)
                break
    total = sum(count for _, count in counts.values())
    if settings.junit:
        write_junit(settings.junit, suite, total, [(f"seed {seed}", None, problem) for seed, problem in failures],
                    time.monotonic() - start)
    for kind, (passed, count) in sorted(counts.items()):
        print(f"{kind}: {passed} of {count} passed")
    print(f"{total - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not total else 0


# --- Comparison with a program of GNU's ---


def installed_locales(wanted):
    """The installed ones of `wanted`; the others are named, loudly."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout
    known = {name.lower().replace("-", "") for name in listed.split()}
    found = [name for name in wanted if name.lower().replace("-", "") in known]
    missing = [name for name in wanted if name not in found]
    if missing:
        print(f"NOT TESTED, not installed (scripts/install_locales.sh): {' '.join(missing)}", flush=True)
    return found


def locale_of(seed, settings):
    return settings.locales[seed % len(settings.locales)]


def compare_with_gnu(program, doc, run_case, cases, large, locales):
    """Runs cases with settings.gnu and with settings.link, which is xxl by the name of `program`. Returns the exit status."""
    parser = options_of(doc, cases, os.cpu_count())
    parser.add_argument("--gnu", default=shutil.which(program), help=f"the {program} to compare with")
    parser.add_argument("--large", type=int, default=large, help="further cases with inputs larger than memory")
    parser.add_argument("--locales", default=locales, help="separated by commas")
    settings = parser.parse_args()
    version = subprocess.run([settings.gnu, "--version"], capture_output=True, text=True, check=True)
    print(version.stdout.splitlines()[0], flush=True)
    settings.locales = installed_locales(settings.locales.split(","))

    def repeat(seed):
        numbers = "--cases 0 --large 1" if is_large(seed, settings) else "--cases 1 --large 0"
        return f"{numbers} --locales {locale_of(seed, settings)}"

    with tempfile.TemporaryDirectory(prefix=f"xxl-{program}-link-") as directory:
        settings.link = f"{directory}/{program}"
        pathlib.Path(settings.link).symlink_to(pathlib.Path(settings.xxl).resolve())
        return run_all(f"{program}_differential", run_case, settings, repeat, settings.large)


def difference(name, expected, actual):
    """The first difference as text, in a list; empty if they are equal."""
    if expected == actual:
        return []
    place = next((i for i, (a, b) in enumerate(zip(expected, actual)) if a != b), min(len(expected), len(actual)))
    start = max(0, place - 60)
    return [f"{name}: {len(actual)} bytes instead of {len(expected)}, from byte {place}:\n"
            f"    expected {expected[start:place + 80]!r}\n    actual   {actual[start:place + 80]!r}"]


def difference_of_status(expected, actual):
    return [f"status {actual} instead of {expected}"] if actual != expected else []


def shell_command(case, program, environment):
    """The case as a line for the shell, if its inputs are small."""
    words = []
    for name, content in {**case.files, "-": case.stdin}.items():
        if name == "random" or len(content) > MAX_SHOWN_BYTES:
            continue
        octal = "".join(chr(b) if 32 <= b < 127 and b not in b"'\\%" else f"\\{b:03o}" for b in content)
        words.append(f"printf '{octal}' {'|' if name == '-' else '> ' + name + ';'}")
    words += [f"{name}={value}" for name, value in {"LC_ALL": case.locale, **environment}.items()]
    words += [program, *(shlex.quote(os.fsdecode(argument)) for argument in case.arguments)]
    return " ".join(words).encode("utf-8", "backslashreplace").decode()
