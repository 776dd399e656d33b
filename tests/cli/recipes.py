#!/usr/bin/env python3
"""Runs the recipes of docs/recipes.md, and what stands in other pages in the same form.

    tests/cli/recipes.py --xxl build-release/bin/xxl
    tests/cli/recipes.py --xxl build-release/bin/xxl --write      # put what was printed into the pages

A block that begins with ```csv FILE or ```text FILE is an input. Lines of a block ```console that begin with
"$ " are commands for bash, and what follows each is what it prints on standard output. Each block runs in a
directory of its own with all inputs of the page, xxl in the PATH, LC_ALL=C and standard input empty. The last
line says how many passed.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from junit import write_junit

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["docs/recipes.md"]


def blocks(text):
    """(language, name of the file, line, contents, span of the contents)"""
    for found in re.finditer(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield found[1], found[2], text.count("\n", 0, found.start()) + 1, found[3], found.span(3)


def heading_before(text, position):
    headings = re.findall(r"^#+ (.*)$", text[:position], re.MULTILINE)
    return headings[-1] if headings else ""


def commands_of(block):
    """The commands of a block; those that end with a backslash go on in the next line."""
    commands, goes_on = [], False
    for line in block.splitlines():
        if goes_on:
            commands[-1] += "\n" + line
        elif line.startswith("$ "):
            commands.append(line[2:])
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return commands


def run(block, inputs, xxl):
    """The block as it is when the commands have run."""
    with tempfile.TemporaryDirectory(prefix="xxl-recipe-") as directory:
        for name, contents in inputs.items():
            (pathlib.Path(directory) / name).write_text(contents)
        environment = {**os.environ, "LC_ALL": "C", "PATH": f"{xxl.parent}:{os.environ['PATH']}"}
        printed = ""
        for command in commands_of(block):
            done = subprocess.run(["bash", "-c", "set -o pipefail\n" + command], cwd=directory, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=600, check=False)
            printed += "$ " + command + "\n" + done.stdout
            if done.returncode != 0:
                printed += f"(status {done.returncode}: {done.stderr.strip()})\n"
    return printed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xxl", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true", help="put what was printed into the pages")
    parser.add_argument("--junit", help="write the results to this file")
    arguments = parser.parse_args()
    xxl = arguments.xxl.resolve()

    results = []
    for page in PAGES:
        path = ROOT / page
        text = path.read_text()
        found = list(blocks(text))
        inputs = {name: contents for _, name, _, contents, _ in found if name}
        written, end = "", 0
        for language, _, line, contents, (begin, stop) in found:
            if language != "console":
                continue
            title = heading_before(text, begin)
            printed = run(contents, inputs, xxl)
            problems = [] if printed == contents else list(
                difflib.unified_diff(contents.splitlines(), printed.splitlines(), "page", "printed", lineterm=""))
            results.append((page, title, problems))
            if problems:
                print(f"{page}:{line}: {title}", *problems, sep="\n")
            written += text[end:begin] + printed
            end = stop
        if arguments.write:
            path.write_text(written + text[end:])
    failed = sum(1 for _, _, problems in results if problems)
    if arguments.junit:
        write_junit(arguments.junit, "recipes", len(results),
                    [(title, None, "\n".join(problems) or None) for _, title, problems in results])
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
