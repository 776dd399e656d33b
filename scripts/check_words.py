#!/usr/bin/env python3
"""Checks the texts that users read: the length of lines and sentences, and phrases that plain English avoids.

    scripts/check_words.py                          # pages, comments of public headers, docstrings
    scripts/check_words.py --xxl=build-release/bin/xxl    # and the help of every command
    scripts/check_words.py --list=R7                # every place that was counted under R7

A table shows how often each pattern occurs, and the budget. The exit status is 1 if a count is over its budget,
or if a relative link of any Markdown file leads nowhere. Budgets may only become smaller.

A line may have 100 columns (a row of a table cannot be wrapped: 160), a sentence 40 words. What stands between
backquotes is one word.
"""

import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys

# Not covered yet: what only developers read. Comments of sources (src, io, gpu, tools) are not covered either.
NOT_YET = ["docs/internals/*", "CONTRIBUTING.md", "bench/*", "tests/*", "examples/*"]

# Name, what to write instead, and the pattern in a sentence. Not found by a program, so left to the reader:
# sentences without a verb (R13), and changes told as stories (R17) but for the words below.
PATTERNS = [
    ("R1", "For X, Y", r"^Of (?!course)|[:;,] of [a-z]+ (?:only|also)\b"),
    ("R2", "the adjective before the noun", r"\b(?:that|which) (?:is|are)\b"),
    ("R3", "except", r"\bbut for\b"),
    ("R4", "is not a; not one; without", r"\b(?:is|are|was|were) no\b|\bnone\b"),
    ("R5", "otherwise", r"(?:^|[.;:,] )[Ee]lse\b"),
    ("R6", "plus, next to, after", r"\bbesides?\b|\bbehind\b"),
    ("R7", "use, need, accept, cost", r"\btakes?\b|\btook\b"),
    ("R8", "subject, verb, object", r"^So (?:does|do|is|are|can)\b|^Who\b|^Written (?:is|are)\b"),
    ("R9", "a comment that stands alone", None),
    ("R10", "see X, same as in X", r"\bas of\b|\b(?:is|are) as for\b"),
    ("R11", "if the machine has; existing", r"\bwhere there (?:is|are)\b|\bthat (?:is|are) there\b"),
    ("R12", "one colon, one parenthesis", None),
    ("R14", "a verb", r"\bin the time of \w+ing\b|\bthe (?:sync|opening|closing|reading|writing|copying) of\b"),
    ("R15", "which program", r"\bwho(?:ever)?\b|\bspeaks\b"),
    ("R16", "even if, as well as", r", too\b|\balso (?:where|if|when|of|in)\b"),
    ("R17", "Added, Changed, Fixed", r"\bunsaid\b|\bas was promised\b|\bused to\b"),
    ("R18", "about N, 1 GiB", r"\bsome (?:\d|ten|twenty|hundred|thousand)|\bso many\b|\ba (?:[KMGT]i?B)\b"),
    ("US", "American spelling", r"\b(?:behaviour|colour|unrecognised|recognise|optimise|organis|centre|favour)"),
    ("30", "sentences over 30 words", None),
    ("40", "sentences over 40 words", None),
    ("100", "lines over 100 columns", None),
]

KINDS = ["pages", "help", "headers", "python"]

# At most so often, by kind of text. A pattern that is not here must not occur.
BUDGET = {
    "R1": {"help": 1, "headers": 6},
    "R2": {"pages": 20, "help": 24, "headers": 5, "python": 6},
    "R3": {"help": 1},
    "R4": {"pages": 7, "help": 17, "headers": 6},
    "R6": {"help": 6, "headers": 1},
    "R7": {"pages": 2, "help": 18, "headers": 1, "python": 1},
    "R8": {"help": 3},
    "R9": {"headers": 2},
    "R10": {"python": 4},
    "R12": {"pages": 1, "help": 49, "headers": 35, "python": 26},
    "R16": {"help": 2},
    "30": {"pages": 1, "help": 15, "headers": 6, "python": 2},
    "40": {"help": 4},
    "100": {"help": 34},
}


class Text:
    """Sentences of one file with their lines."""

    def __init__(self, name, kind):
        self.name, self.kind, self.sentences, self.long_lines = name, kind, [], []
        self.fragments = []  # comments behind code

    def add(self, line, paragraph):
        for sentence in split_sentences(paragraph):
            self.sentences.append((line, sentence))


def split_sentences(paragraph):
    paragraph = re.sub(r"\s+", " ", paragraph).strip()
    for short in ("e.g.", "i.e.", "etc.", "vs.", "et al."):
        paragraph = paragraph.replace(short, short.replace(".", "\0"))
    parts = re.split(r"(?<=[.!?])(?<!\.\.\.)[)\"'*]*\s+(?=[A-Z`\"'(\[*<-])", paragraph)
    return [part.replace("\0", ".").strip() for part in parts if part.strip()]


def plain(markdown):
    """Markdown without links and emphasis, and what stands in backquotes as one word."""
    markdown = re.sub(r"<!--.*?-->", "", markdown)
    markdown = re.sub(r"``.+?``|`[^`]*`", "`code`", markdown)
    markdown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"\*\*|(?<!\w)[*_]|[*_](?!\w)", "", markdown)


def read_markdown(name, text):
    found = Text(name, "pages")
    paragraph, begin, fenced = [], 0, False

    def end():
        if paragraph:
            found.add(begin, plain(" ".join(paragraph)))
            paragraph.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > (160 if line.startswith("|") else 100):
            found.long_lines.append(number)
        if line.lstrip().startswith("```"):
            end()
            fenced = not fenced
            continue
        if fenced or (line.startswith("    ") and not paragraph):
            end()
            continue
        stripped = line.strip()
        if not stripped:
            end()
        elif stripped.startswith("|"):
            end()
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if re.search(r"\w", cell):
                    found.add(number, plain(cell))
        elif stripped.startswith("#"):
            end()
            found.add(number, plain(stripped.lstrip("# ")))
        else:
            if re.match(r"(?:[-*]|\d+\.) ", stripped):
                end()
                stripped = re.sub(r"^(?:[-*]|\d+\.) ", "", stripped)
            if not paragraph:
                begin = number
            paragraph.append(stripped)
    end()
    return found


def read_comments(name, kind, comments):
    """`comments`: (line, column, whether code stands in front of it, text)."""
    found = Text(name, kind)
    block, begin, last = [], 0, (-2, 0)

    def end():
        if block:
            for part in re.split(r"\n\s*\n", "\n".join(block)):
                found.add(begin, plain(part))
            block.clear()

    for number, column, after_code, text in comments:
        if after_code or (number, column) != (last[0] + 1, last[1]):
            end()
        if after_code:
            found.fragments.append((number, text.strip()))
        if not block:
            begin = number
        block.append("" if text.startswith("  ") else text)  # an example or a drawing
        last = (number, column)
    end()
    return found


def read_header(name, text):
    comments = []
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.match(r"(.*?)(?:^|\s)//[/<]* ?(.*)$", line)
        if comment:
            comments.append((number, comment.start(2), bool(comment[1].strip()), comment[2]))
    found = read_comments(name, "headers", comments)
    found.long_lines = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > 100]
    return found


def read_python(name, text):
    found = Text(name, "python")
    for doc in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
        line = text.count("\n", 0, doc.start()) + 1
        for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |`|(?:\w+, )*\w+: ))", doc[1]):
            if not re.match(r"\s*(?:>>>|\.\.\. |==)", part):
                found.add(line + doc[1].count("\n", 0, doc[1].find(part)), plain(part))
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.match(r".*#: ?(.*)$", line)
        if comment:
            found.fragments.append((number, comment[1]))
            found.add(number, plain(comment[1]))
        if len(line) > 120:  # as the formatter of the package has it
            found.long_lines.append(number)
    return found


def help_of(xxl, *words):
    return subprocess.run([xxl, "help", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def commands_of(xxl):
    return re.findall(r"^  ([a-z]+)  +\S", help_of(xxl), re.MULTILINE)


def read_help(xxl, command):
    found = Text("xxl help " + command, "help")
    paragraph, begin = [], 0

    def end():
        if paragraph:
            found.add(begin, " ".join(paragraph))
            paragraph.clear()

    for number, line in enumerate(help_of(xxl, command, "all").splitlines(), 1):
        if len(line) > 80:
            found.long_lines.append(number)
        columns = re.match(r"^ +\S.*? {2,}(\S.*)$", line)  # a name or an option, and what it means
        if columns or re.match(r"^ +-\S", line):
            end()
            line = columns[1] if columns else ""
        elif not line.strip() or re.match(r"^\s+(?:xxl|mpirun|\$) ", line):
            end()
            continue
        if not paragraph:
            begin = number
        if line.strip():
            paragraph.append(re.sub(r"'[^' ]+'|--?[\w-]+(?:=\S+)?", "`code`", line.strip()))
    end()
    return found


def count(text, found):
    def note(name, line, what):
        found.setdefault(name, {}).setdefault(text.kind, []).append((text.name, line, what))

    for line, sentence in text.sentences:
        for name, _, pattern in PATTERNS:
            if pattern:
                for _ in re.finditer(pattern, sentence):
                    note(name, line, sentence)
        words = len(re.findall(r"[^\s]*\w[^\s]*", sentence))
        if words > 30:
            note("30", line, f"{words} words: {sentence}")
        if words > 40:
            note("40", line, f"{words} words: {sentence}")
        if len(re.findall(r"[:;](?= )", sentence)) > 1 or sentence.count(" (") > 1:
            note("R12", line, sentence)
    for line, fragment in text.fragments:
        if re.match(r"(?:that|which|whose|of|where|so many|as of|until|what became)\b", fragment):
            note("R9", line, fragment)
    for line in text.long_lines:
        note("100", line, "too long")


def tracked(root, *patterns):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
                           cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout
    return sorted(name for name in names.split("\0") if name and (root / name).is_file())


def slug(heading):
    return re.sub(r"[^\w\- ]", "", plain_heading(heading).lower()).replace(" ", "-")


def plain_heading(heading):
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")


def anchors(path):
    fenced, found = False, set()
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        heading = re.match(r"#+ (.*)$", line)
        if heading and not fenced:
            found.add(slug(heading[1].strip()))
    return found


def broken_links(root):
    """Relative links of Markdown files that lead nowhere."""
    broken = []
    for name in tracked(root, "*.md"):
        text = re.sub(r"^```.*?^```", "", (root / name).read_text(), flags=re.DOTALL | re.MULTILINE)
        for link in re.finditer(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
            target, _, anchor = link[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            path = (root / name).parent / target if target else root / name
            if not path.exists():
                broken.append(f"{name}: {link[1]}: no such file")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                broken.append(f"{name}: {link[1]}: no such heading")
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xxl", help="check the help of this program, too")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--list", default="", help="print the places of these rows, as in R7,40 (all: every row)")
    parser.add_argument("pages", nargs="*", help="only these Markdown files instead of all users' pages")
    arguments = parser.parse_args()
    root = arguments.root.resolve()

    texts = []
    for name in arguments.pages or tracked(root, "*.md"):
        if arguments.pages or not any(fnmatch.fnmatch(name, pattern) for pattern in NOT_YET):
            texts.append(read_markdown(name, (root / name).read_text()))
    for name in tracked(root, "include/xxl/*.h"):
        texts.append(read_header(name, (root / name).read_text()))
    for name in tracked(root, "python/src/xxl/*.py", "python/src/xxl/*.pyi"):
        texts.append(read_python(name, (root / name).read_text()))
    if arguments.xxl:
        for command in commands_of(arguments.xxl):
            texts.append(read_help(arguments.xxl, command))

    found = {}
    for text in texts:
        count(text, found)
    failed = False
    sentences = {kind: sum(len(text.sentences) for text in texts if text.kind == kind) for kind in KINDS}
    print(f"{'':5}{'':30}" + "".join(f"{kind:>14}" for kind in KINDS))
    print(f"{'':5}{'sentences':30}" + "".join(f"{sentences[kind]:>14}" for kind in KINDS))
    for name, advice, _ in PATTERNS:
        cells = ""
        for kind in KINDS:
            number = len(found.get(name, {}).get(kind, []))
            budget = BUDGET.get(name, {}).get(kind, 0)
            over = number > budget and (kind != "help" or arguments.xxl is not None)
            failed |= over
            cells += f"{number:>6} of {budget:<3}" + ("!" if over else " ")
            if over or name in arguments.list.split(",") or arguments.list == "all":
                for place, line, what in found.get(name, {}).get(kind, []):
                    print(f"{place}:{line}: {name}: {what}", file=sys.stderr)
        print(f"{name:5}{advice:30}  {cells}")
    for link in broken_links(root):
        print(link, file=sys.stderr)
        failed = True
    if failed:
        sys.exit("over budget, or broken links: see above")


if __name__ == "__main__":
    main()
