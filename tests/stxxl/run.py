#!/usr/bin/env python3
"""Compiles STXXL's own programs, as they are, with xxl's headers in place of STXXL's, and runs them.

Their source is Debian's package libstxxl 1.4.1, whose archive is fetched by apt unless --source says
where it lies unpacked. Nothing of it is changed. --peer compiles and runs them with STXXL, too
(libstxxl-dev), compares what they write to files, and prints both times. Exits with 77 where the
source cannot be had."""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDE = ROOT / "include"
PATIENCE_SECONDS = 600
SKIPPED = 77
COMPARED = ("records", "sorted", "copy")  # files that do not depend on random numbers


def fetched(directory):
    """The unpacked source, or None: only the archive of the original is needed, not Debian's changes."""
    directory.mkdir(parents=True, exist_ok=True)
    unpacked = directory / "stxxl-1.4.1"
    if unpacked.is_dir():
        return unpacked
    (directory / "lists/partial").mkdir(parents=True, exist_ok=True)
    (directory / "sources.list").write_text("deb-src http://deb.debian.org/debian bookworm main\n")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={directory}/sources.list", "-o", "Dir::Etc::sourceparts=-",
           "-o", f"Dir::State::lists={directory}/lists"]
    subprocess.run([*apt, "update"], cwd=directory, check=False)
    subprocess.run([*apt, "source", "--download-only", "libstxxl"], cwd=directory, check=False, capture_output=True)
    for archive in directory.glob("libstxxl_*.orig.tar.gz"):
        subprocess.run(["tar", "xf", archive], cwd=directory, check=True)
    return unpacked if unpacked.is_dir() else None


class Runner:
    def __init__(self, args, source, work):
        self.args, self.source, self.work = args, source, work
        self.failed, self.passed, self.left_out = [], 0, 0
        words = subprocess.run(["pkg-config", "--libs", "--static", "xxl"], capture_output=True, text=True, check=True,
                               env={**os.environ, "PKG_CONFIG_PATH": str(args.build)}).stdout
        self.libraries = [str(args.build / "libxxl.a") if word == "-lxxl" else word for word in shlex.split(words)]

    def compiled(self, compiler, program, peer):
        """The executable, or what the compiler says."""
        kind = "stxxl" if peer else f"xxl-{compiler}"
        target = self.work / kind / program.replace("/", "_")
        if target.exists():
            return target, ""
        target.parent.mkdir(exist_ok=True)
        source = self.source / f"{program}.cpp"
        if peer:
            options = ["-std=c++17", "-fopenmp", source, "-lstxxl"]
        else:
            options = ["-std=c++20", f"-I{INCLUDE}/xxl/in_place_of_stxxl", f"-I{INCLUDE}", source, *self.libraries]
        done = subprocess.run([compiler, "-O2", "-w", f"-I{source.parent}", "-o", target, *options, "-lpthread"],
                              capture_output=True, text=True, check=False)
        return target if done.returncode == 0 else None, done.stderr

    def ran(self, program, executable, arguments, directory):
        directory.mkdir(exist_ok=True)
        (directory / ".stxxl").write_text(f"disk={directory}/disk,0,syscall autogrow unlink\n")
        begin = time.monotonic()
        try:
            done = subprocess.run([executable, *(argument.replace("FILE", str(directory / "file")) for argument in arguments)],
                                  cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=PATIENCE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"{program}: no end within {PATIENCE_SECONDS} s", 0
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            return f"{program}: exit {done.returncode}: {done.stdout[-800:].decode(errors='replace')}", seconds
        return "", seconds

    def run(self, compiler, line):
        program, *arguments = line.split()
        reason = " ".join(arguments[1:]) if arguments[:1] == ["-"] else ""
        executable, says = self.compiled(compiler, program, peer=False)
        if reason:
            self.left_out += 1
            print(f"LEFT OUT {program}: {reason}")
            if executable:
                self.failed.append(f"{program} compiles: it is no longer to be left out")
            return
        if not executable:
            self.failed.append(f"{program}: {says[:2000]}")
            return
        fault, seconds = self.ran(program, executable, arguments, self.work / f"run-{compiler}")
        times = f"{seconds:6.2f} s"
        if self.args.peer and not fault:
            other, says = self.compiled("g++", program, peer=True)
            if other:
                says, other_seconds = self.ran(program, other, arguments, self.work / "run-stxxl")
                times += f", STXXL {other_seconds:6.2f} s"
            if says:
                times += f", STXXL fails: {says[:100]!r}"
            else:
                fault = self.difference(compiler)
        if fault:
            self.failed.append(fault)
        else:
            self.passed += 1
            print(f"{compiler} {' '.join([program, *arguments])}: {times}", flush=True)

    def difference(self, compiler):
        for name in COMPARED:
            ours, theirs = (self.work / directory / f"file.{name}" for directory in (f"run-{compiler}", "run-stxxl"))
            if ours.exists() and theirs.exists() and ours.read_bytes() != theirs.read_bytes():
                return f"{ours} is not {theirs}"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, help="the unpacked source of STXXL 1.4.1")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-release", help="where xxl is built")
    parser.add_argument("--compiler", action="append", help="g++ by default; repeatable")
    parser.add_argument("--peer", action="store_true", help="with STXXL, too")
    parser.add_argument("--only", default="", help="part of the names of programs")
    args = parser.parse_args()
    source = args.source or fetched(ROOT / "build-stxxl")
    if not source:
        print("SKIPPED: STXXL's programs: the source of Debian's package libstxxl cannot be fetched", file=sys.stderr)
        return SKIPPED
    lines = [line for line in (HERE / "programs.txt").read_text().splitlines() if line and not line.startswith("#")]
    work = pathlib.Path(tempfile.mkdtemp(prefix="xxl-stxxl-"))
    try:
        runner = Runner(args, source, work)
        for compiler in args.compiler or ["g++"]:
            for line in lines:
                if args.only in line:
                    runner.run(compiler, line)
    finally:
        shutil.rmtree(work)
    for fault in runner.failed:
        print(f"FAILED {fault}")
    print(f"{runner.passed} passed, {len(runner.failed)} failed, {runner.left_out} left out")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
