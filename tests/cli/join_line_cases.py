"""Cases of lines for join_differential.py: xxl called as join, and xxl join of lines in any order."""

import dataclasses
import re
import shutil
import subprocess

from join_case import LARGE_INPUT_BYTES, LARGE_MEMORY, TIMEOUT_SECONDS, Case, outcome, run

WORDS = ["a", "b", "B", "A", "aa", "ab", "Ab", "aB", "abc", "a-b", "b.c", "x1", "x10", "x2", "Zebra", "zebra", "0",
         "1", "10", "9", "the", "The", ""]
WIDE_WORDS = ["é", "e", "É", "ü", "U", "ß", "ss", "ø", "naïve", "naive", "ñ", "Å", "Ω"]
SEPARATORS = [",", ":", "\t", "a", "|", "\0"]


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
    done = subprocess.run([shutil.which("sort"), *arguments], cwd=directory, input=text, capture_output=True,
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
    if "-o" in arguments:  # of join(1); here it is the output file
        place = arguments.index("-o")
        arguments[place:place + 2] = [f"--layout={arguments[place + 1]}"]
    has_layout = any(argument.startswith("--layout") for argument in arguments)
    letters = "-a" in arguments or "-v" in arguments
    how = None
    if not letters and rng.random() < 0.3:
        how = rng.choice(["inner", "left", "right", "full", "semi", "anti"])
        if how in ("semi", "anti") and (locale != "C" or has_layout or "-e" in arguments):
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
