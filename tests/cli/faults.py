#!/usr/bin/env python3
"""What only a whole process can show: xxl killed, interrupted, out of disk space, without
permission; and the memory it takes at most.

Some tests mount small file systems or change to another user: they need root, and say so when they
are skipped.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import whole_process
from whole_process import (MEMORY_CONSTANT, MIB, NOBODY, PATIENCE_SECONDS, FaultTest, bytes_transferred, bytes_waiting,
                           can_mount, can_mount_loop, is_root, program_for_all, small_disk, small_file_system, wait_until)


def was_faster(process, number, output):
    """Whether it was done when the signal came: its output is there, if it had no time to say so."""
    killed_late = number == signal.SIGKILL and output.stat().st_size > len(b"old content")
    return process.returncode == 0 or killed_late


class Ended(FaultTest):
    """A sort that a signal ends, at several moments of its work."""

    def end_with(self, number):
        records = 6_000_000
        source = self.gen("in", "--record=u64", str(records))
        volume = records * 8
        output = self.out / "file"
        caught = 0
        for moment in (0, volume // 10, volume, 3 * volume // 2, 5 * volume // 2, 7 * volume // 2):
            with self.subTest(transferred=moment):
                output.write_bytes(b"old content")
                process = subprocess.Popen(
                    self.command("--record=u64", "-S", "8M", source, "-o", output),
                    stderr=subprocess.PIPE)
                wait_until(process, lambda: bytes_transferred(process.pid) >= moment)
                process.send_signal(number)
                process.communicate(timeout=PATIENCE_SECONDS)
                if was_faster(process, number, output):
                    self.assert_sorted(output, records)
                    self.assert_only_in_out("file")
                    continue
                caught += 1
                self.assertIn(process.returncode, (-number, 128 + number))
                self.assertEqual(output.read_bytes(), b"old content")
                self.assert_only_in_out("file")
                output.unlink()
        self.assertGreaterEqual(caught, 3)

    def test_killed_it_leaves_nothing_behind_and_the_old_output_intact(self):
        self.end_with(signal.SIGKILL)

    def test_interrupted_it_leaves_nothing_behind_and_the_old_output_intact(self):
        self.end_with(signal.SIGINT)

    def test_terminated_it_leaves_nothing_behind_and_the_old_output_intact(self):
        self.end_with(signal.SIGTERM)

    def test_it_ends_when_nobody_reads_its_output(self):
        source = self.gen("in", "--record=u64", "3000000")
        process = subprocess.Popen(self.command("--record=u64", "-S", "8M", source),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.stdout.close()
        process.stderr.read()
        self.assertNotEqual(process.wait(timeout=PATIENCE_SECONDS), 0)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_interrupted_it_does_not_wait_for_a_pipe(self):
        self.interrupt_waiting_for_a_pipe()

    def test_interrupted_while_merging_it_does_not_wait_for_a_pipe(self):
        self.interrupt_waiting_for_a_pipe("-m")

    def interrupt_waiting_for_a_pipe(self, *options):
        process = subprocess.Popen(
            self.command("--record=u64", "-S", "8M", *options, "-o", self.out / "file"),
            stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(bytes(MIB))
        process.stdin.flush()
        wait_until(process, lambda: bytes_waiting(process.stdin) == 0)
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(process.wait(timeout=PATIENCE_SECONDS), 0)
        process.stdin.close()
        process.stderr.close()
        self.assert_only_in_out()


class FullDisks(FaultTest):
    """Space is asked for before any work. The inputs are so large (files of nothing but a hole)
    that a sort which noticed later would run into the time limit."""

    HUGE = 512 << 30

    def huge_input(self):
        path = self.root / "huge"
        with open(path, "wb") as file:
            file.truncate(self.HUGE)
        return path

    def setUp(self):
        super().setUp()
        if not can_mount():
            print("SKIPPED: full disks: only root can mount small file systems", file=sys.stderr)
            self.skipTest("only root can mount small file systems")

    def test_full_scratch_is_told_at_once_with_directory_and_bytes(self):
        with small_file_system(self.root / "small", 16) as small:
            done = self.run_xxl("--record=u64", "-S", "1G", self.huge_input(), scratch=small)
            self.assert_fails(done, re.escape(str(small)), r"51[2-9](\.\d+)? GiB", r"1[56](\.\d+)? MiB")
            self.assertEqual(list(small.iterdir()), [])

    def test_full_output_is_told_at_once_with_its_name_and_bytes(self):
        with small_file_system(self.root / "small", 16) as small:
            output = small / "file"
            output.write_bytes(b"old content")
            done = self.run_xxl("--record=u64", "-S", "1G", self.huge_input(), "-o", output)
            self.assert_fails(done, re.escape(str(small)), r"512(\.\d+)? GiB")
            self.assertEqual(output.read_bytes(), b"old content")
            self.assertEqual([path.name for path in small.iterdir()], ["file"])

    def test_an_input_of_unknown_size_that_overflows_scratch_is_an_error(self):
        source = self.gen("in", "--record=u64", "8000000")
        with small_file_system(self.root / "small", 16) as small:
            with open(source, "rb") as file:
                pipe = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
                done = self.run_xxl("--record=u64", "-S", "8M", "-o", self.out / "file",
                                    scratch=small, stdin=pipe.stdout)
                pipe.stdout.close()
                pipe.wait()
            self.assert_fails(done, re.escape(str(small)))
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()

    def test_a_small_scratch_directory_is_filled_and_the_other_takes_the_rest(self):
        source = self.gen("in", "--record=u64", "8000000")
        with small_file_system(self.root / "small", 16) as small:
            done = self.run_xxl("--record=u64", "-S", "8M", "-T", small, "--stats=json", source,
                                "-o", self.out / "file")
            self.assertEqual(done.returncode, 0, done.stderr)
            written = [int(n) for n in re.findall(rb'"bytes_written": *(\d+)', done.stderr)]
            self.assertGreater(max(written), 16 * MIB)
        self.assert_sorted(self.out / "file", 8000000)
        self.assert_only_in_out("file")

    def test_standard_output_to_a_file_on_a_full_disk_is_an_error(self):
        if not can_mount_loop():
            print("SKIPPED: full disk behind standard output: no loop devices", file=sys.stderr)
            self.skipTest("no loop devices")
        source = self.gen("in", "--record=u64", "4000000")
        with small_disk(self.root, 16) as small, open(small / "file", "wb") as output:
            done = self.run_xxl("--record=u64", "-S", "8M", source, stdout=output)
            self.assert_fails(done, "standard output", "No space left")

    def sort_on_small_disk(self, options, *arguments):
        """Of 160 MB, with scratch and output on a disk with less than twice that."""
        if not can_mount_loop():
            print("SKIPPED: the space of scratch: no loop devices", file=sys.stderr)
            self.skipTest("no loop devices")
        with small_disk(self.root, 250, options) as small:
            scratch = small / "scratch"
            scratch.mkdir()
            done = self.run_xxl("-S", "16M", "--parallel=2", *arguments, "-o", small / "file",
                                scratch=scratch)
            self.assertEqual(list(scratch.iterdir()), [])
            self.assertEqual((small / "file").exists(), done.returncode == 0)
            if done.returncode == 0:
                shutil.move(small / "file", self.out / "file")
        (self.root / "small").rmdir()
        return done

    def test_an_output_takes_the_space_that_scratch_gives_back(self):
        numbers = self.gen("numbers", "--record=u64", "20000000")
        done = self.sort_on_small_disk("nodiscard", "--record=u64", numbers)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_sorted(self.out / "file", 20000000)
        lines = self.gen("lines", "--record=gensort", "-a", "1600000")
        done = self.sort_on_small_disk("nodiscard", lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_xxl("-c", self.out / "file")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.out / "file").stat().st_size, lines.stat().st_size)

    def test_where_scratch_is_not_given_back_too_little_space_is_told_at_once(self):
        numbers = self.gen("numbers", "--record=u64", "20000000")
        done = self.sort_on_small_disk("discard", "--record=u64", numbers)
        self.assert_fails(done, re.escape(str(self.root / "small")), r"MiB")

    def test_full_standard_output_is_an_error(self):
        source = self.gen("in", "--record=u64", "1000000")
        with open("/dev/full", "wb") as full:
            done = self.run_xxl("--record=u64", source, stdout=full)
        self.assert_fails(done, "No space left")


class Forbidden(FaultTest):
    """Files that may not be read or written, by a user who is not root."""

    def setUp(self):
        super().setUp()
        self.prefix = []
        if is_root():
            if shutil.which("setpriv") is None:
                print("SKIPPED: permissions: no setpriv to stop being root", file=sys.stderr)
                self.skipTest("no setpriv")
            self.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            self.program = program_for_all(self.root)
            for directory in (self.scratch, self.out):
                os.chown(directory, NOBODY, NOBODY)
        else:
            self.program = whole_process.XXL

    def run_as_nobody(self, *arguments, scratch=None):
        return subprocess.run(
            [*self.prefix, self.program, "sort", "-T", scratch or self.scratch, "--record=u64",
             *arguments],
            capture_output=True, timeout=PATIENCE_SECONDS, check=False)

    def test_an_input_without_permission_is_named(self):
        source = self.gen("in", "--record=u64", "1000")
        source.chmod(0)
        done = self.run_as_nobody(source, "-o", self.out / "file")
        self.assert_fails(done, re.escape(str(source)), "Permission denied")
        self.assert_only_in_out()

    def test_an_output_directory_without_permission_is_named(self):
        source = self.gen("in", "--record=u64", "1000")
        source.chmod(0o644)
        self.out.chmod(0o555)
        if is_root():
            os.chown(self.out, 0, 0)
        done = self.run_as_nobody(source, "-o", self.out / "file")
        self.assert_fails(done, re.escape(str(self.out)), "Permission denied")
        self.out.chmod(0o755)

    def test_a_scratch_directory_without_permission_is_named(self):
        source = self.gen("in", "--record=u64", "2000000")
        source.chmod(0o644)
        closed = self.root / "closed"
        closed.mkdir(0o555)
        done = self.run_as_nobody("-S", "8M", source, "-o", self.out / "file", scratch=closed)
        self.assert_fails(done, re.escape(str(closed)), "Permission denied")
        self.assert_only_in_out()

    def test_a_read_only_input_is_enough(self):
        source = self.gen("in", "--record=u64", "1000")
        source.chmod(0o444)
        done = self.run_as_nobody(source, "-o", self.out / "file")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_sorted(self.out / "file", 1000)

    def test_a_directory_as_input_is_named(self):
        done = self.run_as_nobody(self.out, "-o", self.out / "file")
        self.assert_fails(done, re.escape(str(self.out)), "[Ii]s a directory")
        self.assert_only_in_out()


class Memory(FaultTest):
    """The largest resident size stays within -S and the constant."""

    def peak_bytes(self, *arguments):
        return self.peak_bytes_of(self.command(*arguments))

    def peak_bytes_of(self, command):
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        with process.stderr:
            message = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, message)
        return usage.ru_maxrss * 1024

    def assert_bounded(self, source, record, memory, *arguments):
        peak = self.peak_bytes(f"--record={record}", "-S", f"{memory // MIB}M", source,
                               "-o", self.out / "file", *arguments)
        self.assertLessEqual(peak, memory + MEMORY_CONSTANT,
                             f"{peak / MIB:.1f} MiB with -S {memory // MIB}M")
        (self.out / "file").unlink()

    def setUp(self):
        super().setUp()
        if whole_process.SANITIZED:
            self.skipTest("a sanitizer takes memory of its own")

    def test_of_small_budgets(self):
        for record, size in (("u64", 8), ("kv32", 8), ("gensort", 100)):
            source = self.gen("in", f"--record={record}", str(60 * MIB // size))
            for threads, batch in ((1, []), (2, ["--batch-size=2"]), (16, [])):
                with self.subTest(record=record, threads=threads, batch=batch):
                    self.assert_bounded(source, record, 16 * MIB, f"--parallel={threads}", *batch)

    def test_of_middling_budgets(self):
        for record, size, memory in (("kv64", 16, 64), ("gensort", 100, 64), ("u64", 8, 150)):
            source = self.gen("in", f"--record={record}", str(300 * MIB // size))
            for threads in (2, 8):
                with self.subTest(record=record, memory=memory, threads=threads):
                    self.assert_bounded(source, record, memory * MIB, f"--parallel={threads}")

    def test_of_a_sort_in_memory(self):
        source = self.gen("in", "--record=u64", str(100 * MIB // 8))
        self.assert_bounded(source, "u64", 200 * MIB)
        self.assert_bounded(source, "u64", 1024 * MIB)

    def test_of_sorted_and_constant_input(self):
        for distribution in ("sorted", "constant", "reverse"):
            source = self.gen("in", "--record=u64", f"--distribution={distribution}",
                              str(60 * MIB // 8))
            with self.subTest(distribution=distribution):
                self.assert_bounded(source, "u64", 16 * MIB)

    def test_of_merging_many_files(self):
        parts = []
        for part in range(40):
            path = self.gen(f"part{part}", "--record=u64", f"--seed={part}",
                            "--distribution=sorted", str(2 * MIB // 8))
            parts.append(path)
        for batch in ([], ["--batch-size=2"]):
            with self.subTest(batch=batch):
                self.assert_bounded(parts[0], "u64", 16 * MIB, "-m", *batch, *parts[1:])

    def test_of_large_records(self):
        size = 4 * MIB
        source = self.root / "in"
        with open("/dev/urandom", "rb") as random, open(source, "wb") as file:
            for _ in range(100):
                file.write(random.read(4096).ljust(size, b"x"))
        self.assert_bounded(source, f"fixed:{size}", 600 * MIB, "--key=0:bytes10")
        self.assert_bounded(source, f"fixed:{size}", 600 * MIB)  # the key is the whole record

    def test_of_lines_with_long_triggers_from_a_file_and_a_pipe(self):
        source = self.root / "in"
        line = b"p" * 300 + b"%010d\n"
        with open(source, "wb") as file:
            for i in range(400_000):
                file.write(line % (i * 7_654_321 % 10_000_000_019))
        pipe = self.root / "pipe"
        os.mkfifo(pipe)
        for path in (source, pipe):
            with self.subTest(source=path.name), \
                    subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', source, pipe]
                                     if path == pipe else ["true"]):
                peak = self.peak_bytes_of([whole_process.XXL, "sort", "-T", self.scratch, "-S", "4M", path,
                                           "-o", self.out / "file"])
                self.assertLessEqual(peak, 4 * MIB + MEMORY_CONSTANT, f"{peak / MIB:.1f} MiB")
                subprocess.run([whole_process.XXL, "sort", "-c", self.out / "file"], check=True)
                self.assertEqual((self.out / "file").stat().st_size, source.stat().st_size)

    def test_of_many_parts_with_long_keys(self):
        source = self.root / "in"
        with open(source, "w", encoding="ascii") as file:
            for i in range(19_000):
                print(f"{i * 7919 % 19_001:05d}{'k' * 240},1", file=file)
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:  # on disks it takes minutes
            peak = self.peak_bytes("--record=csv", "--no-header", "--key=1", "--part-by=1", "-S", "4M", source,
                                   "-o", f"{directory}/parts")
            self.assertLessEqual(peak, 4 * MIB + MEMORY_CONSTANT, f"{peak / MIB:.1f} MiB")
            subprocess.run([whole_process.XXL, "validate", f"{directory}/parts"], check=True, capture_output=True)

    def test_of_joins_of_text(self):
        inputs = self.root / "r", self.root / "s"
        for number, path in enumerate(inputs):
            with open(path, "w", encoding="ascii") as file:
                for i in range(1_500_000):
                    # A frequent key, so that a group is larger than the memory for it.
                    key = "frequent" if number == 1 and i % 8 == 0 else f"{i * 7919 % 1_500_007:08d}"
                    print(key, i, file=file)
                if number == 0:
                    print("frequent 1\nfrequent 2", file=file)
        for memory in (16, 64):
            for options in ([], ["--parallel=1"], ["--parallel=8", "--batch-size=2"]):
                with self.subTest(memory=memory, options=options):
                    peak = self.peak_bytes_of([whole_process.XXL, "join", "-T", self.scratch, "-S", f"{memory}M", *options,
                                               f"--output={self.out / 'file'}", *inputs])
                    self.assertLessEqual(peak, memory * MIB + MEMORY_CONSTANT, f"{peak / MIB:.1f} MiB")


class Joins(FaultTest):
    """The same of joins of binary records."""

    RECORDS = 2_000_000  # of kv64, on either side

    def inputs(self, kind="", *arguments):
        return [self.gen(kind + name, "--record=kv64", *arguments, str(self.RECORDS)) for name in ("r", "s")]

    def command(self, *arguments, scratch=None):
        return [whole_process.XXL, "join", "--record=kv64", "-T", scratch or self.scratch, *arguments]

    def assert_joined(self, path):
        done = subprocess.run([whole_process.XXL, "validate", "--record=fixed:24", "--key=0:u64", path], capture_output=True,
                              check=False)
        self.assertIn(f"Records: {self.RECORDS}\n", done.stdout.decode())

    def end_with(self, number, method, memory):
        inputs = self.inputs()
        output = self.out / "file"
        volume = 2 * 16 * self.RECORDS
        caught = 0
        for moment in (0, volume // 4, volume, 3 * volume // 2):
            with self.subTest(transferred=moment):
                output.write_bytes(b"old content")
                process = subprocess.Popen(
                    self.command("-S", memory, f"--method={method}", *inputs, f"--output={output}"),
                    stderr=subprocess.PIPE)
                wait_until(process, lambda: bytes_transferred(process.pid) >= moment)
                process.send_signal(number)
                process.communicate(timeout=PATIENCE_SECONDS)
                if was_faster(process, number, output):
                    self.assert_joined(output)
                else:
                    caught += 1
                    self.assertEqual(output.read_bytes(), b"old content")
                self.assert_only_in_out("file")
        self.assertGreaterEqual(caught, 2)

    def test_killed_it_leaves_nothing_behind_and_the_old_output_intact(self):
        self.end_with(signal.SIGKILL, "sort-merge", "8M")

    def test_interrupted_it_leaves_nothing_behind_and_the_old_output_intact(self):
        self.end_with(signal.SIGINT, "sort-merge", "8M")

    def test_killed_while_hashing_it_leaves_nothing_behind(self):
        self.end_with(signal.SIGKILL, "hash", "200M")

    def test_full_standard_output_is_an_error(self):
        inputs = self.inputs()
        for options in (["--method=hash"], ["-S", "8M"], []):
            with self.subTest(options=options), open("/dev/full", "wb") as full:
                self.assert_fails(self.run_xxl(*options, *inputs, stdout=full), "No space left")

    def test_full_scratch_is_told_at_once_with_directory_and_bytes(self):
        if not can_mount():
            self.skipTest("only root can mount small file systems")
        inputs = self.inputs()
        with small_file_system(self.root / "small", 8) as small:
            done = self.run_xxl("-S", "8M", *inputs, f"--output={self.out / 'file'}", scratch=small)
            self.assert_fails(done, re.escape(str(small)), "MiB")
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()

    def test_full_output_is_an_error_and_the_old_file_survives(self):
        if not can_mount():
            self.skipTest("only root can mount small file systems")
        inputs = self.inputs()
        for options in (["--method=hash"], ["-S", "8M"], []):
            with self.subTest(options=options), small_file_system(self.root / "small", 16) as small:
                (small / "file").write_bytes(b"old content")
                done = self.run_xxl(*options, *inputs, f"--output={small / 'file'}")
                self.assert_fails(done, re.escape(str(small)))
                self.assertEqual((small / "file").read_bytes(), b"old content")
            (self.root / "small").rmdir()

    def test_memory_stays_within_what_is_allowed(self):
        if whole_process.SANITIZED:
            self.skipTest("a sanitizer takes memory of its own")
        inputs = self.inputs()
        sorted_inputs = self.inputs("sorted", "--distribution=sorted")
        skewed = self.inputs("skewed", "--distribution=few-distinct")
        for memory, files, options in ((8, inputs, []), (16, inputs, ["--parallel=8"]), (64, inputs, ["--how=full"]),
                                       (16, sorted_inputs, ["--presorted"]), (100, inputs, ["--method=hash"]),
                                       (200, inputs, ["--method=sort-merge"]), (16, skewed, ["--count"])):
            with self.subTest(memory=memory, options=options):
                target = [] if "--count" in options else [f"--output={self.out / 'file'}"]
                process = subprocess.Popen(self.command("-S", f"{memory}M", *options, *files, *target),
                                           stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                peak = usage.ru_maxrss * 1024
                self.assertLessEqual(peak, memory * MIB + MEMORY_CONSTANT, f"{peak / MIB:.1f} MiB")


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
