#!/usr/bin/env python3
"""Random text and options of sort(1), through xxl called as sort and through the installed GNU sort:
the same bytes on standard output, the same messages, the same exit status.

Each case has a seed of its own; a failing one is printed as a command line that repeats it, and as
one for the shell.
"""

import dataclasses
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import random_cases

TIMEOUT_SECONDS = 120
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


def run_case(seed, settings):
    """The locale of the case, and None if both agree, else what differs."""
    locale, large = random_cases.locale_of(seed, settings), random_cases.is_large(seed, settings)
    case = random_case(seed, settings.locales, large)
    with tempfile.TemporaryDirectory(prefix="xxl-sort-", dir=settings.directory) as root:
        directory = pathlib.Path(root)
        write_files(case, directory)
        presort(case, settings.gnu, directory)
        shown = random_cases.shell_command(case, "sort", case.environment)
        results = []
        # GNU sort takes the largest of several sizes; with the least it would take minutes.
        more_memory = [b"-S64M"] if large else []
        for program, arguments in ((settings.gnu, more_memory + case.arguments), (settings.link, case.arguments)):
            write_files(case, directory)
            try:
                done = run(program, arguments, case, directory)
            except subprocess.TimeoutExpired:
                return locale, f"{program} is still running after {TIMEOUT_SECONDS} seconds\n  {shown}"
            files = [(directory / name).read_bytes() for name in case.outputs]
            results.append((done, files))
    (expected, expected_files), (actual, actual_files) = results
    problems = random_cases.difference_of_status(expected.returncode, actual.returncode)
    problems += random_cases.difference("standard output", expected.stdout, actual.stdout)
    problems += random_cases.difference("standard error", expected.stderr, actual.stderr)
    for pair in zip(expected_files, actual_files):
        problems += random_cases.difference("output file", *pair)
    return locale, "\n  ".join([*problems, shown]) if problems else None


LOCALES = "C,C.UTF-8,en_US.UTF-8,es_ES.UTF-8,cs_CZ.UTF-8,ja_JP.UTF-8,th_TH.UTF-8,en_US.ISO-8859-1"

if __name__ == "__main__":
    sys.exit(random_cases.compare_with_gnu("sort", __doc__, run_case, 1500, 10, LOCALES))
