#!/usr/bin/env python3
"""Outputs in parts: those that are written several at a time, compared with one file, and full disks."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import whole_process
from whole_process import FaultTest, PATIENCE_SECONDS, can_mount, small_file_system


def random_lines(rng, count):
    words = [bytes(rng.choices(b"abcxyz 0123", k=rng.randrange(rng.choice((3, 12, 300)))))
             for _ in range(rng.choice((3, 50, 2000)))]
    return b"".join(rng.choice(words) + b" %d\n" % rng.randrange(10**rng.randrange(1, 9)) for _ in range(count))


def random_rows(rng, count):
    names = ["Rome", "Oslo", '"New, York"', '"a\nb"', '"say ""x"""', ""]
    return "name,number,more\n".encode() + b"".join(
        f"{rng.choice(names)},{rng.randrange(10**rng.randrange(1, 7))},{'x' * rng.randrange(50)}\n".encode()
        for _ in range(count))


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
                    manifest = json.loads((output / "_manifest.json").read_text(errors="surrogateescape"))
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
        for command in (["intersect"], ["intersect", "--all"], ["except"], ["except", "--all"],
                        ["union"], ["union", "--all"], ["sort", "-u"], ["sort", "--count"],
                        ["sort", "--limit=200000"], ["sort", "--skip=200000"], ["sort", "-u", "--keep-order"],
                        ["shuf", "--seed=1"], ["sort", "--record=csv", "--no-header", "--key=1:number", "--sum=2"]):
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


class Incomplete(FaultTest):
    """Before its parts are complete nothing is there, and what was there stays."""

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
