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
import decimal
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
LARGE_INPUT_BYTES = 10 << 20  # more than the memory that large cases get: goes through scratch space
LARGE_MEMORY = "4M"
LARGE_ROWS = 80000

WORDS = ["a", "b", "B", "A", "aa", "ab", "Ab", "aB", "abc", "a-b", "b.c", "x1", "x10", "x2", "Zebra", "zebra", "0",
         "1", "10", "9", "the", "The", ""]
WIDE_WORDS = ["é", "e", "É", "ü", "U", "ß", "ss", "ø", "naïve", "naive", "ñ", "Å", "Ω"]
SEPARATORS = [",", ":", "\t", "a", "|", "\0"]


@dataclasses.dataclass
class Case:
    kind: str
    locale: str = "C"
    arguments: list = None  # of the program tested, texts
    files: dict = dataclasses.field(default_factory=dict)  # name: content
    stdin: bytes = b""
    expect: object = None  # makes what is expected: (status, standard output, standard error)


# Text


def random_words(rng, wide):
    pool = WORDS + WIDE_WORDS if wide else WORDS
    return rng.sample(pool, rng.choice([2, 4, 8, len(pool)]))


def random_line(rng, words, separator):
    count = rng.choice([0, 1, 2, 2, 3, 3, 4, 6])
    fields = [rng.choice(words) for _ in range(count)]
    if separator is None:
        lead = rng.choice(["", "", "", " ", "\t "])
        trail = rng.choice(["", "", "", " "])
        return lead + rng.choice([" ", " ", "\t", "  "]).join(fields) + trail
    return separator.join(fields)


def random_lines(rng, words, separator):
    count = rng.choice([0, 1, 2, 3, 5, 8, 12, 20, 40])
    lines = [random_line(rng, words, separator) for _ in range(count)]
    if rng.random() < 0.1:
        lines = [line + "\r" for line in lines]
    return [line.encode() for line in lines]


def join_lines(rng, lines, terminator):
    text = terminator.join(lines)
    if lines and rng.random() < 0.85:
        text += terminator
    return text


# Options that join(1) has


@dataclasses.dataclass
class Options:
    arguments: list
    separator: str = None  # "": the line is one field
    zero: bool = False
    ignore_case: bool = False
    header: bool = False
    fields: tuple = (1, 1)

    @property
    def terminator(self):
        return b"\0" if self.zero else b"\n"


def random_row_format(rng):
    specs = rng.choices(["0", "1.1", "1.2", "1.3", "2.1", "2.2", "2.4", "1.9"], k=rng.randint(1, 4))
    return rng.choice([",", " "]).join(specs)


def random_options(rng, with_auto):
    options = Options([])
    add = options.arguments.extend
    if rng.random() < 0.4:
        options.separator = rng.choice(SEPARATORS + [""])
        add(["-t", "\\0" if options.separator == "\0" else options.separator])
    options.zero = rng.random() < 0.1 and options.separator != "\0"
    if options.zero:
        add([rng.choice(["-z", "--zero-terminated"])])
    if rng.random() < 0.3:
        style = rng.choice(["j", "12", "1", "2"])
        field = rng.choice([1, 2, 2, 3])
        if style == "j":
            add([f"-j{field}"] if field > 2 else ["-j", str(field)])
            options.fields = (field, field)
        else:
            other = rng.choice([1, 2, 3])
            if "1" in style:
                add(["-1", str(field)])
            if "2" in style:
                add([f"-2{other}"])
            options.fields = (field if "1" in style else 1, other if "2" in style else 1)
    options.ignore_case = rng.random() < 0.15
    if options.ignore_case:
        add([rng.choice(["-i", "--ignore-case", "--ign"])])
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        add([rng.choice(["-a", "-a", "-v"]), rng.choice("12")])
    if rng.random() < 0.3:
        add(["-e", rng.choice(["EMPTY", "-", "", "e e"])])
    roll = rng.random()
    if roll < 0.3:
        add(["-o", random_row_format(rng)])
    elif roll < 0.45 and with_auto:
        add(["-o", "auto"])
    options.header = rng.random() < 0.15
    if options.header:
        add(["--header"])
    return options


# The stand-in


def spoil(rng, arguments):
    """Makes mistakes, or uses obsolescent syntax, now and then."""
    extra = rng.choice([
        ["-j1", "2"], ["-j2", "1"], ["-j1"], ["-j2"], ["-o", "1.1", "2.1"], ["-o", "0"], ["-1", "0"], ["-1", "x"],
        ["-a", "3"], ["-v", ""], ["-t", "ab"], ["-t", "x", "-t", "y"], ["-e", "x", "-e", "y"], ["-o", "3.1"],
        ["-o", "1.0"], ["-o", "12"], ["-o", "0.1"], ["-o", "1."], ["-1", "1", "-1", "2"], ["-j", "2", "-1", "1"],
        ["--h"], ["--foo"], ["-x"], ["-a"], ["--"], ["--header=1"], ["-a", " 1"], ["-a", "+2"], ["-a", "01"],
        ["-1", "99999999999999999999"], ["-o", "1.1,,2.1"], ["-o", ""], ["-o", "auto", "-o", "1.2"], ["third"],
        ["-ij1"], ["-o1.1"], ["-iv1"], ["--check"], ["--no"], ["-z"], ["--zero"], ["-1", "-1"], ["missing file"]])
    place = rng.randint(0, len(arguments))
    return arguments[:place] + extra + arguments[place:]


def stand_in_case(rng, settings, locale):
    options = random_options(rng, True)
    words = random_words(rng, locale != "C")
    files = {}
    for name in "rs":
        lines = random_lines(rng, words, options.separator or None)
        if rng.random() < 0.5:  # mostly in order
            lines.sort()
        files[name] = join_lines(rng, lines, options.terminator)
    arguments = options.arguments
    if rng.random() < 0.4:
        arguments = arguments + [rng.choice(["--check-order", "--nocheck-order"])]
    rng.shuffle(operands := ["r", "s"])
    stdin = b""
    if rng.random() < 0.2:
        side = rng.randint(0, 1)
        stdin = files.pop(operands[side])
        operands[side] = "-"
    arguments = operands + arguments if rng.random() < 0.3 else arguments + operands
    if rng.random() < 0.2:
        arguments = spoil(rng, arguments)
    case = Case("stand-in", locale, arguments, files, stdin)
    case.expect = lambda directory: outcome(run(settings.gnu, "join", case, arguments, directory))
    return case


# Lines in any order


def gnu_sorted(settings, content, options, side, locale, directory):
    """Sorts by the field joined on as GNU sort does; a header stays in front."""
    lines = content.split(options.terminator)
    if lines and lines[-1] == b"":
        lines.pop()
    header = [lines.pop(0)] if options.header and lines else []
    field = options.fields[side]
    fold = "f" if options.ignore_case else ""
    if options.separator == "":
        if field > 1:
            return content if content.endswith(options.terminator) or not content else content + options.terminator
        arguments = ["-s", "-k", f"1{fold}"]
    elif options.separator is None:
        arguments = ["-s", "-k", f"{field}b{fold},{field}"]
    else:
        separator = "\\0" if options.separator == "\0" else options.separator
        arguments = ["-s", "-t", separator, "-k", f"{field}{fold},{field}"]
    if options.ignore_case:
        locale = "C"  # -i of join compares bytes
    if options.zero:
        arguments.append("-z")
    text = b"".join(line + options.terminator for line in lines)
    done = subprocess.run([settings.gnu_sort, *arguments], cwd=directory, input=text, capture_output=True,
                          env={"LC_ALL": locale}, timeout=TIMEOUT_SECONDS, check=True)
    return b"".join(line + options.terminator for line in header) + done.stdout


def line_fields(line, separator):
    if separator is None:
        return re.findall(rb"[^ \t\n]+", line)
    if separator == "":
        return [line]
    return line.split(separator.encode()) if line else []


def key_of_line(line, options, side):
    fields = line_fields(line, options.separator)
    number = options.fields[side]
    key = fields[number - 1] if number <= len(fields) else b""
    return key.upper() if options.ignore_case else key


def expected_semi(sorted_text, s_text, options, how):
    """Lines of R, in order, that have a partner or none; in the locale C."""
    def lines_of(text):
        lines = text.split(options.terminator)
        return lines[:-1] if lines and lines[-1] == b"" else lines
    r, s = lines_of(sorted_text), lines_of(s_text)
    out = []
    if options.header:
        if r:
            out.append(r.pop(0))
        elif s:
            out.append(b"")
        s = s[1:]
    keys = {key_of_line(line, options, 1) for line in s}
    out += [line for line in r if (key_of_line(line, options, 0) in keys) == (how == "semi")]
    return b"".join(line + options.terminator for line in out)


def large_lines(rng, options, side):
    """Lines of which some have frequent keys; not too many pairs of them."""
    style = rng.choice(["unique", "groups", "frequent", "long"])
    frequent = 2 if side == 0 else 5000
    separator = b" " if options.separator is None else options.separator.encode() or b" "
    lines = []
    size = 0
    field = options.fields[side]
    while size < LARGE_INPUT_BYTES:
        if style == "frequent" and frequent > 0:
            key = b"frequent"
            frequent -= 1
        elif style == "groups":
            key = b"%d" % rng.getrandbits(16)
        else:
            key = b"%08d" % rng.getrandbits(22)
        rest = b"%d" % rng.getrandbits(40)
        if style == "long" and rng.random() < 0.01:
            rest = rest * rng.choice([100, 1000])
        line = separator.join([b"x%d" % rng.getrandbits(4)] * (field - 1) + [key, rest])
        lines.append(line)
        size += len(line) + 1
    rng.shuffle(lines)
    return lines


def swapped(rng, content, options):
    """With two lines swapped, which are not its first."""
    lines = content.split(options.terminator)
    if len(lines) < 10:
        return content
    i, j = rng.randrange(1, len(lines) - 1), rng.randrange(1, len(lines) - 1)
    lines[i], lines[j] = lines[j], lines[i]
    return options.terminator.join(lines)


def lines_case(rng, settings, locale, large):
    options = random_options(rng, False)
    if options.header and rng.random() < 0.4 and "-o" not in options.arguments:
        options.arguments += ["-o", "auto"]
    words = random_words(rng, locale != "C")
    contents = []
    for side in range(2):
        if large and (side == 1 or rng.random() < 0.7):
            lines = large_lines(rng, options, side)
        else:
            lines = random_lines(rng, words, options.separator or None)
        contents.append(join_lines(rng, lines, options.terminator))
    own = []
    arguments = list(options.arguments)
    letters = "-a" in arguments or "-v" in arguments
    how = None
    if not letters and rng.random() < 0.3:
        how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
        if how in ("semi", "anti") and (locale != "C" or "-o" in arguments or "-e" in arguments):
            how = "full"
        own.append(f"--how={how}")
    presorted = rng.choice(["", "", "", "1", "2", "both"])
    if presorted:
        own.append("--presorted" if presorted == "both" else f"--presorted={presorted}")
    if rng.random() < 0.1:
        own.append("--nocheck-order" if not presorted else "--io=threads")
    if rng.random() < 0.3:
        own.append(f"--parallel={rng.choice([1, 2, 4])}")
    if large:
        own += ["-S", LARGE_MEMORY, *rng.choice([[], [], ["--batch-size=2"], ["--batch-size=3"]])]
    elif rng.random() < 0.3:
        own += ["-S", "8M", *rng.choice([["--io=threads"], ["--io=io_uring"], []])]
    count = rng.random() < 0.1 and (options.separator != "" or options.zero)  # else rows have several lines
    if count:
        own.append("--count")
    output = not count and rng.random() < (0.5 if large else 0.2)
    # Sorted, but that is not said; or all but two lines of it.
    in_order_unsaid = rng.choice([None, "R", "S", "both", "nearly"]) if large else None
    if output:
        own.append("--output=out")
    operands = ["r", "s"]
    stdin_side = rng.choice([None, None, None, 0, 1])
    if stdin_side is not None:
        operands[stdin_side] = "-"
    arguments = ["join", *own, *arguments, *operands]
    case = Case("lines", locale, arguments)
    contents_in_order = {}

    def prepare(directory):
        for side, name in enumerate("rs"):
            in_order = gnu_sorted(settings, contents[side], options, side, locale, directory)
            contents_in_order[name] = in_order
            if presorted in ("both", str(side + 1)) or in_order_unsaid in ("both", "nearly", "RS"[side]):
                contents[side] = in_order
        if in_order_unsaid == "nearly" and not presorted:
            contents[1] = swapped(rng, contents[1], options)
            contents_in_order["s"] = gnu_sorted(settings, contents[1], options, 1, locale, directory)
        for side, name in enumerate("rs"):
            if side == stdin_side:
                case.stdin = contents[side]
            else:
                case.files[name] = contents[side]

    def expect(directory):
        if how in ("semi", "anti"):
            out = expected_semi(contents_in_order["r"], contents_in_order["s"], options, how)
        else:
            for name, content in contents_in_order.items():
                (directory / f"{name}.sorted").write_bytes(content)
            kinds = {"left": ["-a1"], "right": ["-a2"], "full": ["-a1", "-a2"]}.get(how, [])
            done = subprocess.run([settings.gnu, "--nocheck-order", *options.arguments, *kinds, "r.sorted", "s.sorted"],
                                  cwd=directory, env={"LC_ALL": locale}, capture_output=True,
                                  timeout=TIMEOUT_SECONDS, check=True)
            out = done.stdout
        if count:
            rows = out.count(options.terminator)
            has_header = options.header and any(contents_in_order.values())
            out = b"%d\n" % (rows - (1 if has_header else 0))
        return 0, out, b""

    case.prepare = prepare
    case.expect = expect
    case.reads_output = output
    return case


# Rows


CSV_TEXTS = ["a", "b", "B", "a,b", 'say "x"', "two\nlines", " a", "a ", "é", "", "", "zz", "10", "9"]
CSV_NUMBERS = ["1", "1.0", "01", "-1", "2", "10", "9.5", "9.50", "0", "-0", "", "1e1", "100", "3"]
CSV_INTEGERS = ["1", "01", "-1", "2", "10", "9", "0", "-0", "", "100", "+3", "3"]


def field_text(rng, value, separator):
    """A field as someone may write it: with quotes where it needs them, and now and then without need."""
    if rng.random() < 0.15 or any(c in value for c in f'"\n\r{separator}'):
        return '"' + value.replace('"', '""') + '"'
    return value


def value_of(raw):
    return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


@dataclasses.dataclass
class Table:
    names: list
    rows: list  # of raw fields
    keys: list  # columns, from 0


def random_table(rng, types, separator, side, large):
    width = rng.randint(len(types), len(types) + 3)
    keys = rng.sample(range(width), len(types))
    rows = []
    for _ in range(LARGE_ROWS if large else rng.choice([0, 1, 2, 4, 8, 16, 30])):
        row = []
        for column in range(width):
            kind = types[keys.index(column)] if column in keys else "text"
            pool = {"number": CSV_NUMBERS, "integer": CSV_INTEGERS}.get(kind, CSV_TEXTS)
            if large and column in keys:
                row.append(str(rng.randrange(LARGE_ROWS)))
            else:
                row.append(field_text(rng, rng.choice(pool), separator))
        rows.append(row)
    names = [rng.choice(["v", "w", "id", 'na"me', "x,y", "v"]) + (f"{side}{i}" if rng.random() < 0.5 else f"{i}")
             for i in range(width)]
    return Table([field_text(rng, name, separator) for name in names], rows, keys)


def table_text(rng, table, separator, header, line_end, may_end_early):
    rows = ([table.names] if header else []) + table.rows
    text = "".join(separator.join(row) + line_end for row in rows)
    if len(rows) > 1 and may_end_early and rng.random() < 0.1 and rows[-1] != [""]:
        text = text[:-len(line_end)]
    return text.encode()


def order_key(values, types, descending):
    key = []
    for value, kind, down in zip(values, types, descending):
        if value == "":
            key.append((0,))
            continue
        if kind == "text":
            data = value.encode()
            key.append((1, tuple(-b for b in data) + (1,)) if down else (1, tuple(data)))
        else:
            number = decimal.Decimal(value)
            key.append((1, -number if down else number))
    return tuple(key)


def quoted(value, separator):
    return '"' + value.replace('"', '""') + '"' if any(c in value for c in f'"\n\r{separator}') else value


def joined_header(r, s, suffixes, separator):
    out = [r.names[column] for column in r.keys]
    key_names = [value_of(name) for name in out]
    for table, other, suffix in ((r, s, suffixes[0]), (s, r, suffixes[1])):
        others = [value_of(name) for i, name in enumerate(other.names) if i not in other.keys]
        for i, name in enumerate(table.names):
            if i in table.keys:
                continue
            value = value_of(name)
            taken = value in others or (table is s and value in key_names)
            out.append(quoted(value + suffix, separator) if taken else name)
    return out


def joined_rows(r, s, types, descending, how, match_empty, filler, shape):
    def keyed(table):
        rows = [(order_key([value_of(row[c]) for c in table.keys], types, descending), row) for row in table.rows]
        return sorted(rows, key=lambda pair: pair[0])
    left, right = keyed(r), keyed(s)

    def others(table, row):
        return [field for i, field in enumerate(row) if i not in table.keys]
    r_width = len(r.names) if r.rows or shape["header"] else 0
    s_width = len(s.names) if s.rows or shape["header"] else 0
    r_blank = [filler] * max(0, r_width - len(types))
    s_blank = [filler] * max(0, s_width - len(types))
    groups = {}
    for key, row in left:
        groups.setdefault(key, ([], []))[0].append(row)
    for key, row in right:
        groups.setdefault(key, ([], []))[1].append(row)
    out = []
    for key in sorted(groups):
        rs, ss = groups[key]
        matched = rs and ss and (match_empty or (0,) not in key)
        if matched:
            if how == "semi":
                out += rs
            elif how != "anti":
                out += [[a[c] for c in r.keys] + others(r, a) + others(s, b) for a in rs for b in ss]
            continue
        if how == "anti":
            out += rs
        if how in ("left", "full"):
            out += [[a[c] for c in r.keys] + others(r, a) + s_blank for a in rs]
        if how in ("right", "full"):
            out += [[b[c] for c in s.keys] + r_blank + others(s, b) for b in ss]
    return out


def in_order(table, types, descending):
    return sorted(table.rows, key=lambda row: order_key([value_of(row[c]) for c in table.keys], types, descending))


def rows_case(rng, large):
    record = rng.choice(["csv", "csv", "tsv"])
    separator = "," if record == "csv" else "\t"
    arguments = ["join", f"--record={record}"]
    if rng.random() < 0.1:
        separator = rng.choice(";|:")
        arguments += ["-t", separator]
    types = rng.choices(["text", "text", "number", "integer"], k=rng.choice([1, 1, 1, 2, 3]))
    descending = [rng.random() < 0.15 for _ in types]
    header = rng.random() < 0.6
    r = random_table(rng, types, separator, "r", large)
    s = random_table(rng, types, separator, "s", large)
    presorted = rng.choice(["", "", "", "1", "2", "both"])
    if presorted:
        arguments.append(f"--presorted={presorted}")
    for side, table in (("1", r), ("2", s)):
        if presorted in (side, "both"):
            table.rows = in_order(table, types, descending)
    line_end = "\r\n" if rng.random() < 0.1 else "\n"
    if header:
        arguments.append("--header")
    for side, table in ((1, r), (2, s)):
        names = [value_of(name) for name in table.names]
        for column, kind, down in zip(table.keys, types, descending):
            spec = str(column + 1)
            if header and names.count(names[column]) == 1 and rng.random() < 0.6:
                spec = '"' + names[column].replace('"', '""') + '"'
            if kind != "text" or rng.random() < 0.3:
                spec += f":{kind}"
            if down:
                spec += ":desc"
            arguments.append(f"--key{side}={spec}")
    how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
    if how != "inner" or rng.random() < 0.3:
        arguments.append(f"--how={how}")
    match_empty = rng.random() < 0.6
    if not match_empty or rng.random() < 0.2:
        arguments.append(f"--empty-keys={'equal' if match_empty else 'never'}")
    filler = ""
    if how not in ("semi", "anti") and rng.random() < 0.3:
        filler = rng.choice(["NULL", "a b", "-"])
        arguments += ["-e", filler]
    suffixes = ("_1", "_2")
    if header and how not in ("semi", "anti") and rng.random() < 0.3:
        suffixes = rng.choice([("", ".s"), ("_left", "_right"), ('"', "x")])
        arguments.append("--suffixes=" + ",".join(suffixes))
    if large:
        arguments += ["-S", "3M"]
    elif rng.random() < 0.2:
        arguments += ["-S", "8M", "--io=threads"]
    case = Case("rows", "C", arguments + ["r", "s"])
    may_end_early = line_end == "\n" or how not in ("semi", "anti")  # of which rows are what they were
    case.files = {"r": table_text(rng, r, separator, header, line_end, may_end_early),
                  "s": table_text(rng, s, separator, header, line_end, may_end_early)}
    rows = joined_rows(r, s, types, descending, how, match_empty, filler, {"header": header})
    if header:
        rows.insert(0, r.names if how in ("semi", "anti") else joined_header(r, s, suffixes, separator))
    out = "".join(separator.join(row) + line_end for row in rows)
    expected = out.encode()

    def expect(_directory):
        return 0, expected, b""
    case.expect = expect
    return case


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


# Running


def run(program, name, case, arguments, directory):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": case.locale, "TMPDIR": str(directory)}
    return subprocess.run([name, *arguments], executable=program, cwd=directory, env=environment, input=case.stdin,
                          capture_output=True, timeout=TIMEOUT_SECONDS, check=False)


def outcome(done):
    return done.returncode, done.stdout, done.stderr


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
    parser.add_argument("--cases", type=int, default=12000)
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
