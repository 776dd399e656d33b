#!/usr/bin/env python3
"""xxl sort -u --keep-order: random inputs compared with a dictionary, and full disks."""

import os
import random
import struct
import subprocess
import sys

import whole_process

RANDOM_SORTS = int(os.environ.get("XXL_RANDOM_KEPT", "150"))


def first_of_each(records, key):
    kept = {}
    for record in records:
        kept.setdefault(key(record), record)
    return list(kept.values())  # in the order in which they were put there


def field(line, number):
    fields = line.split(b" ")
    return fields[number] if number < len(fields) else b""


def number(line):
    return int(line.split(b" ")[0] or b"0")


# Options, and the key that they stand for: of lines of words and numbers with single blanks between.
LINE_KEYS = (
    ([], lambda line: line),
    (["-r"], lambda line: line),
    (["-f"], bytes.upper),
    (["-n"], number),
    (["-t ", "-k2,2"], lambda line: field(line, 1)),
    (["-t ", "-k2,2r", "-k1,1n"], lambda line: (field(line, 1), number(line))),
)


class RandomSorts(whole_process.FaultTest):
    def lines(self, rng, count):
        most = rng.choice((3, 1000, 10**9))
        tail = rng.choice((0, 3, 30, 200))
        return [b"%d %s" % (rng.randrange(most), bytes(rng.choices(b"aAbB ", k=rng.randrange(tail + 1))).strip())
                for _ in range(count)]

    def case(self, rng):
        """Options, what stands before the records, the records as they are in the file, and what is kept."""
        count = rng.choice((0, 1, 2, 50, 3000, 60_000))
        kind = rng.choice(("lines", "lines", "header", "csv", "fixed"))
        if kind == "csv":
            rows = [(rng.randrange(rng.choice((2, 10**6))), rng.randrange(10)) for _ in range(count)]
            key = rng.choice((0, 1))
            records = [b'%d,%d,"a\nb,%s"\n' % (*row, b"x" * rng.randrange(40)) for row in rows]
            kept = [records[i] for i in first_of_each(range(count), lambda i: rows[i][key])]
            return ["--record=csv", "--header", f"--key={'pq'[key]}:integer"], b"p,q,r\n", records, kept
        if kind == "fixed":
            records = [struct.pack("<Id", rng.randrange(rng.choice((2, 10**9))), rng.randrange(4)) for _ in range(count)]
            part, of = rng.choice((("0:u32", slice(0, 4)), ("4:f64:desc", slice(4, 12)), ("0:bytes12", slice(0, 12))))
            return ["--record=fixed:12", f"--key={part}"], b"", records, first_of_each(records, lambda r: r[of])
        options, key = rng.choice(LINE_KEYS)
        end = rng.choice((b"\n", b"\n", b"\0"))
        lines = self.lines(rng, count)
        if count > 2 and rng.random() < 0.2:
            for _ in range(2):
                lines[rng.randrange(count)] = b"7 " + b"l" * 200_000
        kept = [line + end for line in first_of_each(lines, key)]
        options = options + (["-z"] if end == b"\0" else [])
        return ((options + ["--header"], b"header" + end) if kind == "header" else (options, b"")) + (
            [line + end for line in lines], kept)

    def test_they_keep_the_first_of_each_key_where_it_stands(self):
        for round_number in range(RANDOM_SORTS):
            rng = random.Random(round_number)
            options, head, records, kept = self.case(rng)
            files = [self.root / "a", self.root / "b"]
            cut = rng.randrange(len(records) + 1)
            files[0].write_bytes(head + b"".join(records[:cut]))
            files[1].write_bytes(head + b"".join(records[cut:]))
            first = rng.choice((0, 0, 1, 100))
            limit = rng.choice((None, None, 0, 10, 5000))
            expected = head + b"".join(kept[first:] if limit is None else kept[first:first + limit])
            options = options + [f"--skip={first}"] + ([] if limit is None else [f"--limit={limit}"])
            memory = rng.choice((4, 6, 30))
            if any(len(record) > 100_000 for record in records):
                memory = max(memory, 8)  # with less, it depends on how many runs there are
            options += [f"-S{memory}M", f"--parallel={rng.choice((1, 2, 3))}",
                        *rng.choice(([], ["--temp-compress"], ["--io=threads"], ["--batch-size=3"]))]
            with self.subTest(number=round_number, options=options, records=len(records)):
                out = self.root / "sorted"
                self.assertEqual(self.run_xxl("-u", "--keep-order", *options, *files, "-o", out).returncode, 0)
                self.assertEqual(out.read_bytes(), expected)
                if not head:
                    data = b"".join(records)
                    done = subprocess.run([whole_process.XXL, "sort", "-u", "--keep-order", *options], input=data,
                                          stdout=subprocess.PIPE, timeout=whole_process.PATIENCE_SECONDS, check=True,
                                          env={**os.environ, "LC_ALL": "C"})
                    self.assertEqual(done.stdout, expected)

    def test_a_full_disk_leaves_no_output(self):
        # 15: there is room for the first sort, and not for both.
        self.expect_full_disks_to_fail(["sort", "-u", "--keep-order"], 1, (("scratch", 4), ("scratch", 15), ("output", 4)))


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
