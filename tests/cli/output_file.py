#!/usr/bin/env python3
"""Where output files are, and whose: directories that may not be written or read, files that cannot
be replaced, links and files that others laid out, and disks that are too small.

Most of it needs root, to change to another user and to mount; what is skipped says so.
"""

import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import whole_process
from whole_process import NOBODY, small_file_system

ROWS = b"".join(b"%d,%d\n" % (i * 7919 % 1000, i) for i in range(1000))
SORTED_ROWS = b"".join(sorted(ROWS.splitlines(keepends=True)))


@contextlib.contextmanager
def mounted(*arguments):
    """A file system, as mount(8) is told, for so long."""
    subprocess.run(["mount", *arguments], check=True)
    try:
        yield pathlib.Path(arguments[-1])
    finally:
        subprocess.run(["umount", arguments[-1]], check=True)


class OutputTest(whole_process.FaultTest):
    def setUp(self):
        super().setUp()
        if not whole_process.can_mount() or shutil.which("setpriv") is None:
            print("SKIPPED: output files: needs root and setpriv", file=sys.stderr)
            self.skipTest("needs root and setpriv")
        self.program = whole_process.program_for_all(self.root)
        self.source = self.root / "in"
        self.source.write_bytes(ROWS)
        self.scratch.chmod(0o1777)
        self.file = self.out / "file"

    def existing(self, owner=0, mode=0o666):
        self.file.write_bytes(b"old content")
        os.chown(self.file, owner, owner)
        self.file.chmod(mode)

    def xxl(self, *arguments, user=0):
        return subprocess.run(
            ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", self.program, *arguments],
            capture_output=True, timeout=whole_process.PATIENCE_SECONDS, check=False,
            env={**os.environ, "LC_ALL": "C", "TMPDIR": str(self.scratch)})

    def sort(self, *arguments, user=0):
        return self.xxl("sort", "-T", self.scratch, "--stats=json", *arguments, self.source, "-o", self.file,
                        user=user)

    def assert_written(self, done, in_place, owner):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stderr)["output_in_place"], in_place)
        self.assertEqual(self.file.read_bytes(), SORTED_ROWS)
        self.assertEqual(self.file.stat().st_uid, owner)


class InPlace(OutputTest):
    """An existing file that cannot be replaced without loss is overwritten, as sort(1) does."""

    def test_in_a_directory_that_may_not_be_written(self):
        self.existing()
        self.assert_written(self.sort(user=NOBODY), True, 0)
        self.assertEqual(list(self.out.iterdir()), [self.file])

    def test_small_outputs_need_no_scratch(self):
        for options in (["-n"], ["-n", "--verify"], ["--record=csv", "--no-header", "--key=1:integer"]):
            with self.subTest(options=options):
                self.existing()
                self.source.write_bytes(b"".join(b"%d\n" % number for number in range(9999, 0, -1)))
                done = self.xxl("sort", *options, "-T", "/nonexistent", self.source, "-o", self.file, user=NOBODY)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertEqual(self.file.read_bytes(), b"".join(b"%d\n" % number for number in range(1, 10000)))
        self.existing()
        large = self.gen("records", "--record=u64", "2000000")
        large.chmod(0o644)
        done = self.xxl("sort", "--record=u64", "-T", "/nonexistent", large, "-o", self.file, user=NOBODY)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"/nonexistent: cannot create a temporary file", done.stderr)
        self.assertEqual(self.file.read_bytes(), b"old content")

    def test_every_command_does_so(self):
        records = self.gen("records", "--record=kv64", "1000")
        records.chmod(0o644)
        target = f"--output={self.file}"
        for command in (["sort", "--record=kv64", records, target], ["sort", "--record=csv", "--no-header", self.source, target],
                        ["join", "--record=kv64", records, records, target],
                        ["join", "-t,", self.file, self.source, target], ["gen", "1000", target]):
            with self.subTest(command=command[:2]):
                self.existing()
                inode = self.file.stat().st_ino
                done = self.xxl(*command, user=NOBODY)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotEqual(self.file.read_bytes(), b"old content")
                self.assertEqual(self.file.stat().st_ino, inode)

    def test_a_file_of_another_user_stays_his(self):
        self.existing(owner=12345)
        os.chown(self.out, NOBODY, NOBODY)
        self.assert_written(self.sort(user=NOBODY), True, 12345)
        self.assert_written(self.sort(), False, 12345)

    def test_in_a_sticky_directory_of_another_user(self):
        self.existing(owner=12345)
        self.out.chmod(0o1777)
        self.assert_written(self.sort(user=NOBODY), True, 12345)

    def test_a_file_that_is_a_mount_point(self):
        self.existing()
        real = self.root / "real"
        real.write_bytes(b"old content")
        with mounted("--bind", real, self.file):
            self.assert_written(self.sort(), True, 0)
        self.assertEqual(real.read_bytes(), SORTED_ROWS)

    def test_the_output_may_be_the_input(self):
        self.file.write_bytes(ROWS)
        os.link(self.file, self.root / "other")
        done = self.sort("-S", "8M", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len((self.root / "other").read_bytes()), 2 * len(ROWS))

    def test_a_compressed_output(self):
        target = self.out / "file.gz"
        target.write_bytes(b"old content")
        os.link(target, self.root / "other.gz")
        done = self.xxl("sort", "-T", self.scratch, self.source, "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(gzip.decompress((self.root / "other.gz").read_bytes()).splitlines()),
                         sorted(ROWS.splitlines()))

    def test_too_little_space_there_is_told_before_the_file_is_touched(self):
        records = self.gen("records", "--record=u64", "2000000")
        with small_file_system(self.root / "small", 8) as small:
            self.file = small / "file"
            self.existing()
            os.link(self.file, small / "other")
            for source in (["--record=u64", records], ["-z", records]):
                done = self.xxl("sort", "-T", self.scratch, *source, "-o", self.file)
                self.assert_fails(done, re.escape(str(self.file)), "MiB")
                self.assertEqual(self.file.read_bytes(), b"old content")

    def test_a_file_that_may_not_be_written_is_refused(self):
        self.existing(mode=0o444)
        os.chown(self.out, NOBODY, NOBODY)
        self.assert_fails(self.sort(user=NOBODY), re.escape(str(self.file)), "Permission denied")
        self.assertEqual(self.file.read_bytes(), b"old content")


class Directories(OutputTest):
    def test_one_that_may_not_be_read_is_no_obstacle(self):
        self.out.chmod(0o333)
        os.chown(self.out, NOBODY, NOBODY)
        self.assert_written(self.sort(user=NOBODY), False, NOBODY)
        self.assert_written(self.sort(user=NOBODY), False, NOBODY)

    def test_on_a_file_system_that_counts_no_blocks(self):
        with mounted("-t", "ramfs", "ramfs", self.out):
            self.assert_written(self.sort(), False, 0)
            self.assertEqual(self.file.stat().st_mode & 0o777, 0o666 & ~self.umask())

    def test_without_room_for_a_new_name_the_old_file_stays(self):
        with mounted("-t", "tmpfs", "-o", "nr_inodes=3", "tmpfs", self.out):
            self.existing()
            (self.out / "another").touch()
            self.assert_fails(self.sort(), re.escape(str(self.out)), "No space left on device")
            self.assertEqual(self.file.read_bytes(), b"old content")

    def umask(self):
        mask = os.umask(0)
        os.umask(mask)
        return mask


    def test_the_target_of_a_link_may_be_made_where_the_link_may_not(self):
        target = self.root / "elsewhere"
        target.mkdir()
        os.chown(target, NOBODY, NOBODY)
        self.file.symlink_to(target / "file")
        self.assert_written(self.sort(user=NOBODY), False, NOBODY)

    def test_one_that_may_not_be_written_is_told(self):
        self.assert_fails(self.sort(user=NOBODY), re.escape(str(self.out)), "Permission denied")
        sort = self.root / "sort"  # which speaks as sort(1) does
        sort.symlink_to(self.program)
        self.program = sort
        done = self.xxl(self.source, "-o", self.file, user=NOBODY)
        self.assert_fails(done, f"sort: open failed: {re.escape(str(self.file))}: Permission denied")

    def test_without_proc_what_was_written_is_read_back_all_the_same(self):
        for output, options in ((self.file, []), (self.out / "file.zst", []), (self.out / "parts", ["--parts=2"])):
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh", self.program, "sort",
                 "--verify", *options, self.source, "-o", output],
                capture_output=True, timeout=whole_process.PATIENCE_SECONDS, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.file.read_bytes(), SORTED_ROWS)

    def test_without_dev_null_closed_descriptors_are_not_taken_by_files(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            listing = self.root / "listing"
            compress = self.root / "compress"
            compress.write_text(f"#!/bin/sh\nls -l /proc/$PPID/fd > {listing}\ncat\n")
            compress.chmod(0o755)
            self.source.write_bytes(b"".join(b"%d\n" % i for i in range(500_000)))
            subprocess.run(
                ["unshare", "-m", "sh", "-c",
                 f"mount -t tmpfs tmpfs /dev && exec {self.program} sort -S 4M -T {self.scratch} {self.source} "
                 f"--compress-program={compress} -o {self.file} {closed}"],
                capture_output=True, timeout=whole_process.PATIENCE_SECONDS, check=False)
            for line in listing.read_text().splitlines():
                self.assertNotRegex(line, rf" [012] -> .*{self.root.name}", closed)


class LaidOut(OutputTest):
    """What others put into a directory like /tmp, where the kernel protects from it."""

    COMMANDS = (["sort"], ["sort", "--record=csv", "--no-header"], ["sort", "--record=fixed:1"], ["join", "-t,", "{in}"],
                ["join", "--record=fixed:1", "{in}"], ["gen"])

    @contextlib.contextmanager
    def protection(self, name):
        setting = pathlib.Path("/proc/sys/fs") / name
        before = setting.read_text()
        try:
            setting.write_text("1")
        except OSError:
            print(f"SKIPPED: {setting} cannot be set", file=sys.stderr)
            self.skipTest("no such protection")
        try:
            yield
        finally:
            setting.write_text(before)

    def assert_all_refuse(self):
        for words in self.COMMANDS:
            with self.subTest(command=words):
                source = "10" if words == ["gen"] else self.source
                done = self.xxl(*[word.replace("{in}", str(self.source)) for word in words], source,
                                f"--output={self.file}")
                self.assert_fails(done, re.escape(str(self.file)), "Permission denied")

    def setUp(self):
        super().setUp()
        self.out.chmod(0o1777)

    def test_a_link_is_not_followed(self):
        target = self.root / "precious"
        target.write_bytes(b"old content")
        self.file.symlink_to(target)
        os.chown(self.file, NOBODY, NOBODY, follow_symlinks=False)
        with self.protection("protected_symlinks"):
            self.assert_all_refuse()
            self.assertEqual(target.read_bytes(), b"old content")
            target.unlink()
            self.assert_all_refuse()
        self.assertFalse(target.exists())

    def test_a_pipe_is_not_taken_for_the_output(self):
        os.mkfifo(self.file)
        os.chown(self.file, NOBODY, NOBODY)
        self.file.chmod(0o666)
        reader = os.open(self.file, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with self.protection("protected_fifos"):
            self.assert_all_refuse()

    def test_a_file_is_not_taken_over(self):
        self.existing(owner=NOBODY)
        with self.protection("protected_regular"):
            self.assert_all_refuse()
        self.assertEqual(self.file.read_bytes(), b"old content")


class Space(OutputTest):
    """Disks that are small, for scratch and output."""

    RECORDS = 1_000_000  # of kv64: 16 MB

    def test_an_output_of_unknown_size_reserves_before_it_writes(self):
        records = self.gen("records", "--record=kv64", str(self.RECORDS))
        for command in (["join", "--record=kv64", "--method=hash", records, records],
                        ["join", "--record=kv64", "-S", "8M", records, records],
                        ["sort", "--record=kv64", "-S", "8M", "-"]):
            with self.subTest(command=command[0]), small_file_system(self.root / "small", 8) as small:
                with open(records, "rb") as file, subprocess.Popen(["cat"], stdin=file,
                                                                   stdout=subprocess.PIPE) as pipe:
                    done = subprocess.run([self.program, *command, "-T", self.scratch, f"--output={small / 'file'}"],
                                          stdin=pipe.stdout, capture_output=True,
                                          timeout=whole_process.PATIENCE_SECONDS, check=False)
                self.assert_fails(done, re.escape(str(small)), r"cannot reserve \d+ .*free")
            (self.root / "small").rmdir()

    def test_an_output_in_memory_that_cannot_be_reserved_after_all(self):
        # There is room, so it is reserved while the input is read; what is allowed is less.
        records = self.gen("records", "--record=kv64", "100000")
        with small_file_system(self.root / "memory", 64) as memory:
            done = subprocess.run(
                ["bash", "-c", 'ulimit -f 512; exec "$@"', "bash", self.program, "sort", "--record=kv64",
                 "-T", self.scratch, records, "-o", memory / "file"],
                capture_output=True, timeout=whole_process.PATIENCE_SECONDS, check=False)  # fmt: skip
            self.assert_fails(done, re.escape(str(memory)), r"cannot reserve 1\.5 MiB")
            self.assertEqual(list(memory.iterdir()), [])

    def test_a_join_reserves_for_both_inputs_before_it_reads_either(self):
        records = self.gen("records", "--record=kv64", str(self.RECORDS))
        with small_file_system(self.root / "small", 24) as small, subprocess.Popen(
                [self.program, "join", "--record=kv64", "-S", "8M", "-T", small, records, records,
                 f"--output={self.file}"], stderr=subprocess.PIPE) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            transferred = whole_process.bytes_transferred(process.pid)
            self.assertRegex(process.stderr.read().decode(), re.escape(str(small)))
        self.assertEqual(process.returncode, 2)
        self.assertLess(transferred, 16 * self.RECORDS // 2)

    def test_little_scratch_leaves_room_for_the_output_on_the_same_disk(self):
        rows = [b"%07d %030d\n" % (i * 7919 % 100_003, i) for i in range(100_000)]
        names = self.root / "r", self.root / "s"
        for name in names:
            name.write_bytes(b"".join(rows))
        with small_file_system(self.root / "small", 40) as small:
            done = self.xxl("join", "-S", "4M", "-T", small, *names, f"--output={small / 'file'}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((small / "file").read_bytes().count(b"\n"), len(rows))

    def test_scratch_of_unknown_size_leaves_room_for_the_output_on_the_same_disk(self):
        records = self.gen("records", "--record=kv64", "1100000")  # 16.8 MiB
        with small_file_system(self.root / "small", 38) as small, open(records, "rb") as file, \
                subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as pipe:
            done = subprocess.run([self.program, "sort", "--record=kv64", "-S", "4M", "-T", small, "-o",
                                   small / "file", "-"], stdin=pipe.stdout, capture_output=True,
                                  timeout=whole_process.PATIENCE_SECONDS, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
