#!/usr/bin/env python3
"""Random text and options of sort(1), through xxl called as sort and through the installed GNU sort:
the same bytes on standard output, the same messages, the same exit status.

Each case has a seed of its own; a failing one is printed as a command line that repeats it, and as
one for the shell.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

TIMEOUT_SECONDS = 120
SEEDS_AT_ONCE = 50  # cases that a process takes at a time
MAX_SHOWN_BYTES = 400
LARGE_INPUT_BYTES = 12 << 20  # more than the least memory of xxl: goes through scratch space

WORDS = ["a", "b", "B", "aa", "ab", "Ab", "aB", "abc", "a-b", "a b", "a.b", "_a", "-", ".", "", "x1",
         "x10", "x2", "Zebra", "zebra", "the", "The", "THE", "co-op", "coop", "CO-OP"]
WIDE_WORDS = ["é", "e", "É", "ü", "U", "ß", "ss", "ø", "naïve", "naive", "日本", "ñ", "Å", "œ", "æ", "Ω", "ch", "Ch",
              "h", "lj", "№ 5", "5€", "5 €", "“a”", "a—b", "a-b", "e\u0301", "a\u200db", "ש", "ﷺ", "ไก่", "ก", "ệ", "ệ", "ｱ",
              "㍿", "ж", "Ж", "😀", "한", "0-B", "0b", "«b»"]
NUMBERS = ["0", "-0", "1", "-1", "10", "9", "09", "1.5", "1.50", "-1.5", ".5", "-.5", "1,000", "1000",
           "1e3", "1E-2", "0x1f", "inf", "-inf", "nan", "+1", "--1", "1.2.3", "12345678901234567890",
           "12345678901234567891", "-12345678901234567890", "0.00000000000000000001", "1.", "1-", "",
           "00", "-00.0", "1e400", "-1e400", "1e-400", "infinity", "NaN", "1_0", "1 000", "-", "."]
SIZES = ["1K", "1k", "1M", "1000K", "2G", "1.5M", "-1K", "0K", "10", "999999", "1T", "1P", "1E", "1Z",
         "1Y", "1R", "K", "1KB", "1Ki", "-2G", "0", "-0M", "1.1G", "1m"]
MONTHS = ["JAN", "jan", "Feb", "march", "APR", "may", "MAYBE", "Jun", "jul", "aug", "SEP", "sept", "Oct",
          "nov", "DEC", "de", "", "foo", " Jan", "Jan1"]
VERSIONS = ["1.0", "1.10", "1.9", "1.0~rc1", "1.0-2", "a1", "a01", "a001", "v1.2.3", "v1.2.10", "1.2.3.tar.gz",
            "1.2.3.tar", "foo-1.2.rpm", "foo-1.10.rpm", ".a", ".", "..", "", "a~", "a", "~", "1..2", "a.b.c",
            "lib.so.1", "lib.so.10", "A", "a-b", "1~", "1~~", "09", "9", "9a", "x.y~"]
POOLS = [WORDS, NUMBERS, SIZES, MONTHS, VERSIONS]
SEPARATORS = [" ", " ", "\t", ",", ":", ";", "  ", " \t", "-", ".", "a", "1", "\0"]


@dataclasses.dataclass
class Case:
    seed: int
    locale: str
    arguments: list  # bytes
    files: dict  # name: content
    stdin: bytes
    presorted: list  # files that are to be sorted first, by the same keys
    key_arguments: list  # those of `arguments` that say what the order is
    outputs: list  # files to compare
    environment: dict


# GNU sort orders several NaNs by bytes of a long double that nobody has set.
NAN = re.compile(rb"nan", re.IGNORECASE)


# Text


def random_bytes_line(rng):
    alphabet = rng.choice([b"ab", b"aB \t", b"01.", bytes(range(256)), bytes(range(1, 128)),
                           b"a\x00b", b" \t", b"-_.ab", "éeEa\u0301".encode(), b"\xff\xfea"])
    return bytes(rng.choices(alphabet, k=rng.choice([0, 1, 2, 3, 5, 8, 20])))


def random_field(rng, pool):
    roll = rng.random()
    if roll < 0.05:
        return random_bytes_line(rng)
    if roll < 0.15:
        return str(rng.randint(-1000, 1000)).encode()
    if roll < 0.25:
        return f"{rng.uniform(-100, 100):.{rng.randint(0, 4)}f}".encode()
    return rng.choice(pool).encode()


def random_line(rng, pool, separator):
    count = rng.choice([0, 1, 1, 2, 2, 3, 4, 6])
    lead = rng.choice([b"", b"", b"", b" ", b"\t", b"  "])
    trail = rng.choice([b"", b"", b"", b" "])
    return lead + separator.join(random_field(rng, pool) for _ in range(count)) + trail


def random_lines(rng, wide, separator):
    pool = rng.choice(POOLS) if rng.random() < 0.8 else [word for pool in POOLS for word in pool]
    if wide and rng.random() < 0.5:
        pool = pool + WIDE_WORDS
    count = rng.choice([0, 1, 2, 5, 10, 10, 20, 20, 40, 100])
    if rng.random() < 0.1:
        lines = [random_bytes_line(rng) for _ in range(count)]
    else:
        lines = [random_line(rng, pool, separator) for _ in range(count)]
    if rng.random() < 0.2 and lines:  # many duplicates
        lines = rng.choices(lines[:max(1, len(lines) // 4)], k=count)
    return lines


def join_lines(rng, lines, terminator):
    text = terminator.join(lines)
    if lines and rng.random() < 0.85:
        text += terminator
    return text


def large_text(rng, terminator):
    style = rng.choice(["numbers", "words", "prefix", "long", "equal"])
    lines = []
    size = 0
    while size < LARGE_INPUT_BYTES:
        if style == "numbers":
            line = b"%d %d" % (rng.getrandbits(40), rng.getrandbits(10))
        elif style == "words":
            line = " ".join(rng.choices(WORDS, k=8)).encode()
        elif style == "prefix":
            line = b"https://example.org/a/long/common/prefix/%08d" % rng.getrandbits(20)
        elif style == "long":
            line = rng.randbytes(rng.choice([10, 1000, 100000])).replace(terminator, b"")
        else:
            line = b"equal %d" % rng.getrandbits(1)
        lines.append(line)
        size += len(line) + 1
    return join_lines(rng, lines, terminator)


# Options


def random_flags(rng, at_key):
    """Ordering options that go together, mostly."""
    kind = rng.choice(["", "", "", "n", "n", "g", "h", "M", "V", "R", "d", "i", "f", "df", "if", "Vf", "Rf",
                       "di", "fV", "dV", "iV", "nf", "gf", "Mf", "hf"])
    if rng.random() < 0.03:
        kind += rng.choice("ngMhVRdi")
    flags = list(kind)
    if rng.random() < 0.25:
        flags.append("r")
    if rng.random() < 0.3:
        flags.append("b")
    rng.shuffle(flags)
    if "R" in kind and at_key and rng.random() < 0.5:
        flags.remove("R")
    return "".join(flags)


def random_position(rng, start):
    field = rng.choice([1, 1, 1, 2, 2, 3, 4, 7])
    roll = rng.random()
    if roll < 0.6:
        return str(field)
    return f"{field}.{rng.choice([1, 1, 2, 3, 5, 100] if start else [0, 1, 2, 3, 5, 100])}"


def random_key(rng):
    own = rng.random() < 0.5
    key = random_position(rng, True) + (random_flags(rng, True) if own else "")
    if rng.random() < 0.7:
        key += "," + random_position(rng, False)
        if own and rng.random() < 0.3:
            key += rng.choice(["b", "b", "r", "n", "f"])
    if rng.random() < 0.01:
        key = rng.choice(["0", "1,0", "x", "1.0", "1,x", "1.", "1,", "1n,2q", "", "1.2.3", "2,1", "99999999999999999999"])
    return key


def random_obsolescent_key(rng):
    key = [f"+{rng.randint(0, 3)}" + rng.choice(["", "", f".{rng.randint(0, 3)}"]) + rng.choice(["", "n", "b", "r"])]
    if rng.random() < 0.6:
        key.append(f"-{rng.randint(0, 4)}" + rng.choice(["", "", f".{rng.randint(0, 3)}"]) + rng.choice(["", "b"]))
    return key


def random_order(rng, separator):
    """Arguments that say what the order of lines is."""
    arguments = []
    if rng.random() < 0.5:
        flags = random_flags(rng, False)
        if flags and rng.random() < 0.8:
            arguments.append("-" + flags)
        else:
            words = {"n": "--sort=numeric", "g": "--general-numeric-sort", "r": "--reverse", "f": "--ignore-case",
                     "b": "--ignore-leading-blanks", "d": "--dictionary-order", "M": "--sort=month", "V": "--version-sort",
                     "h": "--sort=human-numeric", "i": "--ignore-nonprinting", "R": "--sort=random"}
            arguments += [words[flag] for flag in flags]
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        roll = rng.random()
        if roll < 0.05:
            arguments += random_obsolescent_key(rng)
        elif roll < 0.5:
            arguments += ["-k", random_key(rng)]
        else:
            arguments.append(rng.choice(["-k", "--key="]) + random_key(rng))
    if separator and rng.random() < 0.7 or rng.random() < 0.1:
        tab = separator[:1] or rng.choice(SEPARATORS).encode()[:1]
        arguments += ["-t", "\\0" if tab == b"\0" else tab]
    if rng.random() < 0.25:
        arguments.append(rng.choice(["-s", "--stable"]))
    if rng.random() < 0.25:
        arguments.append(rng.choice(["-u", "--unique"]))
    if any("R" in str(argument) or "random" in str(argument) for argument in arguments):
        arguments.append("--random-source=random")
    return [argument.encode() if isinstance(argument, str) else argument for argument in arguments]


def random_resources(rng):
    arguments = []
    if rng.random() < 0.4:
        arguments += rng.choice([["-S", "1b"], ["-S1K"], ["-S", "64k"], ["--buffer-size=1M"], ["-S", "8M"], ["-S1%"]])
    if rng.random() < 0.3:
        arguments.append(f"--parallel={rng.choice([1, 2, 3, 8])}")
    if rng.random() < 0.2:
        arguments.append(f"--batch-size={rng.choice([2, 3, 16])}")
    if rng.random() < 0.1:
        arguments += ["-T", "."]
    return [argument.encode() for argument in arguments]


def is_general_numeric(argument):
    return argument[:1] != b"-" and b"g" in argument or re.match(rb"--gen|--key|-[^-]*g", argument) is not None


def distribute(rng, case, texts, operands):
    """Gives the texts to files and, perhaps, standard input."""
    for index, text in enumerate(texts):
        if rng.random() < 0.3 and not case.stdin and b"-" not in operands:
            case.stdin = text
            if len(texts) > 1 or rng.random() < 0.5:
                operands.append(b"-")
        else:
            case.files[f"in{index}"] = text
            operands.append(f"in{index}".encode())


def random_case(seed, locales, large):
    rng = random.Random(seed)
    locale = locales[seed % len(locales)]
    case = Case(seed, locale, [], {"random": bytes(random.Random(seed * 7 + 1).randbytes(64))}, b"", [], [], [], {})
    separator = rng.choice(SEPARATORS).encode()
    case.key_arguments = random_order(rng, separator)
    if rng.random() < 0.15:
        case.key_arguments.append(rng.choice([b"-z", b"--zero-terminated"]))
    zero = any(argument in (b"-z", b"--zero-terminated") for argument in case.key_arguments)
    # Large texts have records that fit in the least memory.
    terminator = b"\0" if zero and (large or rng.random() < 0.9) else b"\n"
    wide = locale != "C" or rng.random() < 0.2

    mode = rng.choices(["sort", "merge", "check", "debug", "replace", "odd"], [70, 9, 12, 4, 3, 2])[0]
    count = 1 if mode in ("check", "replace") else rng.choice([1, 1, 1, 2, 3])
    if large:
        mode = rng.choice(["sort", "sort", "merge"])
        texts = [large_text(rng, terminator)]
    else:
        texts = [join_lines(rng, random_lines(rng, wide, separator), terminator) for _ in range(count)]
    if any(is_general_numeric(argument) for argument in case.key_arguments):
        texts = [NAN.sub(b"num", text) for text in texts]
    operands = []
    arguments = case.key_arguments + random_resources(rng)
    if mode == "replace":
        case.files["in0"] = texts[0]
        operands = [b"in0"]
        arguments += rng.choice([[b"-o", b"in0"], [b"-oin0"], [b"--output=in0"]])
        case.outputs = ["in0"]
    else:
        distribute(rng, case, texts, operands)
    if mode == "merge":
        arguments.append(rng.choice([b"-m", b"--merge"]))
        case.presorted = [*case.files, "-"]
    elif mode == "check":
        arguments.append(rng.choice([b"-c", b"-c", b"-C", b"--check", b"--check=quiet", b"--check=diagnose-first"]))
        if rng.random() < 0.6:
            case.presorted = [*case.files, "-"]
    elif mode == "debug":
        arguments.append(b"--debug")
    elif mode == "odd":
        arguments.append(rng.choice([b"-x", b"-o", b"missing", b"--nothing", b"-c", b"-tab", b"-S", b"--so=x", b"+x", b"-Sx",
                                     b"--parallel=0", b"--batch-size=1", b"-k", b".", b"--c", b"--files0-from=in0"]))
    pieces = [*([argument] for argument in operands)] if rng.random() < 0.1 else []
    if pieces and not any(argument.startswith(b"+") for argument in arguments):
        case.arguments = operands + arguments  # options behind files
    else:
        case.arguments = arguments + operands
    if rng.random() < 0.02:
        case.environment["POSIXLY_CORRECT"] = "1"
    return case


# Running


def run(program, arguments, case, directory):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": case.locale, "LANGUAGE": "en", "TMPDIR": str(directory),
                   **case.environment}
    return subprocess.run([b"sort", *arguments], executable=program, cwd=directory, env=environment,
                          input=case.stdin, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)


def presort(case, gnu, directory):
    """Sorts the inputs of a merge or check by the keys of the case, with GNU sort."""
    for name in case.presorted:
        content = case.stdin if name == "-" else case.files[name]
        if name == "random":
            continue
        done = subprocess.run([b"sort", *case.key_arguments], executable=gnu, cwd=directory, input=content,
                              env={"LC_ALL": case.locale}, capture_output=True, check=False)
        if name == "-":
            case.stdin = done.stdout
        else:
            case.files[name] = done.stdout


def write_files(case, directory):
    for name, content in case.files.items():
        (directory / name).write_bytes(content)


def first_difference(expected, actual):
    place = next((i for i, (a, b) in enumerate(zip(expected, actual)) if a != b), min(len(expected), len(actual)))
    start = max(0, place - 60)
    return (f"{len(actual)} bytes instead of {len(expected)}, from byte {place}:\n"
            f"    expected {expected[start:place + 80]!r}\n    actual   {actual[start:place + 80]!r}")


def shell_command(case):
    """The case as a line for the shell, if its inputs are small."""
    lines = []
    contents = {**case.files, "-": case.stdin}
    for name, content in contents.items():
        if name == "random" or len(content) > MAX_SHOWN_BYTES:
            continue
        octal = "".join(chr(b) if 32 <= b < 127 and b not in b"'\\%" else f"\\{b:03o}" for b in content)
        lines.append(f"printf '{octal}' {'|' if name == '-' else '> ' + name + ';'}")
    environment = " ".join(f"{name}={value}" for name, value in {"LC_ALL": case.locale, **case.environment}.items())
    words = " ".join(shlex.quote(os.fsdecode(argument)) for argument in case.arguments)
    return " ".join(lines + [environment, "sort", words]).encode("utf-8", "backslashreplace").decode()


def run_case(seed, settings):
    """None if both agree, else what differs."""
    case = random_case(seed, settings.locales, settings.is_large(seed))
    with tempfile.TemporaryDirectory(prefix="xxl-sort-", dir=settings.directory) as root:
        directory = pathlib.Path(root)
        write_files(case, directory)
        presort(case, settings.gnu, directory)
        results = []
        # GNU sort takes the largest of several sizes; with the least it would take minutes.
        more_memory = [b"-S64M"] if settings.is_large(seed) else []
        for program, arguments in ((settings.gnu, more_memory + case.arguments), (settings.sort, case.arguments)):
            write_files(case, directory)
            try:
                done = run(program, arguments, case, directory)
            except subprocess.TimeoutExpired:
                return f"{program} is still running after {TIMEOUT_SECONDS} seconds\n  {shell_command(case)}"
            files = [(directory / name).read_bytes() for name in case.outputs]
            results.append((done, files))
    (expected, expected_files), (actual, actual_files) = results
    problems = []
    if actual.returncode != expected.returncode:
        problems.append(f"status {actual.returncode} instead of {expected.returncode}")
    for name, left, right in [("standard output", expected.stdout, actual.stdout),
                              ("standard error", expected.stderr, actual.stderr),
                              *(("output file", *pair) for pair in zip(expected_files, actual_files))]:
        if left != right:
            problems.append(f"{name}: {first_difference(left, right)}")
    if not problems:
        return None
    return "\n  ".join([*problems, shell_command(case)])


@dataclasses.dataclass
class Settings:
    sort: str  # a link of that name to xxl
    gnu: str
    locales: list
    directory: str
    first_large: int  # seeds from here on make large inputs

    def is_large(self, seed):
        return seed >= self.first_large


def run_seeds(seeds, settings):
    counts = {}
    failures = []
    for seed in seeds:
        locale = settings.locales[seed % len(settings.locales)]
        passed, total = counts.get(locale, (0, 0))
        try:
            problem = run_case(seed, settings)
        except OSError as error:
            problem = str(error)
        counts[locale] = (passed + (problem is None), total + 1)
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
        "testsuite", name="sort_differential", tests=str(cases), failures=str(len(failures)),
        time=f"{seconds:.3f}")
    for seed, problem in failures:
        element = xml.etree.ElementTree.SubElement(suite, "testcase", name=f"seed {seed}")
        text = "".join(c if c.isprintable() or c == "\n" else "?" for c in problem)
        xml.etree.ElementTree.SubElement(element, "failure").text = text
    xml.etree.ElementTree.ElementTree(suite).write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", required=True, help="the program to test")
    parser.add_argument("--gnu", default=shutil.which("sort"), help="the sort to compare with")
    parser.add_argument("--cases", type=int, default=2500)
    parser.add_argument("--large", type=int, default=10, help="further cases with inputs larger than memory")
    parser.add_argument("--seed", type=int, help="seed of the first case (default: from the clock)")
    parser.add_argument("--locales", 
                        default="C,C.UTF-8,en_US.UTF-8,es_ES.UTF-8,cs_CZ.UTF-8,ja_JP.UTF-8,th_TH.UTF-8,en_US.ISO-8859-1",
                        help="separated by commas")
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
    with tempfile.TemporaryDirectory(prefix="xxl-sort-differential-") as root:
        link = pathlib.Path(root) / "sort"
        link.symlink_to(pathlib.Path(arguments.xxl).resolve())
        settings = Settings(str(link), arguments.gnu, installed_locales(arguments.locales.split(",")), root,
                            first + arguments.cases)
        seeds = range(first, first + arguments.cases + arguments.large)
        chunks = [seeds[i:i + SEEDS_AT_ONCE] for i in range(0, len(seeds), SEEDS_AT_ONCE)]
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
            for some_counts, some_failures in pool.map(run_seeds, chunks, [settings] * len(chunks)):
                for locale, (passed, total) in some_counts.items():
                    before = counts.get(locale, (0, 0))
                    counts[locale] = (before[0] + passed, before[1] + total)
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
    for locale, (passed, count) in sorted(counts.items()):
        print(f"{locale}: {passed} of {count} passed")
    print(f"{total - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
