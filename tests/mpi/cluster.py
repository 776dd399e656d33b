#!/usr/bin/env python3
"""Sorts on several ranks: random ones compared with the same by one process, and what is left when one
of the ranks ends before the output is complete.

XXL_MPIRUN is the launcher (default: mpirun), XXL_MPI_PROGRAM the program (default: xxl-mpi beside
xxl), XXL_RANDOM_CLUSTERS the number of random sorts."""

import contextlib
import json
import os
import pathlib
import random
import re
import shlex
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import whole_process  # noqa: E402
from whole_process import (FaultTest, MIB, PATIENCE_SECONDS, can_mount, can_mount_loop, small_disk,  # noqa: E402
                           small_file_system)

RANDOM_SORTS = int(os.environ.get("XXL_RANDOM_CLUSTERS", "60"))
RANDOM_KILLS = int(os.environ.get("XXL_RANDOM_KILLS", "12"))
MOST_SECONDS_TO_END = 10  # after a rank has died or failed


LAUNCHER = shlex.split(os.environ.get("XXL_MPIRUN", "mpirun"))
IS_OPEN_MPI = re.search("Open MPI|OpenRTE",
                        subprocess.run([*LAUNCHER, "--version"], capture_output=True, text=True, check=True).stdout)
if IS_OPEN_MPI:  # more ranks than processors, and by root
    LAUNCHER += ["--allow-run-as-root", "--oversubscribe", "--quiet"]
# Ranks that do not see each other's processes, and cannot open their scratch, as on several machines.
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
CAN_BE_APART = IS_OPEN_MPI and os.geteuid() == 0 and subprocess.run([*APART, "true"], check=False).returncode == 0


def random_device(rng):
    """Options: GPUs, if any, have enough memory for a share of it."""
    return rng.choice(([], [f"--device=simulated:{rng.randrange(1, 5)}", f"--gpu-memory={rng.choice((48, 96))}M"]))


def mpi_program():
    return os.environ.get("XXL_MPI_PROGRAM") or str(pathlib.Path(whole_process.XXL).with_name("xxl-mpi"))


def cluster_command(ranks, *arguments, command="sort", apart=False):
    launcher = [*LAUNCHER, *(["--mca", "btl", "tcp,self"] if apart else []), "-n", str(ranks), *(APART if apart else [])]
    return [*launcher, mpi_program(), command, *map(str, arguments)]


class Kind:
    """Records, and options for them."""

    def __init__(self, rng):
        self.option, self.bytes, self.keys = rng.choice((
            ("gensort", 100, ([],)),
            ("u64", 8, ([], ["-r"])),
            ("kv64", 16, ([], ["-r"])),
            ("u32", 4, ([],)),
            ("i32", 4, ([],)),
            ("f64", 8, ([],)),
            ("fixed:24", 24, (["--key=8:u16"], ["--key=4:u32:desc", "--key=0:u8"], [])),
            ("fixed:40", 40, ([], ["--key=0:bytes30"])),  # whose keys are longer than a trigger
            ("fixed:3000", 3000, (["--key=2:u8"], [])),
        ))
        self.options = [f"--record={self.option}", *rng.choice(self.keys)]

    def records(self, rng, count):
        how = rng.choice(("random", "constant", "few", "sorted", "skewed", "common start"))
        if how == "constant":
            return rng.randbytes(self.bytes) * count
        if how == "few":
            words = [rng.randbytes(self.bytes) for _ in range(3)]
            return b"".join(rng.choices(words, k=count))
        if how == "common start":
            start = rng.randbytes(min(self.bytes, 20))
            return b"".join(start + rng.randbytes(self.bytes - len(start)) for _ in range(count))
        data = [rng.randbytes(self.bytes) for _ in range(count)]
        if how == "sorted":
            data.sort(reverse=rng.random() < 0.3)
        if how == "skewed":
            frequent = rng.randbytes(self.bytes)
            data = [frequent if rng.random() < 0.9 else record for record in data]
        return b"".join(data)


class ClusterTest(FaultTest):
    def cluster(self, ranks, *arguments, **how):
        return subprocess.run(cluster_command(ranks, "-T", self.scratch, *arguments, **how), capture_output=True,
                              timeout=PATIENCE_SECONDS, check=False)

    def for_seeds(self, count, run):
        """Calls run() with generators of so many seeds: those from XXL_SEED on, or others each time."""
        seed = int(os.environ.get("XXL_SEED", random.randrange(1 << 32)))
        for number in range(count):
            with self.subTest(seed=seed + number):
                run(random.Random(seed + number))

    def parts(self, output):
        """The contents of the parts of a directory."""
        manifest = json.loads((output / "_manifest.json").read_text())
        return [(output / part["file"]).read_bytes() for part in manifest["files"]]

    def written(self, output):
        """The same, or the only one: that of a file."""
        return [output.read_bytes()] if output.is_file() else self.parts(output)

    def sort_alone(self, *arguments):
        """What one process makes of it."""
        done = subprocess.run([whole_process.XXL, "sort", "-T", self.scratch, *map(str, arguments)],
                              capture_output=True, timeout=PATIENCE_SECONDS, check=True)
        return done.stdout

    def assert_cluster_fails(self, done, *patterns):
        """One line of ours, with all of the patterns in it, beside what the launcher says."""
        self.assertNotEqual(done.returncode, 0)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith("xxl-mpi: ")]
        self.assertEqual(len(lines), 1, done.stderr.decode())
        for pattern in patterns:
            self.assertRegex(lines[0], pattern)

    def processes(self, names):
        """Those of this test: its directory is in their arguments."""
        pids = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                arguments = (entry / "cmdline").read_bytes()
                name = (entry / "comm").read_text().strip()
                state = re.search(r"^State:\s+(\S)", (entry / "status").read_text(), re.M).group(1)
            except OSError:
                continue
            if os.fsencode(self.root) in arguments and arguments.startswith(os.fsencode(mpi_program())):
                if state != "Z" and name in names:
                    pids.append(int(entry.name))
        return pids

    def ranks_running(self):
        return self.processes(("xxl-mpi",))

    def wait_until_gone(self):
        end = time.monotonic() + MOST_SECONDS_TO_END
        while self.processes(("xxl-mpi", "xxl-guard")) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.processes(("xxl-mpi", "xxl-guard")), [])

    def end_of_launcher(self, process):
        """Its exit status. (The mpirun of Open MPI 4.1 was seen to wait for itself when all ranks had ended.)"""
        try:
            return process.wait(MOST_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def kill_one(self, rng, options, data, name, number, command):
        arguments = cluster_command(4, "-T", self.scratch, "-S8M", "--parallel=1", *options, data,
                                    f"--output={self.out}/{name}", command=command)
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(self.ranks_running()) < 4 and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, self.usual_seconds))
        pids = self.ranks_running()
        with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
            if pids:
                os.kill(rng.choice(pids), number)
        self.wait_until_gone()
        killed = self.end_of_launcher(process) != 0
        self.take_output()
        return killed

    def take_output(self):
        """Removes the output; False if there is none. There is none, or all of it: a process that was killed may have
        ended its work before."""
        self.assertEqual(list(self.scratch.iterdir()), [])
        if not list(self.out.iterdir()):
            return False
        self.assertEqual([path.name for path in self.out.iterdir()], ["o"])
        self.assertTrue(b"".join(self.written(self.out / "o")) == self.expected)
        subprocess.run(["rm", "-r", self.out / "o"], check=True)
        return True

    def sort_to_expect(self, options, data, command):
        """What kills do not interrupt."""
        done = self.cluster(4, "-S8M", "--parallel=1", *options, data, f"--output={self.out}/o/", command=command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expected = b"".join(self.parts(self.out / "o"))
        subprocess.run(["rm", "-r", self.out / "o"], check=True)

    def kill_many(self, options, data, names, command="sort"):
        """Kills one of the ranks that sort `data`, which takes about a second, at any moment, again and again."""
        rng = random.Random(int(os.environ.get("XXL_SEED", random.randrange(1 << 32))))
        start = time.monotonic()
        self.sort_to_expect(options, data, command)
        self.usual_seconds = time.monotonic() - start
        killed = 0
        for attempt in range(RANDOM_KILLS + 20):  # some come too late
            if attempt >= RANDOM_KILLS and killed > 0:
                break
            number = rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
            with self.subTest(signal=number):
                killed += self.kill_one(rng, options, data, rng.choice(names), number, command)
        self.assertGreater(killed, 0)

    def kill_while_copying(self, options, data, command="sort"):
        """Kills a rank that copies its part from scratch: the output has a temporary name only then."""
        self.sort_to_expect(options, data, command)
        for victim in (0, 2):
            self.assertTrue(any(self.kill_once_while_copying(options, data, command, victim) for _ in range(5)))

    def kill_once_while_copying(self, options, data, command, victim):
        """True if it was in time."""
        arguments = cluster_command(4, "-T", self.scratch, "-S8M", *options, data, f"--output={self.out}/o", command=command)
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pids = []
        while len(pids) < 4 and process.poll() is None:
            pids = sorted(self.ranks_running())
        while not list(self.out.glob(".xxl-*")) and process.poll() is None:
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pids[victim], signal.SIGKILL)
        self.wait_until_gone()
        self.end_of_launcher(process)
        return not self.take_output()


class RandomSorts(ClusterTest):
    def sort_randomly(self, rng):
        kind = Kind(rng)
        count = rng.choice((0, 1, 3, 50, 3000, 60000, 300000))
        count = min(count, 12 * MIB // kind.bytes)
        files = []
        for number in range(rng.choice((1, 1, 2, 3))):
            path = self.root / f"in{number}"
            path.write_bytes(kind.records(rng, rng.choice((count, count // 2, 0))))
            files.append(path)
        options = [*kind.options, *rng.choice(([], ["--temp-compress=lz4"], ["--temp-compress=zstd"])),
                   *rng.choice(([], ["--parallel=1"], ["--parallel=3"]))]
        device = random_device(rng)
        left_out = rng.choice(("", "", "groups", "range"))
        if left_out == "groups":
            options += rng.choice((["-u"], ["--count"], ["--count", "-r"])) if kind.bytes < 3000 else ["-u"]
        elif left_out == "range":
            options += rng.choice(([f"--limit={rng.randrange(count + 2)}"], [f"--skip={rng.randrange(count + 2)}"],
                                   [f"--limit={rng.randrange(count + 2)}", f"--skip={rng.randrange(count + 2)}"]))
        memory = rng.choice(("-S2M", "-S4M", "-S16M"))
        ranks = rng.randrange(1, 6)
        apart = CAN_BE_APART and rng.random() < 0.5
        output = self.out / "sorted"
        in_parts = rng.random() < 0.5
        expected = self.sort_alone(*options, "-S64M", *files)
        arguments = [*files, "-o", f"{output}/" if in_parts else output]
        done = self.cluster(ranks, *options, *device, memory, *arguments, apart=apart)
        if done.returncode != 0 and b"is too small" in done.stderr:
            memory = "-S" + re.search(rb"give at least -S (\w+)", done.stderr).group(1).decode()
            done = self.cluster(ranks, *options, *device, memory, *arguments, apart=apart)
        self.assertEqual(done.returncode, 0, done.stderr)
        if in_parts:
            manifest = json.loads((output / "_manifest.json").read_text())
            self.assertEqual([part["file"] for part in manifest["files"]],
                             [f"part-{rank:05}" for rank in range(ranks)])
            sizes = [part["records"] for part in manifest["files"]]
            if left_out != "groups":
                self.assertLessEqual(max(sizes) - min(sizes), 1)
            if "--count" not in options:
                self.assertEqual(subprocess.run([whole_process.XXL, "validate", *kind.options, output],
                                                capture_output=True, check=False).returncode, 0)
            sorted_bytes = b"".join((output / part["file"]).read_bytes() for part in manifest["files"])
        else:
            sorted_bytes = output.read_bytes()
        self.assertTrue(sorted_bytes == expected, "the output is another than that of one process")
        self.assert_only_in_out("sorted")
        subprocess.run(["rm", "-r", output], check=True)

    def test_sort_as_one_process_does(self):
        self.for_seeds(RANDOM_SORTS, self.sort_randomly)

    def test_files_of_ranks_follow_each_other(self):
        rng = random.Random(5)
        for rank in range(3):
            (self.root / f"in.{rank}").write_bytes(rng.randbytes(16 * (rank * 5000)))
        done = self.cluster(3, "--record=kv64", "--key=0:u8", self.root / "in.{rank}", "-o", self.out / "sorted")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = self.sort_alone("--record=kv64", "--key=0:u8", *(self.root / f"in.{rank}" for rank in range(3)))
        self.assertEqual((self.out / "sorted").read_bytes(), expected)

    def test_folds_of_groups(self):
        data = self.root / "in"
        data.write_bytes(b"".join(struct.pack("<QII", key % 97, 1, key) for key in range(200000)))
        for fields in (["--sum=8:u64"], ["--max=8:u32", "--last=12:u32"], ["--min=8:f32", "--mean=12:u32"]):
            options = ["--record=kv64", *fields, "--count"]
            expected = self.sort_alone(*options, data)
            self.assertEqual(self.cluster(4, *options, "-S2M", data, "-o", f"{self.out}/o/").returncode, 0)
            manifest = json.loads((self.out / "o" / "_manifest.json").read_text())
            parts = [(self.out / "o" / part["file"]).read_bytes() for part in manifest["files"]]
            self.assertEqual(b"".join(parts), expected)
            self.assertEqual(self.cluster(4, *options, "-S2M", data, "-o", self.out / "file").returncode, 0)
            self.assertEqual((self.out / "file").read_bytes(), expected)

    def test_an_existing_output_is_replaced(self):
        data = self.gen("in", "100k", "--record=u64")
        (self.out / "file").write_text("old")
        for _ in range(2):
            self.assertEqual(self.cluster(2, "--record=u64", data, "-o", f"{self.out}/parts/").returncode, 0)
            self.assertEqual(self.cluster(2, "--record=u64", data, "-o", self.out / "file").returncode, 0)
        self.assert_sorted(self.out / "file", 100000)
        self.assert_sorted(self.out / "parts", 100000)
        self.assert_only_in_out("file", "parts")

    def test_an_existing_directory_keeps_its_rights(self):
        data = self.gen("in", "1000", "--record=u64")
        (self.out / "parts").mkdir(mode=0o700)
        for _ in range(2):  # empty, then one of parts
            self.assertEqual(self.cluster(2, "--record=u64", data, "-o", self.out / "parts").returncode, 0)
            self.assertEqual((self.out / "parts").stat().st_mode & 0o7777, 0o700)
        self.assert_sorted(self.out / "parts", 1000)

    def test_statistics_say_what_went_over_the_network(self):
        data = self.gen("in", "1M", "--record=u64")
        for apart in (False, True) if CAN_BE_APART else (False,):
            done = self.cluster(4, "--record=u64", "-S8M", "--stats=json", data, "-o", self.out / "sorted", apart=apart)
            self.assertEqual(done.returncode, 0, done.stderr)
            stats = json.loads(done.stderr)
            self.assertEqual(stats["records"], 1000000)
            self.assertEqual(sum(rank["records"] for rank in stats["ranks"]), 1000000)
            received = sum(rank["bytes_received"] for rank in stats["ranks"])
            self.assertGreaterEqual(received, 8000000 * 0.7 if apart else 0)
            self.assertLess(received, 8000000 * 1.3 if apart else 1)


    def test_gpus_are_divided_among_ranks_that_see_the_same(self):
        data = self.gen("in", "100k", "--record=u64")
        own = ["sh", "-c", 'CUDA_VISIBLE_DEVICES=${PMI_RANK:-$OMPI_COMM_WORLD_RANK} exec "$@"', "sh"]
        for alone, gpus, found in (([], 4, "2 x simulated, partition"), (own, 4, "4 x simulated, partition"), ([], 1, "1 x simulated")):
            command = cluster_command(2, "-T", self.scratch, "--record=u64", f"--device=simulated:{gpus}", "--gpu-memory=64M",
                                      "--stats=json", data, "-o", self.out / "sorted")
            at = command.index(mpi_program())
            done = subprocess.run(command[:at] + alone + command[at:], capture_output=True, timeout=PATIENCE_SECONDS, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([rank["device"] for rank in json.loads(done.stderr)["ranks"]], [found, found])


class Failures(ClusterTest):
    def test_bad_input_is_told_once(self):
        path = self.root / "in"
        path.write_bytes(b"x" * 1001)
        self.assert_cluster_fails(self.cluster(3, "--record=gensort", path, "-o", f"{self.out}/o/"),
                                  "byte 1000: .*not a whole record")
        self.assert_cluster_fails(self.cluster(3, "--record=gensort", self.root / "none", "-o", self.out / "o"),
                                  "No such file")
        path.write_bytes(b"x" * 1000)
        (self.root / "in.0").write_bytes(b"")
        self.assert_cluster_fails(
            self.cluster(2, "--record=gensort", self.root / "in.{rank}", "-o", self.out / "o"), "rank 1: .*in.1")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", path, self.root / "in.{rank}", "-o", self.out / "o"),
                                  "together")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", path), "-o")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", path, "-o", self.out / "o.gz"), "compressed")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", path, "-o", self.root / "no/o"), "no")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", "-S1b", path, "-o", self.out / "o"), "-S")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", "--merge", path, "-o", self.out / "o"),
                                  "unrecognized option '--merge'")
        self.assert_cluster_fails(self.cluster(2, "--record=gensort", "-u", "--limit=2", path, "-o", f"{self.out}/o/"),
                                  "groups")
        for device, message in (("--device=auto", "give cpu, gpu"), ("--gpu-memory=1G", "not with --device=cpu"),
                                ("--gpu-merge=always", "unrecognized option"), ("--device=gpu:999", "GPU")):
            self.assert_cluster_fails(self.cluster(2, "--record=gensort", device, path, "-o", self.out / "o"), message)
        self.assert_only_in_out()

    def test_all_ranks_have_the_same_options(self):
        data = self.gen("in", "1000", "--record=u64")
        common = ["--record=u64", "-T", self.scratch, data, "-o", f"{self.out}/o/"]
        for others in (["-S8M"], ["-r"], ["--key=0:u32"], ["-o", f"{self.out}/other/"], [data], ["--nothing"]):
            for first, second in ((common, common + others), (common + others, common)):
                command = [*cluster_command(1, *first), ":", *cluster_command(1, *second)[len(LAUNCHER):]]
                done = subprocess.run(command, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
                self.assert_cluster_fails(done, "^xxl-mpi: sort: rank 1: was started with other options or files than rank 0: ")
                self.assertEqual(done.returncode, 2)
        self.assert_only_in_out()

    @unittest.skipUnless(can_mount(), "needs root, to mount")
    def test_full_scratch(self):
        data = self.gen("in", "400k", "--record=gensort")
        with small_file_system(self.root / "small", 16) as small:
            done = subprocess.run(cluster_command(3, "-T", small, "-S8M", "--record=gensort", data, "-o", f"{self.out}/o/"),
                                  capture_output=True, timeout=PATIENCE_SECONDS, check=False)
            self.assert_cluster_fails(done, "small")
            self.wait_until_gone()
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out()

    @unittest.skipUnless(can_mount() and can_mount_loop(), "needs root, to mount")
    def test_full_output(self):
        data = self.gen("in", "400k", "--record=gensort")
        for place in (small_file_system(self.root / "memory", 16), small_disk(self.root, 16)):
            with place as small:
                for options, name in (([], "o"), ([], "o/"), (["-u"], "o")):
                    done = self.cluster(3, "-S8M", "--record=gensort", *options, data, "-o", f"{small}/{name}")
                    self.assert_cluster_fails(done, "free|reserve|space")
                    self.wait_until_gone()
                    self.assertEqual([path.name for path in small.iterdir() if path.name != "lost+found"], [])
        self.assert_only_in_out()

    @unittest.skipUnless(can_mount(), "needs root, to mount")
    def test_scratch_without_room_for_parts(self):
        data = self.gen("in", "400k", "--record=gensort")
        with small_file_system(self.root / "small", 64) as small:
            self.scratch = small
            arguments = ("-S8M", "--record=gensort", "-u", data, "-o")
            self.assertEqual(self.cluster(3, *arguments, f"{self.out}/o/").returncode, 0)
            self.assert_cluster_fails(self.cluster(3, *arguments, self.out / "file"), "small")
            self.wait_until_gone()
            self.assertEqual(list(small.iterdir()), [])
        self.assert_only_in_out("o")

    def test_an_output_that_cannot_be_replaced(self):
        data = self.gen("in", "10", "--record=gensort")
        (self.out / "o").write_text("old")
        (self.out / "other").hardlink_to(self.out / "o")
        for options in (["-u"], []):
            done = self.cluster(2, "--record=gensort", *options, data, "-o", self.out / "o")
            self.assert_cluster_fails(done, "cannot be replaced")
        self.assertEqual((self.out / "other").read_text(), "old")

    def test_a_rank_that_dies_ends_all(self):
        self.kill_many(["--record=gensort"], self.gen("in", "600k", "--record=gensort"), ("o", "o/"))

    def test_a_rank_that_dies_while_parts_are_copied(self):
        self.kill_while_copying(["--record=gensort", "-u"], self.gen("in", "600k", "--record=gensort"))


if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
