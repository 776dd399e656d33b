#!/usr/bin/env python3
"""Joins on several ranks: random ones compared with the same by one process.

Environment as of cluster.py."""

import csv
import io
import re
import struct
import subprocess
import sys
import unittest

from cluster import CAN_BE_APART, RANDOM_SORTS, ClusterTest
from cluster_text import header_of, words
import whole_process
from whole_process import can_mount, small_file_system


def keys_of(rng, count):
    """Keys of two inputs of `count` records or fewer, of which some are equal."""
    pool = rng.choice((1, 5, 100, 2 * count + 1))
    word = words(rng)
    distinct = [word() for _ in range(min(pool, 3000))]
    frequent = rng.choice(distinct)

    def some(most):
        how = rng.choice(("any", "any", "skewed", "sorted"))
        keys = rng.choices(distinct, k=rng.choice((most, most // 3, 1, 0)))
        if how == "skewed":
            keys = [frequent if rng.random() < 0.8 else key for key in keys]
        return sorted(keys) if how == "sorted" else keys

    # Pairs of a key are as many as its records in R times those in S.
    return some(min(count, 20 * pool + 10)), some(count) if pool > 5 else some(min(count, 500))


def lines(rng, count):
    separator = rng.choice((",", ":", None))
    terminator = rng.choice("\n\n\0")
    sides = []
    for name, keys in zip("rs", keys_of(rng, count)):
        column = rng.randrange(3)
        text = ""
        for number, key in enumerate(keys):
            fields = [f"{name}{number}", rng.choice(("", "x y", "longer" * 5))]
            fields.insert(column, key.replace("\n", " ").replace("\0", " "))
            text += (separator or " ").join(fields) + terminator
        sides.append((text[:-1] if rng.random() < 0.3 else text, column))
    options = [*([f"-t{separator}"] if separator else []), *(["-z"] if terminator == "\0" else []), *rng.choice(([], [], ["-i"])),
               "-1", str(sides[0][1] + 1), "-2", str(sides[1][1] + 1),
               *rng.choice(([], ["-a1"], ["-a2"], ["-a1", "-a2"], ["-v1"], ["-v2"], ["--how=semi"], ["--how=anti"], ["--how=full"])),
               *rng.choice(([], ["--empty-keys=never"], ["--header"]))]
    if not any(how in options for how in ("--how=semi", "--how=anti")):
        options += rng.choice(([], ["--layout=0,1.1,2.2"], ["--layout=auto", "-e", "-"]))
    return [text.encode() for text, _ in sides], options


def rows(rng, count):
    has_header, skips = rng.random() < 0.5, rng.random() < 0.3
    key_type = rng.choice(("", "", ":number"))
    texts = []
    for name, keys in zip("rs", keys_of(rng, count)):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator=rng.choice(("\n", "\r\n")), quoting=rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
        if has_header:
            writer.writerow(["k", "same", f"of {name}\n\"quoted\""])
        for number, key in enumerate(keys):
            if skips and number > 0 and rng.random() < 0.01:
                out.write(rng.choice(('1,"open\n', '2,5" nail\n', '3,"bolt" M6,\n')))
            writer.writerow([number % 100 if key_type else key, rng.choice(("", "\n", 'a"b')), f"{name}{number}"])
        texts.append(out.getvalue().encode())
    key = "k" if has_header else "1"
    how = rng.choice(([], ["--how=left"], ["--how=right"], ["--how=full"], ["--how=semi"], ["--how=anti"], ["-v2"]))
    options = ["--record=csv", f"--key={key}{key_type}", *how, "--header" if has_header else "--no-header",
               *(["--malformed=skip"] if skips else []), *rng.choice(([], ["--empty-keys=never"]))]
    if has_header and how not in (["--how=semi"], ["--how=anti"]):
        options += rng.choice(([], ["--suffixes=_a,_b"]))
    return texts, options


def records(rng, count):
    how = rng.choice(([], ["--how=left"], ["--how=right"], ["--how=full"], ["--how=semi"], ["--how=anti"]))
    keys = [[hash(key) % 2 ** 32 for key in side] for side in keys_of(rng, count)]
    kind = rng.choice(("kv64", "two", "bytes"))
    if kind == "kv64":
        options = ["--record=kv64", *rng.choice(([], ["--layout=0,m,2.8:8"]))]
        if "--layout=0,m,2.8:8" in options:
            how = rng.choice(([], ["--how=left"], ["--how=full"]))
        data = [b"".join(struct.pack("<QQ", key, number) for number, key in enumerate(side)) for side in keys]
    elif kind == "two":
        options = ["--record1=fixed:12", "--left-on=4:u32:desc", "--record2=fixed:20", "--right-on=16:u32be:desc"]
        data = [b"".join(struct.pack("<III", number, key, 7) for number, key in enumerate(keys[0])),
                b"".join(struct.pack("<QQ", number, 1) + struct.pack(">I", key) for number, key in enumerate(keys[1]))]
    else:
        options = ["--record=fixed:21", "--key=1:bytes10"]
        data = [b"".join(b"-%010d%10d" % (key, number) for number, key in enumerate(side)) for side in keys]
    return data, [*options, *how]


class RandomJoins(ClusterTest):
    def join_alone(self, *arguments):
        return subprocess.run([whole_process.XXL, "join", "-T", self.scratch, "--method=sort-merge", *map(str, arguments)],
                              capture_output=True, timeout=whole_process.PATIENCE_SECONDS, check=True).stdout

    def join_randomly(self, rng):
        count = rng.choice((0, 1, 3, 50, 3000, 30000))
        data, options = rng.choice((lines, rows, records))(rng, count)
        files = [self.root / name for name in "rs"]
        for path, content in zip(files, data):
            path.write_bytes(content)
        memory = rng.choice(("-S8M", "-S8M", "-S32M"))
        ranks = rng.randrange(1, 6)
        apart = CAN_BE_APART and rng.random() < 0.3
        expected = self.join_alone(*options, "-S64M", *files)
        output = self.out / "joined"
        in_parts = rng.random() < 0.5
        done = self.cluster(ranks, *options, memory, *rng.choice(([], ["--parallel=1"])), *files,
                            f"--output={output}{'/' if in_parts else ''}", command="join", apart=apart)
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = self.written(output)
        self.assertEqual(len(parts), ranks if in_parts else 1)
        if "--header" in options and expected:
            end = b"\0" if "-z" in options else b"\n"
            header = header_of(expected) if "--record=csv" in options else expected[:expected.index(end) + 1]
            self.assertTrue(all(part.startswith(header) for part in parts), parts)
            parts = [header, *(part[len(header):] for part in parts)]
        self.assertTrue(b"".join(parts) == expected, f"the output is another than that of one process: {options}")
        self.assert_only_in_out("joined")
        subprocess.run(["rm", "-r", output], check=True)
        counted = self.cluster(ranks, *options, memory, *files, "--count", command="join")
        self.assertEqual(counted.stdout, self.join_alone(*options, *files, "--count"), counted.stderr)

    def test_join_as_one_process_does(self):
        self.for_seeds(RANDOM_SORTS // 2, self.join_randomly)

    def test_a_group_larger_than_memory(self):
        for name, count in (("r", 3), ("s", 300_000)):
            (self.root / name).write_text("".join(f"k {name}{number} {'x' * 100}\n" for number in range(count)) + "l end\n")
        files = [self.root / "r", self.root / "s"]
        done = self.cluster(3, "-S8M", *files, f"--output={self.out}/o/", command="join")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(b"".join(self.parts(self.out / "o")) == self.join_alone(*files))

    def test_files_and_parts(self):
        for rank in range(3):
            (self.root / f"r.{rank}").write_text("k,a\n" + "".join(f"{n * 7 % 100},{rank}\n" for n in range(rank * 100)))
        (self.root / "s").write_text("k,b\n" + "".join(f"{n},{n}\n" for n in range(90)))
        options = ["--record=csv", "--header", "--key=k:number"]
        subprocess.run([whole_process.XXL, "sort", *options, self.root / "s", "-o", f"{self.root}/parts/", "--parts=4"], check=True)
        done = self.cluster(3, *options, self.root / "r.{rank}", self.root / "parts", f"--output={self.out}/o/", command="join")
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = "k,a\n" + "".join((self.root / f"r.{rank}").read_text()[4:] for rank in range(3))
        (self.root / "r").write_text(whole)
        expected = self.join_alone(*options, self.root / "r", self.root / "s")
        header = b"k,a,b\n"
        self.assertEqual(header + b"".join(part[len(header):] for part in self.parts(self.out / "o")), expected)


class JoinFailures(ClusterTest):
    def failing_join(self, message, *arguments):
        self.assert_cluster_fails(self.cluster(2, *arguments, command="join"), message)

    def test_a_row_that_is_too_long(self):
        r, s = self.root / "r", self.root / "s"
        r.write_text("1," + "a" * (6 << 20) + "\n2,x\n")
        s.write_text("".join(f"{n},y\n" for n in range(1000)))
        arguments = ("--record=csv", "--no-header", "--key=1", r, s)
        done = self.cluster(2, "-S8M", *arguments, f"--output={self.out}/o/", command="join")
        self.assert_cluster_fails(done, "too long")
        enough = int(re.search(rb"give at least -S (\d+)M", done.stderr)[1])
        done = self.cluster(2, f"-S{enough}M", *arguments, f"--output={self.out}/o/", command="join")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.cluster(2, f"-S{enough * 3 // 4}M", *arguments, f"--output={self.out}/less/", command="join")
        self.assert_cluster_fails(done, "too long to be sent")

    def test_what_cannot_be(self):
        r, s = self.root / "r", self.root / "s"
        r.write_text("a,1\nb,2\n")
        s.write_text("a,1\n")
        output = f"--output={self.out}/o/"
        self.failing_join("missing operand", r, output)
        self.failing_join("extra operand", r, s, s, output)
        self.failing_join("no output given", r, s)
        self.failing_join("No such file", r, self.root / "none", output)
        self.failing_join("unrecognized option '--presorted'", "--presorted", r, s, output)
        self.failing_join("is for lines only", "--record=csv", "--no-header", "-i", r, s, output)
        self.failing_join("give both the same type", "--record=csv", "--no-header", "--left-on=1:number", "--right-on=1", r, s, output)
        self.failing_join("r: .*not a whole record", "--record=kv64", r, s, output)
        self.failing_join("cannot be compared", "--record=fixed:4", "--left-on=0:u8", "--right-on=0:u16", s, s, output)
        r.write_text("a,1\n" * 1000 + "a,1,2\n" + "b,1\n" * 1000)
        self.failing_join("r: byte 4000: line 1001: the row has 3 fields instead of 2", "--record=csv", "--no-header", "--on=1", r, s, output)
        self.assert_only_in_out()

    def test_a_rank_that_dies_ends_all(self):
        data = self.gen("in", "600k", "--record=gensort")
        # Rows are records of R.
        self.kill_many(["--record=gensort", "--how=semi", data], data, ("o", "o/"), command="join")
        self.kill_while_copying(["--record=gensort", "--how=semi", data], data, command="join")

    @unittest.skipUnless(can_mount(), "needs root, to mount")
    def test_full_disks(self):
        data = self.gen("in", "400k", "--ascii")
        with small_file_system(self.root / "small", 16) as small:
            for name in ("o/", "o"):
                self.failing_join("small", "-S8M", data, data, f"--output={small}/{name}")
                self.wait_until_gone()
                self.assertEqual(list(small.iterdir()), [])
            self.scratch = small
            self.failing_join("small", "-S8M", data, data, f"--output={self.out}/o/")
            self.wait_until_gone()
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
