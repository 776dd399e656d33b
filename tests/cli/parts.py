#!/usr/bin/env python3
"""Outputs in parts: random sorts and joins compared with the same in one file, and what is left when
a process ends before its parts are complete."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import whole_process
from whole_process import (FaultTest, PATIENCE_SECONDS, bytes_transferred, can_mount, small_file_system,
                           wait_until)

RANDOM_SORTS = int(os.environ.get("XXL_RANDOM_PARTS", "150"))


def random_lines(rng, count):
    words = [bytes(rng.choices(b"abcxyz 0123", k=rng.randrange(rng.choice((3, 12, 300)))))
             for _ in range(rng.choice((3, 50, 2000)))]
    return b"".join(rng.choice(words) + b" %d\n" % rng.randrange(10**rng.randrange(1, 9)) for _ in range(count))


def random_rows(rng, count):
    names = ["Rome", "Oslo", '"New, York"', '"a\nb"', '"say ""x"""', ""]
    return "name,number,more\n".encode() + b"".join(
        f"{rng.choice(names)},{rng.randrange(10**rng.randrange(1, 7))},{'x' * rng.randrange(50)}\n".encode()
        for _ in range(count))


class Kind:
    """A kind of input, the options that it takes, and how its output is divided."""

    def __init__(self, rng):
        self.count = rng.choice((0, 1, 2, 50, 3000, 60000))
        self.header = b""
        self.record_bytes = 0
        self.kind = rng.choice(("lines", "csv", "u64", "gensort", "fixed:24"))
        if self.kind == "lines":
            self.data = random_lines(rng, self.count)
            self.options = rng.choice(([], ["-r"], ["-u"], ["-k2,2n"], ["-s", "-k1,1", "--count"], ["--limit=100"]))
            self.by = "2"
            self.first = ["-k2,2"]
        elif self.kind == "csv":
            self.data = random_rows(rng, self.count)
            self.header = b"name,number,more\n"
            self.options = ["--record=csv", "--header",
                            *rng.choice(([], ["--key=number:integer"], ["--key=number:integer:desc", "-u"],
                                         ["--key=name", "--limit=77"], ["--key=name", "--count", "--sum=number"]))]
            self.by = "name"
            self.first = ["--key=name"]
            if "--count" in self.options:
                self.header = b"name,number,more,count\n"
        else:
            self.record_bytes = {"u64": 8, "gensort": 100, "fixed:24": 24}[self.kind]
            spread = rng.choice((2, 256))
            self.data = bytes(rng.choices(range(spread), k=self.count * self.record_bytes))
            self.options = [f"--record={self.kind}",
                            *rng.choice(([], ["-r"], ["-u"], ["--limit=1000"], ["--skip=500"], ["--count"],
                                         ["--device=cpu"]))]
            self.by = rng.choice(("0:u8", "1:i16be"))
            whole = {"u64": "0:u64", "gensort": "0:bytes10", "fixed:24": "0:bytes24"}[self.kind]
            self.first = [f"--key={self.by}", f"--key={whole}"]
        self.folds = "--count" in self.options

    def values(self, content):
        """Of the column that parts may be by, in a part."""
        if self.kind == "lines":  # blanks in front of a field belong to it
            lines = content.split(b"\n")[:-1]
            if self.folds:
                lines = [line.lstrip(b" ").partition(b" ")[2] for line in lines]
            return {re.match(rb"[ ]*[^ ]*([ ]*[^ ]*)", line)[1] for line in lines}
        if not self.record_bytes:
            return {re.match(rb'"(?:[^"]|"")*"|[^,"]*', row)[0] for row in
                    re.findall(rb'(?:"[^"]*"|[^"\n])*\n', content)}
        size = self.record_bytes + (8 if self.folds else 0)
        begin, end = (0, 1) if self.by == "0:u8" else (1, 3)
        return {content[at + begin:at + end] for at in range(0, len(content), size)}


class RandomSorts(FaultTest):
    def check_manifest(self, directory, kind, sizes):
        manifest = json.loads((directory / "manifest.json").read_text(errors="surrogateescape"))
        self.assertEqual([part["file"] for part in manifest["files"]],
                         [f"part-{i:05}" for i in range(len(manifest["files"]))])
        self.assertEqual(sorted(os.listdir(directory)),
                         sorted([part["file"] for part in manifest["files"]] + ["manifest.json"]))
        self.assertEqual([part["bytes"] for part in manifest["files"]], sizes)
        self.assertEqual(manifest["bytes"], sum(sizes))
        self.assertEqual(manifest["records"], sum(part["records"] for part in manifest["files"]))
        for part in manifest["files"]:
            if kind.record_bytes and not kind.folds:
                self.assertEqual(part["records"] * kind.record_bytes, part["bytes"])
            if kind.kind == "lines":
                lines = (directory / part["file"]).read_bytes().split(b"\n")[:-1]
                self.assertEqual(part["records"], len(lines))
                if lines:
                    self.assertEqual(part["first_key"], lines[0][:256].decode())
                    self.assertEqual(part["last_key"], lines[-1][:256].decode())
        return manifest

    def check_division(self, kind, divided, contents):
        name, _, value = divided.partition("=")
        if name == "--parts":
            self.assertEqual(len(contents), int(value))
        elif name == "--part-bytes":
            most = int(value[:-1])
            for content in contents:
                single = (content.count(b"\n") <= 2 or kind.kind == "csv" or
                          len(content) == kind.record_bytes + (8 if kind.folds else 0))
                self.assertTrue(len(content) <= most or single, (len(content), most))
        else:
            values = [kind.values(content) for content in contents]
            self.assertLessEqual(max(map(len, values)), 1)
            self.assertEqual(len(set().union(*values)), sum(map(len, values)))

    def test_give_the_bytes_of_one_file(self):
        for number in range(RANDOM_SORTS):
            seed = number * 7919 + int(os.environ.get("XXL_SEED", "1"))
            rng = random.Random(seed)
            kind = Kind(rng)
            ways = [f"--parts={rng.choice((1, 2, 3, 16))}",
                    f"--part-bytes={rng.choice((1, 100, 4096, 5000, 70000, 10**6))}b"]
            if kind.by != "1:i16be" or kind.count <= 3000:  # not too many
                ways.append(f"--part-by={kind.by}")
            divided = rng.choice(ways)
            if kind.count > 3000 and divided in ("--part-bytes=1b", "--part-bytes=100b"):
                divided = "--part-bytes=5000b"
            options = [*kind.options, rng.choice(("-S1M", "-S8M", "-S64M")), rng.choice(("--io=threads", "--io=auto")),
                       f"--parallel={rng.choice((1, 2, 5))}"]
            verified = rng.choice(([], ["--verify"]))
            with self.subTest(seed=seed, count=kind.count, options=options, divided=divided):
                source, single, parts = self.root / "in", self.out / "single", self.out / "parts"
                source.write_bytes(kind.data)
                first = []
                if divided.startswith("--part-by="):
                    first = kind.first
                alone = self.run_xxl(*first, *options, source, "-o", single)
                done = self.run_xxl(*options, *verified, divided, source, "-o", parts)
                self.assertEqual(done.returncode, alone.returncode, done.stderr)
                self.assertEqual(done.stderr, alone.stderr)
                if done.returncode != 0:
                    continue
                files = sorted(parts.glob("part-*"))
                contents = [path.read_bytes() for path in files]
                manifest = self.check_manifest(parts, kind, [len(content) for content in contents])
                header = kind.header if kind.count or kind.header else b""
                for content in contents:
                    self.assertTrue(content.startswith(header))
                body = b"".join(content[len(header):] for content in contents)
                self.assertEqual(header + body, single.read_bytes())
                self.check_division(kind, divided, [content[len(header):] for content in contents])
                self.assertEqual(subprocess.run([whole_process.XXL, "validate", parts], capture_output=True,
                                                check=False).stdout.decode(),
                                 f"Parts: {len(manifest['files'])}, as the manifest says\n")
                # Read again, in place of one file.
                if kind.folds and kind.kind != "lines":
                    continue  # records of another kind
                merge = [] if "-u" in options or kind.folds else ["-m"]
                keep = [option for option in options if option not in ("-u", "--count") and
                        not option.startswith(("--limit", "--skip"))]
                again = self.run_xxl(*merge, *first, *keep, parts)
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertEqual(len(again.stdout), len(single.read_bytes()))
                if merge:
                    self.assertEqual(again.stdout, single.read_bytes())


def divided_records(records, header, parts, part_bytes):
    """Parts of consecutive records: so many of about equal size, or of at most so many bytes."""
    total, before, contents = sum(map(len, records)), 0, [bytearray(header)]
    for record in records:
        size = len(contents[-1])
        if size > len(header):
            is_full = size + len(record) > part_bytes if part_bytes else before >= total * len(contents) // parts
            if is_full and (part_bytes or len(contents) < parts):
                contents.append(bytearray(header))
        contents[-1] += record
        before += len(record)
    return contents + [header] * (parts - len(contents))


class SortsInMemory(FaultTest):
    """Parts of what fits in memory are cut at the same records, one after the other or several at a time."""

    def test_are_cut_where_one_file_would_be(self):
        rng = random.Random(int(os.environ.get("XXL_SEED", "1")))
        memory = tempfile.TemporaryDirectory(prefix="xxl-parts-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.addCleanup(memory.cleanup)
        for number in range(24):
            count = rng.randrange(20000, 200000)
            is_csv = number % 3 == 0
            data = random_rows(rng, count) if is_csv else random_lines(rng, count)
            if number % 4 == 1 and not is_csv:
                data += b"y" * rng.randrange(1 << 21) + b"\n"  # longer than a part
            header = b"name,number,more\n" if is_csv else b""
            options = rng.choice((["--record=csv", "--header", "--key=number:integer"], ["--record=csv", "--header"])
                                 if is_csv else ([], ["-r"], ["-s", "-k2,2n"]))
            size = len(data)
            parts, part_bytes = rng.choice(((rng.randrange(2, 9), 0), (0, rng.randrange(size // 12, size))))
            divided = f"--parts={parts}" if parts else f"--part-bytes={part_bytes}b"
            options = [*options, "--device=cpu", "-S200M", f"--parallel={rng.choice((1, 2, 5, 16))}"]
            with self.subTest(number=number, size=size, options=options, divided=divided):
                source = self.root / "in"
                source.write_bytes(data)
                self.assertEqual(self.run_xxl(*options, source, "-o", self.out / "single").returncode, 0)
                single = (self.out / "single").read_bytes()[len(header):]
                records = (re.findall(rb'(?:"[^"]*"|[^"\n])*\n', single) if is_csv else single.splitlines(True))
                expected = divided_records(records, header, parts, part_bytes)
                for directory in (self.out, pathlib.Path(memory.name)):
                    output = directory / "parts"
                    done = self.run_xxl(*options, divided, source, "-o", output)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    contents = [path.read_bytes() for path in sorted(output.glob("part-*"))]
                    self.assertEqual([len(content) for content in contents], [len(content) for content in expected])
                    self.assertTrue(contents == expected)
                    manifest = json.loads((output / "manifest.json").read_text(errors="surrogateescape"))
                    self.assertEqual(manifest["records"], len(records))
                    subprocess.run([whole_process.XXL, "validate", output], stdout=subprocess.DEVNULL, check=True)
                    shutil.rmtree(output)

    def test_hold_what_one_file_does_where_records_are_left_out(self):
        rng = random.Random(2)
        sources = []
        for number in range(2):
            sources.append(self.root / f"in{number}")
            sources[-1].write_bytes(b"".join(b"%d,%040d\n" % (rng.randrange(100000), 0) for _ in range(300000)))
        memory = tempfile.TemporaryDirectory(prefix="xxl-parts-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.addCleanup(memory.cleanup)
        output = pathlib.Path(memory.name) / "parts"
        for command in (["set", "intersect"], ["set", "intersect", "--all"], ["set", "except"], ["set", "except", "--all"],
                        ["set", "union"], ["set", "union", "--all"], ["sort", "-u"], ["sort", "--count"],
                        ["sort", "--limit=200000"], ["sort", "--skip=200000"], ["sort", "-u", "--keep-order"],
                        ["shuf", "--seed=1"], ["sort", "--record=csv", "--key=1:number", "--sum=2"]):
            with self.subTest(command=command):
                command = [*command, "-S200M", "--parallel=4", *sources]
                self.assertEqual(self.run_program(*command, "-o", self.out / "single").returncode, 0)
                done = self.run_program(*command, "--parts=4", "-o", output)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(b"".join(path.read_bytes() for path in sorted(output.glob("part-*"))) ==
                                (self.out / "single").read_bytes())
                shutil.rmtree(output)

    def run_program(self, *arguments):
        return subprocess.run([whole_process.XXL, *arguments], capture_output=True, timeout=PATIENCE_SECONDS, check=False)


class Joins(FaultTest):
    def xxl(self, *arguments):
        done = subprocess.run([whole_process.XXL, *arguments], capture_output=True, timeout=PATIENCE_SECONDS,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_of_parts_into_parts(self):
        rng = random.Random(5)
        rows, lines, records = self.root / "rows", self.root / "lines", self.gen("records", "--record=kv64", "50000")
        rows.write_bytes(random_rows(rng, 20000))
        lines.write_bytes(b"".join(b"%d %d\n" % (rng.randrange(5000), i) for i in range(20000)))
        for source, options in ((rows, ("--record=csv", "--header", "--key=number:integer")), (lines, ()),
                                (records, ("--record=kv64",))):
            order = options or ("-s", "-k1b,1")
            method = ["--method=sort-merge"] if source is records else []
            self.xxl("sort", *order, "--parts=3", source, "-o", self.out / "sorted")
            for memory in ("-S4M", "-S100M"):
                with self.subTest(source=source.name, memory=memory):
                    expected = self.xxl("join", memory, *method, *options, source, source)
                    self.assertEqual(
                        self.xxl("join", memory, *method, *options, self.out / "sorted", self.out / "sorted"), expected)
                    self.assertEqual(
                        self.xxl("join", memory, *method, *options, "--presorted", self.out / "sorted",
                                 self.out / "sorted"), expected)
                    for divided in ("--part-bytes=300K", "--parts=7", *(["--part-by=1"] if source is lines else [])):
                        self.xxl("join", memory, *options, divided, self.out / "sorted", source,
                                 f"--output={self.out / 'joined'}")
                        contents = [path.read_bytes() for path in sorted((self.out / "joined").glob("part-*"))]
                        header = contents[0][:contents[0].index(b"\n") + 1] if source is rows else b""
                        contents = [content[len(header):] for content in contents]
                        self.assertEqual(header + b"".join(contents), expected)
                        if divided == "--part-by=1":
                            keys = [{line.split(b" ")[0] for line in content.splitlines()} for content in contents]
                            self.assertEqual(set(map(len, keys)), {1})
                            self.assertEqual(len(set().union(*keys)), len(keys))
                        elif divided == "--parts=7":
                            self.assertEqual(len(contents), 7)
                            self.assertLess(max(map(len, contents)), len(expected) / 7 + 1000)
                        else:
                            self.assertGreater(len(contents), 1)
                            self.assertLessEqual(max(map(len, contents)) + len(header), 300 << 10)
                        self.xxl("validate", self.out / "joined")


class Incomplete(FaultTest):
    """Before its parts are complete nothing is there, and what was there stays."""

    RECORDS = 3_000_000

    def end_with(self, number):
        source = self.gen("in", "--record=u64", str(self.RECORDS))
        output = self.out / "parts"
        self.assertEqual(self.run_xxl("--record=u64", "--parts=2", "--limit=10", source, "-o", output).returncode, 0)
        old = (output / "manifest.json").read_bytes()
        caught = 0
        for tenths in (0, 1, 10, 15, 25, 33, 36, 39):
            process = subprocess.Popen(
                self.command("--record=u64", "-S", "8M", "--parts=20", source, "-o", output), stderr=subprocess.PIPE)
            wait_until(process, lambda: bytes_transferred(process.pid) >= self.RECORDS * 8 * tenths // 10)
            process.send_signal(number)
            process.communicate(timeout=PATIENCE_SECONDS)
            if process.returncode == 0:
                self.assert_sorted(output, self.RECORDS)
                continue
            if (output / "manifest.json").read_bytes() == old:
                caught += 1
            else:
                self.assert_sorted(output, self.RECORDS)
            self.assertEqual(list(self.scratch.iterdir()), [])
            # Killed while parts get their names, it may leave the directory that they get them in.
            left = [path.name for path in self.out.iterdir() if path.name != "parts"]
            if number == signal.SIGKILL and tenths >= 39:
                for name in left:
                    self.assertRegex(name, r"^\.xxl-.*\.tmp$")
                    shutil.rmtree(self.out / name)
            else:
                self.assertEqual(left, [])
        self.assertGreaterEqual(caught, 3)

    def test_when_killed(self):
        self.end_with(signal.SIGKILL)

    def test_when_terminated(self):
        self.end_with(signal.SIGTERM)

    def test_when_the_disk_is_full(self):
        if not can_mount():
            print("SKIPPED: full disks: only root can mount small file systems", file=sys.stderr)
            self.skipTest("only root can mount small file systems")
        records = self.gen("in", "--record=u64", "2000000")
        few = self.gen("few", "--record=u64", "1000")
        lines = self.root / "lines"
        lines.write_bytes(b"1 %s\n" % (b"x" * 1000) * 200)
        with small_file_system(self.root / "small", 8) as small:
            parts = small / "parts"
            self.assert_fails(self.run_xxl("--record=u64", "--parts=3", records, "-o", parts),
                              re.escape(str(parts)), r"15(\.\d)? MiB", "free")
            self.assertEqual(list(small.iterdir()), [])
            self.assertEqual(self.run_xxl("--record=u64", "--parts=3", few, "-o", parts).returncode, 0)
            # A join that grows beyond what is free.
            done = subprocess.run([whole_process.XXL, "join", "--part-bytes=1M", f"--output={parts}", lines, lines],
                                  capture_output=True, timeout=PATIENCE_SECONDS, check=False)
            self.assert_fails(done, re.escape(str(parts)), "reserve")
            self.assertEqual([path.name for path in small.iterdir()], ["parts"])
            self.assert_sorted(parts, 1000)
            # Many small parts take little more than their pages.
            values = self.root / "values"
            values.write_bytes(b"".join(b"%d\n" % i for i in range(1000)))
            self.assertEqual(self.run_xxl("--part-by=1", values, "-o", small / "values").returncode, 0)
            self.assertEqual(len(list((small / "values").iterdir())), 1001)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
