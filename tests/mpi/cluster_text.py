#!/usr/bin/env python3
"""Lines and rows on several ranks: random sorts compared with the same by one process.

Environment as of cluster.py."""

import csv
import io
import json
import re
import subprocess
import sys
import unittest

from cluster import ClusterTest, RANDOM_SORTS, random_device
import whole_process
from whole_process import can_mount, small_file_system


def words(rng):
    """What makes random words."""
    kind = rng.choice(("numbers", "few", "long", "common start", "bytes", "empty"))
    start = "".join(rng.choices("abc", k=rng.choice((8, 300))))
    few = [str(rng.random()) for _ in range(3)]
    return {"numbers": lambda: str(rng.randrange(100000)), "few": lambda: rng.choice(few), "empty": lambda: "",
            "long": lambda: "y" * rng.choice((0, 1, 2000)) + str(rng.randrange(1000)),
            "common start": lambda: start + str(rng.randrange(1000)),
            "bytes": lambda: "".join(rng.choices("abcdefgh \t,;\"'", k=rng.randrange(30)))}[kind]


def lines(rng, count):
    word = words(rng)
    terminator = rng.choice("\n\n\0")
    text = "".join(word() + terminator for _ in range(count))
    if rng.random() < 0.3:
        text = text[:-1]
    options = rng.choice(([], ["-r"], ["-n"], ["-k1.2,1.4"], ["-s", "-k1.1,1.3r"], ["-t ", "-k2"], ["-f"], ["-g"], ["-V"]))
    options = [*options, *rng.choice(([], [], ["-u"], ["--count"]))]
    return text.encode(), options + (["-z"] if terminator == "\0" else [])


def rows(rng, count):
    first, second = words(rng), words(rng)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=rng.choice(",,;"), lineterminator=rng.choice(("\n", "\r\n")),
                        quoting=rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
    has_header = rng.random() < 0.5
    if has_header:
        writer.writerow(["a", 'b "and"\nc', "n"])
    for _ in range(count):
        writer.writerow([first(), second() + rng.choice(("", "\n", "\n\n,\"", '"')), rng.randrange(1000)])
    header = ["--header"] if has_header else ["--no-header"]
    options = ["--record=csv", *header, f"-t{writer.dialect.delimiter}", *rng.choice(([], ["--key=3:number:desc"], ["--key=1", "--key=3"]))]
    if has_header:
        options += rng.choice(([], ["--key=n:number"]))
    keyed = any(option.startswith("--key") for option in options)
    folds = ([], ["-u"], ["--count"], ["--sum=3:total"], ["--max=3:number:most", "--collect=2"]) if keyed else ([], ["-u"])
    return out.getvalue().encode(), [*options, *rng.choice(folds)]


def header_of(text):
    """Of rows."""
    quoted = False
    for at, byte in enumerate(text):
        quoted ^= byte == ord('"')
        if byte == ord("\n") and not quoted:
            return text[:at + 1]
    return text


class RandomTextSorts(ClusterTest):
    def sort_randomly(self, rng):
        count = rng.choice((0, 1, 3, 50, 3000, 40000))
        data, options = rng.choice((lines, rows))(rng, count)
        files = []
        for number in range(rng.choice((1, 1, 2, 3))):
            path = self.root / f"in{number}"
            path.write_bytes(data if number == 0 or rng.random() < 0.5 else b"")
            files.append(path)
        options += rng.choice(([], ["--temp-compress=lz4"], ["--temp-compress=zstd"]))
        if rng.random() < 0.2:
            options += rng.choice(([f"--limit={rng.randrange(count + 2)}"], [f"--skip={rng.randrange(count + 2)}"],
                                   [f"--limit={rng.randrange(count + 2)}", f"--skip={rng.randrange(count + 2)}"]))
        expected = self.sort_alone(*options, "-S64M", *files)
        ranks = rng.randrange(1, 6)
        output = self.out / "sorted"
        in_parts = rng.random() < 0.5
        done = self.cluster(ranks, *options, rng.choice(("-S6M", "-S16M")), *rng.choice(([], ["--parallel=1"])),
                            *random_device(rng), *files, "-o", f"{output}/" if in_parts else output)
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = self.written(output)
        self.assertEqual(len(parts), ranks if in_parts else 1)
        if "--header" in options and expected:
            header = header_of(expected)
            self.assertTrue(all(part.startswith(header) for part in parts), parts)
            parts = [header, *(part[len(header):] for part in parts)]
        self.assertTrue(b"".join(parts) == expected, f"the output is another than that of one process: {options}")
        self.assert_only_in_out("sorted")
        subprocess.run(["rm", "-r", output], check=True)

    def test_sort_as_one_process_does(self):
        self.for_seeds(RANDOM_SORTS, self.sort_randomly)

    def test_files_of_ranks(self):
        for rank in range(3):
            (self.root / f"in.{rank}").write_text("k,v\n" + "".join(f"{n * 7 % 100},{rank}\n" for n in range(rank * 1000)))
        options = ["--record=csv", "--header", "--key=k:number"]
        self.assertEqual(self.cluster(3, *options, self.root / "in.{rank}", "-o", f"{self.out}/o/").returncode, 0)
        expected = self.sort_alone(*options, *(self.root / f"in.{rank}" for rank in range(3)))
        self.assertEqual(self.sort_alone("--merge", *options, self.out / "o"), expected)

    def test_headers_of_empty_files(self):
        (self.root / "in.0").write_text("")
        (self.root / "in.1").write_text("k,v\n2,b\n1,a")
        options = ["--record=csv", "--header", "--key=k"]
        for ranks, path, parts in ((2, self.root / "in.{rank}", ["k,v\n1,a\n2,b\n", "k,v\n"]), (2, self.root / "in.0", ["", ""])):
            self.assertEqual(self.cluster(ranks, *options, path, "-o", f"{self.out}/o/").returncode, 0)
            self.assertEqual(sorted(part.read_text() for part in self.out.glob("o/part-*")), sorted(parts))

    def test_parts_of_distinct_keys_are_about_equal(self):
        data = self.gen("in", "300k", "--ascii")
        done = self.cluster(4, "-S8M", data, "-o", f"{self.out}/o/")
        self.assertEqual(done.returncode, 0, done.stderr)
        sizes = [part["bytes"] for part in json.loads((self.out / "o/_manifest.json").read_text())["files"]]
        self.assertLess(max(sizes), 1.1 * min(sizes))


class TextFailures(ClusterTest):
    def test_what_cannot_be(self):
        path = self.root / "in"
        path.write_text("a\nb\n")
        for options, message in ((["-R", "-o", f"{self.out}/o/"], "R"), (["-k1R", "-o", f"{self.out}/o/"], "random"),
                                 (["--record=csv", "--no-header", "-n", "-o", f"{self.out}/o/"], "-n")):
            self.assert_cluster_fails(self.cluster(2, *options, path), message)
        other = self.root / "other"
        other.write_text("b\na\nb\n")
        self.assert_cluster_fails(self.cluster(2, "--record=csv", "--header", path, other, "-o", f"{self.out}/o/"),
                                  "other: byte 0: the header is not that of the first file")
        self.assert_only_in_out()

    def test_a_malformed_row_is_named(self):
        path = self.root / "in"
        path.write_text("".join(f'"{n}\n",{n}\n' for n in range(1000)) + '1,x"\n' + "".join(f"{n},{n}\n" for n in range(9)))
        for ranks in (1, 3):
            done = self.cluster(ranks, "--record=csv", "--no-header", "--key=1", path, "-o", f"{self.out}/o/")
            self.assert_cluster_fails(done, "in: byte [0-9]+: line 2001: ")
        path.write_text("".join(f'"{n}\n",{n}\n' for n in range(1000)) + "1,x\n" + "".join(f"{n},{n}\n" for n in range(9)))
        for ranks in (1, 4):
            done = self.cluster(ranks, "--record=csv", "--no-header", "--key=2:number", path, "-o", f"{self.out}/o/")
            self.assert_cluster_fails(done, "in: byte [0-9]+: line 2001: ")

        # Behind a stray quote, rows of other ranks look malformed, too.
        path.write_text("".join(f'"{n}\n",{n}\n' for n in range(200)) + 'x",1\n' + "".join(f'"{n}\n",{n}\n' for n in range(2000)))
        for options in (["--key=1"], ["--key=2:number"], ["--key=2:number", "--count"]):
            done = self.cluster(5, "--record=csv", "--no-header", *options, path, "-o", f"{self.out}/o/")
            self.assert_cluster_fails(done, "in: byte [0-9]+: line 401: column 1: a quote in a field")

    def test_a_record_that_is_too_long(self):
        path = self.root / "in"
        path.write_text("a" * (8 << 20) + "\nb\n" * 10)
        done = self.cluster(2, "-S8M", path, "-o", f"{self.out}/o/")
        self.assert_cluster_fails(done, "too long")
        enough = int(re.search(rb"give at least -S (\d+)M", done.stderr)[1])
        self.assertEqual(self.cluster(2, f"-S{enough}M", path, "-o", f"{self.out}/o/").returncode, 0)
        self.assert_cluster_fails(self.cluster(2, f"-S{enough * 3 // 4}M", path, "-o", f"{self.out}/less/"), "too long to be sent")

    def test_a_rank_that_dies_ends_all(self):
        self.kill_many([], self.gen("in", "600k", "--ascii"), ("o", "o/"))

    def test_a_rank_that_dies_while_parts_are_copied(self):
        self.kill_while_copying(["-u"], self.gen("in", "600k", "--ascii"))

    @unittest.skipUnless(can_mount(), "needs root, to mount")
    def test_full_output(self):
        data = self.gen("in", "400k", "--ascii")
        with small_file_system(self.root / "small", 16) as small:
            for options in ([], ["-u"]):
                self.assert_cluster_fails(self.cluster(3, "-S8M", *options, data, "-o", small / "o"), "free|reserve|space")
                self.wait_until_gone()
                self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()

    @unittest.skipUnless(can_mount(), "needs root, to mount")
    def test_full_scratch(self):
        data = self.gen("in", "400k", "--ascii")
        with small_file_system(self.root / "small", 16) as small:
            self.scratch = small
            self.assert_cluster_fails(self.cluster(3, "-S8M", data, "-o", f"{self.out}/o/"), "small")
            self.wait_until_gone()
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
