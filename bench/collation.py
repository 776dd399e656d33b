#!/usr/bin/env python3
"""Sorts a text of all scripts in many locales, by xxl and by the installed GNU sort: the same bytes are
expected, and each is to find the other's output in order (-c).

Half of the text is lines of this machine's manual pages, documents and locale sources, half is random
words of all characters that Python knows, many of them alike. A locale takes a minute or two; those that
are not installed are made with localedef, in a directory of their own, if --make is given.
"""

import argparse
import glob
import gzip
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

UTF8 = ("ca_ES cs_CZ da_DK es_ES et_EE hr_HR hu_HU is_IS nb_NO pl_PL sk_SK sr_RS tr_TR uk_UA en_US de_DE fr_FR "
        "sv_SE fi_FI ja_JP zh_CN ko_KR th_TH vi_VN he_IL ar_SA hi_IN el_GR ru_RU bg_BG ro_RO lt_LT lv_LV nl_NL "
        "it_IT pt_BR af_ZA sq_AL eu_ES cy_GB en_GB").split()
FILES = ["/usr/share/doc/**/*", "/usr/share/man/**/*.gz", "/usr/share/i18n/locales/*", "/usr/share/perl/**/*.p[lm]",
         "/usr/share/zoneinfo/*.tab", "/usr/share/locale/**/*.mo", "/usr/lib/python3*/**/*.py"]
SEPARATORS = [" ", " ", "-", ". ", ", ", "", "0", "1", "2013", "€", " € ", "“", "”", "—", "\u00a0", "\u0301", "_", "/", "\t"]
MOST_LINE_BYTES = 60


def content(path):
    try:
        with (gzip.open(path) if path.endswith(".gz") else open(path, "rb")) as file:
            return file.read()
    except OSError:
        return b""


def lines_of_files(rng, count):
    lines = []
    for pattern in FILES:
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
        rng.shuffle(paths)
        some = []
        for path in paths:
            if len(some) >= count // len(FILES):
                break
            found = [line[:MOST_LINE_BYTES] for line in content(path).split(b"\n") if line.strip(b" \t")]
            some += rng.sample(found, min(150, len(found)))
        lines += some
    for path in glob.glob("/usr/share/i18n/locales/*"):  # characters are written as <U00E9> there
        for quoted in re.findall(r'"([^"\n]*)"', content(path).decode("utf-8", "replace"))[:100]:
            text = re.sub(r"<U([0-9A-Fa-f]{4,6})>", lambda match: chr(int(match[1], 16)), quoted)
            lines.append(text.replace("\n", " ").encode("utf-8", "ignore"))
    return lines[:count]


def random_line(rng, blocks):
    text = ""
    for _ in range(rng.randint(1, 5)):
        word = "".join(rng.choices(rng.choice(blocks), k=rng.choice([1, 2, 3, 6])))
        if rng.random() < 0.2:
            word = unicodedata.normalize(rng.choice(["NFD", "NFC"]), word)
        text += word + rng.choice(SEPARATORS)
    return text


def alike(rng, text):
    roll = rng.random()
    if roll < 0.4:
        return text.swapcase()
    if roll < 0.8:
        return text.replace(rng.choice(SEPARATORS), rng.choice(SEPARATORS))
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def make_lines(rng, count):
    lines = lines_of_files(rng, count // 2)
    characters = [chr(c) for c in range(32, 0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    blocks = [characters[i:i + 128] for i in range(0, len(characters), 128)]
    latin = [chr(c) for c in range(32, 127)], [chr(c) for c in range(0xa0, 0x180)]
    while len(lines) < count:
        text = random_line(rng, [*latin, latin[0], *rng.choices(blocks[:80], k=2), *rng.choices(blocks, k=1)])
        lines.append(text.encode())
        if rng.random() < 0.5:
            lines.append(alike(rng, text).encode())
    lines = [line.replace(b"\n", b" ") for line in lines]
    rng.shuffle(lines)
    return lines[:count]


def sorts(program, arguments, environment, output=None):
    return subprocess.run([program, *arguments], env=environment, stdout=output, check=False).returncode


def test_locale(arguments, name, environment, directory):
    """What differs, and how many lines of output in all."""
    text, gnu, xxl = (str(directory / file) for file in ("lines", "gnu", "xxl"))
    problems, differences = [], 0
    for options in arguments.options.split("/"):
        words = options.split()
        for program, path in ((arguments.gnu, gnu), (str(directory / "sort"), xxl)):
            with open(path, "wb") as output:
                if sorts(program, [*words, text], environment, output) != 0:
                    problems.append(f"{name}: {program} {options} fails")
        count = count_differences(pathlib.Path(xxl), pathlib.Path(gnu))
        differences += count
        if count != 0:
            problems.append(f"{name}: another order with '{options}'")
        if sorts(arguments.gnu, ["-c", *words, xxl], environment) != 0:
            problems.append(f"{name}: GNU sort -c {options} finds no order")
        if sorts(str(directory / "sort"), ["-c", *words, gnu], environment) != 0:
            problems.append(f"{name}: xxl sort -c {options} finds no order")
    return problems, differences


def count_differences(xxl, gnu):
    """Lines of one file that differ from those in the same place of the other."""
    a, b = (path.read_bytes().split(b"\n") for path in (xxl, gnu))
    return sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xxl", required=True)
    parser.add_argument("--gnu", default="/usr/bin/sort")
    parser.add_argument("--lines", type=int, default=200000)
    parser.add_argument("--locales", default=",".join(name + ".UTF-8" for name in UTF8))
    parser.add_argument("--options", default="", help="of sort, separated by /: '/-u/-f -k2'")
    parser.add_argument("--make", action="store_true", help="make locales that are missing")
    parser.add_argument("--directory", help="for temporary files")
    parser.add_argument("--csv", type=pathlib.Path, help="add rows (locale, lines, differences) to this file")
    arguments = parser.parse_args()

    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.lower()
    known = {name.replace("-", "") for name in listed.split()}
    failures = tested = 0
    with tempfile.TemporaryDirectory(prefix="xxl-collation-", dir=arguments.directory) as root:
        directory = pathlib.Path(root)
        (directory / "sort").symlink_to(pathlib.Path(arguments.xxl).resolve())
        lines = make_lines(random.Random(1), arguments.lines)
        (directory / "lines").write_bytes(b"\n".join(lines) + b"\n")
        for name in arguments.locales.split(","):
            environment = {"LC_ALL": name, "TMPDIR": root, "PATH": os.environ["PATH"]}
            if name.lower().replace("-", "") not in known:
                if not arguments.make:
                    print(f"{name}: NOT TESTED, not installed", flush=True)
                    continue
                language, charset = name.split(".")
                subprocess.run(["localedef", "-i", language, "-f", charset, directory / name], check=True)
                environment["LOCPATH"] = root
            problems, differences = test_locale(arguments, name, environment, directory)
            if arguments.csv:
                new = not arguments.csv.exists()
                with open(arguments.csv, "a", encoding="utf-8") as csv:
                    csv.write(("locale,lines,differences\n" if new else "") + f"{name},{len(lines)},{differences}\n")
            print("\n".join(problems or [f"{name}: equal"]), flush=True)
            failures += bool(problems)
            tested += 1
    print(f"{tested - failures} locales equal, {failures} not")
    return 1 if failures or not tested else 0


if __name__ == "__main__":
    sys.exit(main())
