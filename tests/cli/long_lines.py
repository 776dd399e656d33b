#!/usr/bin/env python3
"""Lines and rows that are long beside the memory: whatever is done with them, the process takes no
more than -S and a constant, as is promised, and the result is right. What cannot be held is refused
in one line that says which -S would do.
"""

import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import whole_process

MIB = 1 << 20
MEMORY_CONSTANT = 48 * MIB  # promised: -S and this bound the process
MEMORY = 24  # MiB, of -S
LINE = 4 * MIB
LINES = 8
PIECE = 64 << 10  # bytes at a time: what this process takes counts as its children's, too


def has_locale(name):
    known = subprocess.run(["locale", "-a"], stdout=subprocess.PIPE, check=False).stdout.decode()
    return name.lower().replace("-", "") in known.lower().replace("-", "").split()


def write_line(file, begin, fill, length, end):
    """`begin`, then `fill` as often as it takes to make `length` bytes, then `end`."""
    file.write(begin)
    piece = fill * (PIECE // len(fill))
    for at in range(0, length, len(piece)):
        file.write(piece[:length - at])
    file.write(end + b"\n")


def content_hash(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(PIECE):
            digest.update(block)
    return digest.hexdigest()


class LongLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="xxl-long-")
        cls.addClassCleanup(directory.cleanup)
        cls.root = pathlib.Path(directory.name)
        cls.out = cls.root / "out"
        order = list(range(LINES))
        random.Random(3).shuffle(order)
        # Lines that differ only at their end: whole keys are compared.
        for name, begin, fill in (("text", b"", b"a"), ("numbers", b"", b"1"),
                                  ("rows", b"k,", b"1"), ("fields", b"", b"x,")):
            for suffix, numbers in (("", order), (".sorted", range(LINES))):
                with open(cls.root / (name + suffix), "wb") as file:
                    for number in numbers:
                        write_line(file, begin, fill, LINE, b"%08d" % number)
        cls.hashes = {path.name: content_hash(path) for path in cls.root.iterdir()}

    def run_xxl(self, *arguments, locale="C", memory=MEMORY):
        """Runs xxl; its exit status and messages, and fails if it took too much memory."""
        command = [whole_process.XXL, arguments[0], "-S", f"{memory}M", *arguments[1:]]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, cwd=self.root, stderr=errors,
                                       stdout=subprocess.DEVNULL,
                                       env={**os.environ, "LC_ALL": locale})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            message = errors.read(2000).decode(errors="replace")
        self.assertLessEqual(usage.ru_maxrss * 1024, memory * MIB + MEMORY_CONSTANT,
                             (command, message))
        return process.returncode, message

    def expect(self, result, *arguments, **options):
        """Runs xxl, which is to write what the file `result` holds (None: whatever it is)."""
        status, message = self.run_xxl(*arguments, **options)
        self.assertEqual(status, 0, message)
        if result is not None:
            self.assertEqual(content_hash(self.out), self.hashes[result], arguments)

    def expect_refused(self, *arguments, **options):
        status, message = self.run_xxl(*arguments, **options)
        self.assertEqual(status, 2, message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertRegex(message, r"give at least -S \d+M")

    def sort(self, result, *arguments, **options):
        self.expect(result, "sort", "-T", ".", "-o", "out", *arguments, **options)

    def test_sorts_of_lines(self):
        for options in ([], ["-n"], ["-V"], ["-f"], ["-d"], ["-k1,1", "-k2"], ["-u", "-k1"],
                        ["-s", "-k1f"], ["--temp-compress=lz4"]):
            with self.subTest(options=options):
                name = "numbers" if options == ["-n"] else "text"
                # Three records are held at a time with -u, two without.
                memory = 40 if "-u" in options else MEMORY
                self.sort(name + ".sorted", *options, name, memory=memory)

    def test_sorts_that_leave_lines_out(self):
        for options in (["--limit=2"], ["--limit=2", "-f"], ["--count"], ["--count", "-f"]):
            with self.subTest(options=options):
                self.sort(None, *options, "text")

    def test_merges(self):
        for options in ([], ["-f"], ["-V"], ["-n"]):
            with self.subTest(options=options):
                name = "numbers.sorted" if options == ["-n"] else "text.sorted"
                self.sort(None, "-m", *options, name, name)
                self.sort(name, "-m", "-u", *options, name, name, memory=32)

    def test_checks(self):
        for options in ([], ["-f"], ["-V"], ["-n"], ["-u"]):
            with self.subTest(options=options):
                name = "numbers" if options == ["-n"] else "text"
                self.expect(None, "sort", "-c", *options, name + ".sorted")
                self.assertEqual(self.run_xxl("sort", "-C", *options, name)[0], 1)

    def test_rows(self):
        for key in ("2", "2:number", "2:number:desc", "1"):
            with self.subTest(key=key):
                result = None if key in ("1", "2:number:desc") else "rows.sorted"
                self.sort(result, "--record=csv", "--no-header", "--key=" + key, "rows")
        self.expect(None, "sort", "-c", "--record=csv", "--no-header", "--key=2:number", "rows.sorted")
        self.sort(None, "--record=csv", "--no-header", "--key=1", "fields")

    def test_a_line_as_long_as_most_of_the_memory(self):
        for memory, length in ((10, 3 * MIB), (24, 18 * MIB)):
            path = self.root / "one"
            with open(path, "wb") as file:
                file.write(b"b\n")
                write_line(file, b"", b"c", length, b"")
                file.write(b"a\n")
            expected = self.root / "expected"
            with open(expected, "wb") as file:
                file.write(b"a\nb\n")
                write_line(file, b"", b"c", length, b"")
            self.hashes["expected"] = content_hash(expected)
            for options in ([], ["-f"], ["-u"], ["-k1"]):
                with self.subTest(options=options, length=length):
                    self.sort("expected", *options, "one", memory=memory)
                    self.sort("expected", "-m", *options, "expected", memory=memory)
                    self.expect(None, "sort", "-c", *options, "expected", memory=memory)

    def test_a_line_that_is_too_long_is_refused(self):
        path = self.root / "one"
        with open(path, "wb") as file:
            write_line(file, b"b\n", b"c", 40 * MIB, b"\na")
        self.expect_refused("sort", "-T", ".", "-o", "out", "one")
        self.expect_refused("sort", "-T", ".", "-o", "out", "-m", "one")
        self.expect_refused("sort", "-c", "one")

    def test_joins_of_sorted_lines(self):
        self.expect("text.sorted", "join", "-T", ".", "--output=out", "--presorted", "text.sorted",
                    "text.sorted", memory=48)

    def test_lines_that_a_locale_compares_to_their_end(self):
        if not has_locale("en_US.UTF-8"):
            self.skipTest("locale en_US.UTF-8 is not installed: scripts/install_locales.sh")
        length = 10 * MIB
        # The level that decides: letters, case, all else; the last is long rows compared backward.
        for fill, ends in ((b"x", (b"a", b"b")), (b"xyz ", (b"a", b"A")), (b"x1-", (b"-a", b"a-"))):
            with open(self.root / "two.sorted", "wb") as file:
                for end in ends:
                    write_line(file, b"", fill, length, end)
            with open(self.root / "two", "wb") as file:
                for end in reversed(ends):
                    write_line(file, b"", fill, length, end)
            self.hashes["two.sorted"] = content_hash(self.root / "two.sorted")
            for options in ([], ["-k1"], ["-d"]):
                with self.subTest(fill=fill, options=options):
                    locale = {"locale": "en_US.UTF-8", "memory": 88}
                    self.sort("two.sorted", *options, "two", **locale)
                    self.expect(None, "sort", "-c", *options, "two.sorted", **locale)
                    self.assertEqual(self.run_xxl("sort", "-C", *options, "two", **locale)[0], 1)

    def test_the_order_of_a_locale(self):
        if not has_locale("en_US.UTF-8"):
            self.skipTest("locale en_US.UTF-8 is not installed: scripts/install_locales.sh")
        with open(self.root / "differ", "wb") as file:
            for number in range(LINES):
                write_line(file, b"%02d " % (number * 5 % LINES), b"a", LINE, b"")
        self.sort(None, "differ", locale="en_US.UTF-8")


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
