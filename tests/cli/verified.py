#!/usr/bin/env python3
"""--verify: writes to the output are tampered with on their way to the disk, and each fault is found,
of each kind of output; the old output stays.
"""

import os
import sys

import whole_process
from tampered_case import OLD, TamperedTest


class Verified(TamperedTest):
    def records(self, name="records", count=1_200_000):
        return self.gen(name, "--record=kv64", f"--seed={len(name)}", str(count))

    def lines(self, name="lines", count=200_000):
        path = self.root / name
        path.write_bytes(b"".join(b"%d %d,%x\n" % (self.random.randrange(count), i, self.random.getrandbits(96))
                                  for i in range(count)))
        return path

    def test_records_that_do_not_fit_in_memory(self):
        self.expect_all_found(["sort", "--record=kv64", "-S", "8M", self.records()])

    def test_records_in_memory(self):
        self.expect_all_found(["sort", "--record=kv64", "-S", "100M", self.records()])

    def test_records_that_are_sorted_already(self):
        source = self.gen("sorted", "--record=kv64", "--distribution=sorted", "1200000")
        self.expect_all_found(["sort", "--record=kv64", "-S", "8M", source])

    def test_lines_that_do_not_fit_in_memory(self):
        self.expect_all_found(["sort", "-n", "-S", "5M", self.lines()])

    def test_a_file_of_a_few_bytes(self):
        source = self.root / "few"
        source.write_bytes(b"b\na\n")
        self.expect_all_found(["sort", source])

    def test_rows(self):
        self.expect_all_found(["sort", "--record=csv", "--no-header", "--key=2", "--unique", "-S", "8M", self.lines()])

    def test_compressed_output(self):
        source = self.lines()
        for suffix in ("zst", "gz", "lz4"):
            with self.subTest(suffix=suffix):
                self.file = self.out / f"file.{suffix}"
                self.expect_all_found(["sort", "-S", "8M", source])
                self.file.unlink()

    def test_parts(self):
        self.expect_all_found(["sort", "--record=kv64", "-S", "8M", "--parts=5", self.records()], old=None)

    def test_small_parts_of_records(self):
        self.expect_all_found(["sort", "--record=kv64", "-S", "8M", "--part-bytes=50000b", self.records(count=30000)],
                              old=None)

    def test_parts_of_lines(self):
        self.expect_all_found(["sort", "-S", "8M", "--part-bytes=700K", self.lines()], old=None)

    def test_a_part_for_each_value(self):
        self.expect_all_found(["sort", "-S", "8M", "-t,", "--part-by=2", self.lines(count=40)], old=None)

    def test_joins(self):
        r, s = self.records("r", 300_000), self.records("s", 300_000)
        for options in (["--method=hash"], ["--method=sort-merge", "-S", "8M"]):
            with self.subTest(options=options):
                self.expect_all_found(["join", "--record=kv64", "--how=full", *options, r, s])

    def test_joins_of_lines(self):
        self.expect_all_found(["join", "--how=full", "--key=1", "-S", "8M", self.lines("r", 50_000), self.lines("s", 50_000)])

    def test_shuffles(self):
        self.expect_all_found(["shuf", "--seed=1", "-S", "8M", self.lines()])

    def test_sets(self):
        self.expect_all_found(["union", "-S", "8M", self.lines("a"), self.lines("b")])

    # --- in place: a file with another name is overwritten ---

    def test_what_is_to_be_copied_into_a_file(self):
        self.file.write_bytes(OLD)
        os.link(self.file, self.root / "other")
        # In memory, so that nothing else is written to scratch.
        self.expect_all_found(["sort", "--record=kv64", "-S", "100M", self.records()], below=self.scratch, always=True)
        self.assertEqual((self.root / "other").stat().st_ino, self.file.stat().st_ino)

    def test_what_was_copied_into_a_file(self):
        self.file.write_bytes(OLD)
        os.link(self.file, self.root / "other")
        self.expect_all_found(["sort", "--record=kv64", "-S", "8M", self.records()], copied=True)


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
