#!/usr/bin/env python3
"""Sorts and joins without -S where memory is limited, as in containers and batch systems: none is
killed, none fails, every output is right.

    bench/containers.py --xxl PROGRAM --dir DIR [--limits 100,400,4000] [--inputs 50]
        [--most 600] [--out FILE]

Each of --inputs inputs of random kinds and sizes (lines, rows of CSV, binary records, two files to
be joined; a file or a pipe; up to 1.5 times the limit, or --most MB) is sorted under each limit
(MiB) in three ways: in a memory cgroup (version 1 or 2, whichever this machine has; as root), under
`ulimit -v`, and in both. Outputs are compared with those of sort(1) and join(1); those of binary
records are checked by `xxl validate` and by the sum of their bytes. DIR is on a disk: what lies in
a tmpfs counts as memory of the group that wrote it. One row for each limit and way
goes to FILE as CSV; the exit status is 1 if anything failed.
"""

import argparse
import csv
import hashlib
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import zlib

from memory_matrix import as_lines, as_rows

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20
WAYS = ("cgroup", "ulimit -v", "both")
KINDS = ("lines", "csv", "records", "join")
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}
V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")
COLUMNS = ["cgroup_version", "limit_mib", "way", "inputs", "killed", "failed", "wrong", "default_of_s"]


class Cgroup:
    """A memory cgroup with a limit, and no swap beside it."""

    def __init__(self, limit):
        self.version = 1 if (V1 / "memory.limit_in_bytes").exists() else 2
        if self.version == 1:
            self.path = V1 / "xxl-containers"
            self.path.mkdir(exist_ok=True)
            (self.path / "memory.limit_in_bytes").write_text(str(limit))
        else:
            # Processes of the root may be there beside groups with controllers.
            (V2 / "cgroup.subtree_control").write_text("+memory")
            self.path = V2 / "xxl-containers"
            self.path.mkdir(exist_ok=True)
            (self.path / "memory.max").write_text(str(limit))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.path.rmdir()


def generate(xxl, path, kind, size, start):
    """A file of some `size` bytes."""
    with open(path, "wb") as file:
        if kind == "records":
            subprocess.run([xxl, "gen", f"--start={start}", str(size // 100)], stdout=file, check=True)
            return
        text = subprocess.run([xxl, "gen", "--ascii", f"--start={start}", str(size // 100)],
                              stdout=subprocess.PIPE, check=True).stdout
        file.write(as_rows(text) if kind == "csv" else as_lines(text))


def digest(stream):
    whole = hashlib.md5()
    while data := stream.read(MIB):
        whole.update(data)
    return whole.hexdigest()


def sum_of(stream):
    total = size = 0
    while data := stream.read(MIB):
        total = zlib.adler32(data, total) & 0xffff
        size += len(data)
    return total, size


class Input:
    def __init__(self, arguments, number, most):
        chosen = random.Random(number)
        self.kind = KINDS[number % len(KINDS)]
        self.is_pipe = self.kind != "join" and chosen.random() < 0.5
        self.xxl = arguments.xxl
        self.directory = arguments.dir
        self.size = size = int(most * chosen.random() ** 2)
        self.paths = [f"{arguments.dir}/in-{side}" for side in range(2 if self.kind == "join" else 1)]
        for side, path in enumerate(self.paths):
            generate(self.xxl, path, self.kind, size // len(self.paths), side * size // 400)
        self.expected = self.find_expected()

    def find_expected(self):
        if self.kind == "records":
            with open(self.paths[0], "rb") as file:
                return sum_of(file)
        sort = f"sort -S 1G -T {self.directory}"
        command = {"lines": f"{sort} {self.paths[0]}",
                   "csv": f"{sort} -s -t, -k3,3 {self.paths[0]}",
                   "join": f"join -j 2 <({sort} -b -k2,2 {self.paths[0]}) "
                           f"<({sort} -b -k2,2 {self.paths[-1]})"}
        with subprocess.Popen(["bash", "-c", command[self.kind]], env=ENVIRONMENT,
                              stdout=subprocess.PIPE) as process:
            return digest(process.stdout)

    def command(self):
        options = {"lines": ["sort"], "csv": ["sort", "--record=csv", "--no-header", "--key=3"],
                   "records": ["sort", "--record=gensort"], "join": ["join", "-j", "2"]}[self.kind]
        paths = ["-"] if self.is_pipe else self.paths
        return [self.xxl, *options, "-T", self.directory, *paths]

    def run(self, limit):
        """How it went: "", or what is wrong."""
        output = f"{self.directory}/out"
        with open(output, "wb") as out:
            source = subprocess.Popen(["cat", self.paths[0]], stdout=subprocess.PIPE) \
                if self.is_pipe else None
            done = subprocess.run(self.command(), env=ENVIRONMENT, stdout=out, preexec_fn=limit,
                                  stdin=source.stdout if source else subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, check=False)
            if source:
                source.stdout.close()
                source.wait()
        if done.returncode != 0:
            print(*self.command(), f"({self.size} bytes): status {done.returncode}",
                  done.stderr.decode(), file=sys.stderr)
            return "killed" if done.returncode == -signal.SIGKILL else "failed"
        with open(output, "rb") as file:
            found = sum_of(file) if self.kind == "records" else digest(file)
        ordered = self.kind != "records" or subprocess.run(
            [self.xxl, "validate", "--record=gensort", output], stdout=subprocess.DEVNULL,
            check=False).returncode == 0
        return "" if ordered and found == self.expected else "wrong"


def default_of_s(xxl, limit):
    text = subprocess.run([xxl, "info"], preexec_fn=limit, stdout=subprocess.PIPE, check=False,
                          text=True).stdout
    return next((line.rpartition("now ")[2] for line in text.splitlines() if "default of -S" in line),
                "?")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xxl", default=str(REPOSITORY / "build-release/bin/xxl"))
    parser.add_argument("--dir", required=True, help="for inputs, scratch and outputs")
    parser.add_argument("--limits", default="100,400,4000", help="MiB")
    parser.add_argument("--inputs", type=int, default=50)
    parser.add_argument("--most", type=int, default=600, help="MB of an input")
    parser.add_argument("--out", default=str(REPOSITORY / "bench/results/containers.csv"))
    arguments = parser.parse_args()
    rows = []
    for limit_mib in map(int, arguments.limits.split(",")):
        limit = limit_mib * MIB
        group = Cgroup(limit)

        def apply(way, group=group, limit=limit):
            if way != "ulimit -v":
                group.enter()
            if way != "cgroup":
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        counts = {way: {"killed": 0, "failed": 0, "wrong": 0} for way in WAYS}
        for number in range(arguments.inputs):
            data = Input(arguments, number, min(1.5 * limit, arguments.most * 1e6))
            for way in WAYS:
                if fault := data.run(lambda way=way: apply(way)):
                    counts[way][fault] += 1
        for way in WAYS:
            rows.append({"cgroup_version": group.version, "limit_mib": limit_mib, "way": way,
                         "inputs": arguments.inputs, **counts[way],
                         "default_of_s": default_of_s(arguments.xxl, lambda way=way: apply(way))})
            print(*rows[-1].values(), flush=True)
        group.remove()
    with open(arguments.out, "w", newline="", encoding="ascii") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    return any(row[fault] for row in rows for fault in ("killed", "failed", "wrong"))


if __name__ == "__main__":
    sys.exit(main())
