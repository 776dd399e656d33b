#!/usr/bin/env python3
"""xxl set: random inputs compared with counting, full disks, and records that do not fit."""

import collections
import gzip
import os
import random
import struct
import subprocess
import sys

import whole_process

RANDOM_SETS = int(os.environ.get("XXL_RANDOM_SETS", "200"))


def result(operation, inputs, key, order):
    """What the operation leaves of the inputs, lists of records; in order, if keys ascend. `order`: that of
    all records of a union, where records with equal keys may have one."""
    groups = collections.defaultdict(list)
    for record in (record for records in inputs for record in records):
        groups[key(record)].append(record)
    counts = [collections.Counter(map(key, records)) for records in inputs]
    name, *every = operation

    def kept(value, group):
        first, others = counts[0][value], [count[value] for count in counts[1:]]
        if name == "union":
            return sorted(group, key=order) if every else group[:1]
        if name == "intersect":
            least = min(first, *others)
            return group[:least if every else min(least, 1)]
        if every:
            return group[min(sum(others), first):first]
        return group[:1] if first and not any(others) else []

    return [record for value in sorted(groups) for record in kept(value, groups[value])]


class Descending:
    """Of another key, backwards."""

    def __init__(self, key):
        self.key = key

    def __lt__(self, other):
        return other.key < self.key

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


def field(line, number):
    fields = line.split(b" ")
    return fields[number] if number < len(fields) else b""


def number_of(line):
    return int(line.split(b" ")[0] or b"0")


# Options, and the key that they stand for: of lines of words and numbers with single blanks between.
LINE_KEYS = (
    ([], lambda line: line),
    ([], lambda line: line),
    (["-r"], Descending),
    (["-f"], bytes.upper),
    (["-n"], number_of),
    (["-t ", "-k2,2"], lambda line: field(line, 1)),
    (["-t ", "-k2,2r", "-k1,1n"], lambda line: (Descending(field(line, 1)), number_of(line))),
)
OPERATIONS = [[name, *every] for name in ("union", "intersect", "except") for every in ([], ["--all"])]


class Kind:
    """Of records: options, the key in Python, how records are made and how they end."""

    def __init__(self, rng):
        self.name = rng.choice(("lines", "lines", "-z", "header", "csv", "fixed", "type"))
        self.rng = rng
        self.end, self.head = b"\n", b""
        self.most = rng.choice((2, 40, 3000, 10**9))
        if self.name == "csv":
            column = rng.choice((None, 0, 1))
            self.options = ["--record=csv", "--header"]
            self.head = b"p,q,r\n"
            if column is not None:
                self.options.append(f"--key={'pq'[column]}:integer")
            self.key = (lambda row: row) if column is None else (lambda row: int(row.split(b",")[column]))
        elif self.name == "fixed":
            self.end = b""
            part, self.key = rng.choice((
                ("0:u32", lambda r: struct.unpack_from("<I", r)[0]), ("4:f64:desc", lambda r: -struct.unpack_from("<d", r, 4)[0]),
                ("", lambda r: r)))
            self.options = ["--record=fixed:12"] + ([f"--key={part}"] if part else [])
        elif self.name == "type":  # compared as a whole, in the order of the type
            self.end = b""
            self.type = rng.choice(("u32", "i64", "kv32", "gensort"))
            self.options = [f"--record={self.type}"]
            self.key = {"u32": lambda r: struct.unpack("<I", r), "i64": lambda r: struct.unpack("<q", r),
                        "kv32": lambda r: (struct.unpack_from("<I", r), r[4:]), "gensort": lambda r: r}[self.type]
        else:
            self.options, self.key = rng.choice(LINE_KEYS)
            if self.name == "-z":
                self.options, self.end = [*self.options, "-z"], b"\0"
            elif self.name == "header":
                self.options, self.head = [*self.options, "--header"], b"head\n"
        # Lines with equal keys are in the order of their bytes, as sort(1) has them without -s.
        of_lines = self.name in ("lines", "-z", "header")
        self.order = (lambda line: (self.key(line), line)) if of_lines and self.key is not Descending else self.key
        self.tail = rng.choice((0, 3, 30, 200))
        self.has_long = False

    def record(self):
        rng, value = self.rng, self.rng.randrange(self.most)
        if self.name == "csv":
            return b'%d,%d,"a\nb,%s"' % (value, rng.randrange(10), b"x" * rng.randrange(self.tail + 1))
        if self.name == "fixed":
            return struct.pack("<Id", value, rng.randrange(4))
        if self.name == "type":
            return {"u32": lambda: struct.pack("<I", value), "i64": lambda: struct.pack("<q", value - self.most // 2),
                    "kv32": lambda: struct.pack("<II", value, rng.randrange(3)),
                    "gensort": lambda: b"%010d%090d" % (value, rng.randrange(3))}[self.type]()
        return b"%d %s" % (value, bytes(rng.choices(b"aAbB ", k=rng.randrange(self.tail + 1))).strip())

    def text(self, records, ends=True):
        """Of a file; the last record may lack its end."""
        text = self.head + b"".join(record + self.end for record in records)
        return text if ends or not self.end else text.removesuffix(self.end)


class RandomSets(whole_process.FaultTest):
    def case(self, rng):
        """A kind of records and inputs of it."""
        kind = Kind(rng)
        count = rng.choice((2, 2, 2, 3, 5, rng.randrange(2, 300)))
        most = rng.choice((0, 2, 100, 4000, 60_000)) // count
        inputs = [[kind.record() for _ in range(rng.randrange(most + 1))] for _ in range(count)]
        for at in range(1, count):
            if rng.random() < 0.2:
                inputs[at] = list(inputs[rng.randrange(at)])
        if rng.random() < 0.1:
            inputs[0] = inputs[0] * 3
        if kind.name in ("lines", "-z") and rng.random() < 0.2:
            kind.has_long = True
            for records in inputs[:2]:
                records.insert(rng.randrange(len(records) + 1), b"7 " + b"l" * 300_000)
        if rng.random() < 0.4:
            inputs = [sorted(records, key=kind.order) for records in inputs]
            if rng.random() < 0.7:
                kind.options = [*kind.options, "-m"]
        return kind, inputs

    def files_of(self, kind, inputs, rng):
        files = []
        for number, records in enumerate(inputs):
            files.append(self.root / f"{number}")
            if number > 0 and rng.random() < 0.1:  # the same file again
                inputs[number] = inputs[number - 1]
                files[-1] = files[-2]
                continue
            text = kind.text(records, rng.random() < 0.7 or (records and not records[-1]))
            if rng.random() < 0.05:
                files[-1] = files[-1].with_suffix(".gz")
                text = gzip.compress(text, 1)
            elif not records and rng.random() < 0.5:
                text = b""  # without header
            files[-1].write_bytes(text)
        return files

    def test_they_are_what_counting_gives(self):
        for number in range(RANDOM_SETS):
            rng = random.Random(number)
            kind, inputs = self.case(rng)
            files = self.files_of(kind, inputs, rng)
            for operation in rng.sample(OPERATIONS, 3):
                expected = result(operation, inputs, kind.key, kind.order)
                first, limit = rng.choice((0, 0, 0, 1, 50)), rng.choice((None, None, None, 0, 7, 1000))
                expected = expected[first:] if limit is None else expected[first:first + limit]
                options = [f"--skip={first}"] + ([] if limit is None else [f"--limit={limit}"])
                # Merges hold the long records of all inputs at once.
                memory = rng.choice((3, 4, 6, 30)) + (20 if kind.has_long and "-m" in kind.options else 0)
                options += [f"-S{memory}M", f"--parallel={rng.choice((1, 2, 3))}",
                            *rng.choice(([], ["--temp-compress"], ["--io=threads"], ["--batch-size=3"]))]
                # One input may come through a pipe.
                names, data = [str(file) for file in files], None
                at = rng.randrange(len(files))
                if rng.random() < 0.3 and files[at].suffix != ".gz":
                    names[at], data = "-", files[at].read_bytes()
                out = self.root / "result"
                output = rng.choice(([], ["-o", str(out)], ["--verify", "-o", str(out)]))
                command = [whole_process.XXL, "set", *operation, *kind.options, *options, *names, *output]
                with self.subTest(number=number, command=" ".join(command)):
                    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=False,
                                          timeout=whole_process.PATIENCE_SECONDS, env={**os.environ, "LC_ALL": "C"})
                    self.assertEqual(done.returncode, 0)
                    has_head = any(file.stat().st_size for file in files)
                    written = out.read_bytes() if output else done.stdout
                    self.assertEqual(written, kind.text(expected) if has_head else b"")

    def test_a_key_of_more_records_than_memory_holds(self):
        """Which make one group, merged record by record."""
        line = b"%07d" + b"x" * 90 + b"\n"
        a, b = self.root / "a", self.root / "b"
        a.write_bytes(b"".join(b"k " + line % i for i in range(100_000)) + b"l\n")
        b.write_bytes(b"".join(b"k " + line % i for i in range(60_000)))
        records = a.read_bytes().splitlines(keepends=True)
        for operation, expected in ((["intersect", "--all"], records[:60_000]), (["except", "--all"], records[60_000:]),
                                    (["intersect"], records[:1]), (["except"], records[-1:])):
            for memory in ("3M", "8M"):
                with self.subTest(operation=operation, memory=memory):
                    done = subprocess.run([whole_process.XXL, "set", *operation, "-k1,1", "-S", memory, a, b], check=True,
                                          stdout=subprocess.PIPE, timeout=whole_process.PATIENCE_SECONDS)
                    self.assertEqual(done.stdout, b"".join(expected))

    def test_a_record_longer_than_memory_is_an_error_that_says_so(self):
        (self.root / "a").write_bytes(b"l" * (5 << 20) + b"\n")
        (self.root / "b").write_bytes(b"b\n")
        for names in (("a", "b"), ("b", "a")):
            done = subprocess.run([whole_process.XXL, "set", "except", "-S2M", *(self.root / name for name in names)],
                                  capture_output=True, timeout=whole_process.PATIENCE_SECONDS, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(b"too long for the memory of -S", done.stderr)

    def test_a_full_disk_leaves_no_output(self):
        self.expect_full_disks_to_fail(["set", "intersect"], 2)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
