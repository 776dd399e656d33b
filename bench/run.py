#!/usr/bin/env python3
"""End-to-end benchmarks: xxl beside the I/O bound and STXXL, in the same run.

    bench/run.py --list
    bench/run.py --case u64-4g --case gensort-8g --repeat 3 --dir DIR
    bench/run.py --case shuf-1g --dir /dev/shm --unlimited
    bench/run.py --all

A case generates its inputs in DIR, then repeats its runs one after the other (so that what the
machine does besides meets all of them), each with cold caches and in a memory cgroup of the
budget (-S) plus the constant that xxl documents. Every output is validated: order, and the
checksum of the input. Needs root for cgroups and for dropping caches; without it, says so and
goes on without. Rows go to bench/results/CASE.csv and CASE-phases.csv; medians and ratios to
standard output. Exit status 1 when an output was wrong, or a ratio above its target with
--check. --unlimited leaves the cgroup out: files in tmpfs would count for it.

Programs are taken from a build with -DXXL_BUILD_BENCH=ON (cmake --preset bench).
"""

import argparse
import csv
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MEMORY_CONSTANT = 48 * MIB  # beyond -S, as in src/job/fixed_sort/fixed_sort.h
RECORD_BYTES = {"u64": 8, "f64": 8, "kv64": 16, "gensort": 100, "lines": 100}
SHUFFLES = ("shuf", "sort -R")


@dataclasses.dataclass(frozen=True)
class Input:
    record: str
    bytes: int
    distribution: str = "uniform"

    @property
    def name(self):
        return f"{self.record}-{self.distribution.replace(':', '')}-{self.bytes // MIB}m"

    @property
    def records(self):
        return self.bytes // RECORD_BYTES[self.record]


@dataclasses.dataclass(frozen=True)
class Run:
    """One program on one input. `label` names it in results."""

    label: str
    program: str  # xxl, io_bound, stxxl, shuf (xxl's) or sort -R (GNU's)
    input: Input
    memory: int
    options: tuple = ()
    passes: int = 1  # of merging, for the volume of io_bound
    scratch: str = "plain"  # plain, two (directories) or small (the second one too small)


@dataclasses.dataclass(frozen=True)
class Target:
    """The median of `what` of run `label` over that of run `base` is at most `most`."""

    label: str
    base: str
    most: float
    what: str = "seconds"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    about: str
    runs: tuple
    targets: tuple = ()


CPU = ("--device=cpu",)


def make_cases():
    uniform = Input("u64", 4 * GIB)
    cases = [
        Case(
            "u64-4g",
            "4 GiB of u64 in 1 GiB: the I/O bound and STXXL",
            (
                Run("io_bound", "io_bound", uniform, GIB),
                Run("xxl", "xxl", uniform, GIB),
                Run("stxxl", "stxxl", uniform, GIB),
            ),
            (Target("xxl", "io_bound", 1.3), Target("xxl", "stxxl", 0.25, "sort_seconds")),
        )
    ]
    gensort = Input("gensort", 8 * 10**9)
    cases.append(
        Case(
            "gensort-8g",
            "8 GB of 100-byte records in 512 MiB",
            (
                Run("io_bound", "io_bound", gensort, 512 * MIB),
                Run("xxl", "xxl", gensort, 512 * MIB),
            ),
            (Target("xxl", "io_bound", 1.3),),
        )
    )
    large = Input("u64", 20 * GIB)
    for name, options in (("u64-20g", ()), ("u64-20g-batch8", ("--batch-size=8",))):
        cases.append(
            Case(
                name,
                "20 GiB in 64 MiB" + (", several passes" if options else ": hundreds of runs"),
                (
                    Run("small", "xxl", uniform, GIB),
                    Run("xxl", "xxl", large, 64 * MIB, options),
                ),
                (Target("xxl", "small", 1.3, "merge_ns_per_byte"),),
            )
        )
    kinds = [Input("kv64", 4 * GIB), Input("f64", 4 * GIB)]
    kinds += [
        Input("u64", 4 * GIB, d)
        for d in ("constant", "sorted", "reverse", "zipf:1.0", "nearly-sorted", "few-distinct")
    ]
    for kind in kinds:
        label = kind.record if kind.record != "u64" else kind.distribution.split(":")[0]
        targets = [Target(label, "uniform", 1.2)]
        if kind.distribution == "sorted":
            targets.append(Target(label, "uniform", 0.55, "volume"))  # 2N against 4N
        cases.append(
            Case(
                f"kind-{label}",
                f"4 GiB of {label} in 1 GiB against uniform u64",
                (Run("uniform", "xxl", uniform, GIB), Run(label, "xxl", kind, GIB)),
                tuple(targets),
            )
        )
    cases.append(
        Case(
            "two-dirs",
            "scratch in two directories; and the second one on a small disk that fills up",
            tuple(Run(s, "xxl", uniform, GIB, scratch=s) for s in ("plain", "two", "small")),
        )
    )
    for gib in (1, 2, 4, 8, 16):
        data = Input("u64", gib * GIB)
        # The smallest fits in memory: 2N bytes of I/O.
        passes = 1 if gib > 1 else 0
        memory = GIB if gib > 1 else 3 * GIB // 2
        cases.append(
            Case(
                f"size-{gib}g",
                f"{gib} GiB of u64 in {memory // MIB} MiB, for the plot of time against size",
                (
                    Run("io_bound", "io_bound", data, memory, passes=passes),
                    Run("xxl", "xxl", data, memory),
                    Run("stxxl", "stxxl", data, memory),
                ),
            )
        )
    for size, memory in ((20 * 10**9, GIB), (10**9, 102 * MIB)):
        lines = Input("lines", size)
        runs = [Run("sort", "xxl", lines, memory, CPU), Run("shuf", "shuf", lines, memory)]
        if size == 10**9:
            runs.append(Run("sort -R", "sort -R", lines, memory))
        cases.append(
            Case(
                f"shuf-{size // 10**9}g",
                f"{size // 10**9} GB of lines in {memory // MIB} MiB, shuffled and sorted",
                tuple(runs),
                (Target("shuf", "sort", 1.15),),
            )
        )
    for record in ("gensort", "lines"):
        data = Input(record, 6 * 10**9)
        for gib in (60, 3):
            runs = [Run("one file", "xxl", data, gib * GIB, CPU)]
            for parts in (16, 64):
                options = (*CPU, f"--parts={parts}")
                runs.append(Run(f"{parts} parts", "xxl", data, gib * GIB, options))
            about = f"6 GB of {record} in {gib} GiB, into one file and into parts"
            cases.append(Case(f"parts-{record}-{gib}g", about, tuple(runs)))
        data = Input(record, 2 * 10**9)
        cases.append(
            Case(
                f"verify-{record}",
                f"2 GB of {record} in 512 MiB, with and without --verify",
                (
                    Run("plain", "xxl", data, 512 * MIB),
                    Run("verify", "xxl", data, 512 * MIB, ("--verify",)),
                ),
                (Target("verify", "plain", 1.25),),
            )
        )
    return {case.name: case for case in cases}


def warn(text):
    print(f"run.py: {text}", file=sys.stderr)


class MemoryCgroup:
    """A cgroup for one process tree, version 1 or 2; does nothing where it cannot be made."""

    def __init__(self, limit):
        self.directory = None
        if limit is None:
            return
        name = f"xxl-bench-{os.getpid()}"
        v1, v2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
        try:
            if v1.is_dir():
                directory, file = v1 / name, "memory.limit_in_bytes"
            else:
                (v2 / "cgroup.subtree_control").write_text("+memory")
                directory, file = v2 / name, "memory.max"
            directory.mkdir()
            self.directory = directory
            (directory / file).write_text(str(limit))
        except OSError as error:
            warn(f"no memory limit: {error}")

    def enter(self):
        """Called in the child."""
        if self.directory:
            (self.directory / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        if not self.directory:
            return
        for attempt in range(20):
            try:
                self.directory.rmdir()
                return
            except OSError:
                time.sleep(0.05 * attempt)
        warn(f"{self.directory} is left behind")


@dataclasses.dataclass
class Outcome:
    seconds: float
    user: float
    system: float
    peak_rss: int
    status: int
    stdout: str
    stderr: str


def run_limited(command, limit, log, environment=None):
    """Runs `command` in a memory cgroup, unless `limit` is None; what it prints goes through files next to `log`."""
    group = MemoryCgroup(limit)
    out, err = log.with_suffix(".out"), log.with_suffix(".err")
    try:
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            start = time.monotonic()
            process = subprocess.Popen(
                command,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=group.enter,
                env={**os.environ, **(environment or {})},
            )
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        group.remove()
    return Outcome(
        seconds,
        usage.ru_utime,
        usage.ru_stime,
        usage.ru_maxrss * KIB,
        process.returncode,
        out.read_text(errors="replace"),
        err.read_text(errors="replace"),
    )


def drop_caches():
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError as error:
        warn(f"caches stay warm: {error}")


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def last_json(text):
    """The last line that is a JSON object, or {}."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except json.JSONDecodeError:
                continue
    return {}


class SmallDisk:
    """A file system of `size` bytes in a file, mounted below `directory`."""

    def __init__(self, directory, size):
        self.image, self.path = directory / "small.img", directory / "small"
        self.path.mkdir(exist_ok=True)
        with open(self.image, "wb") as image:
            image.truncate(size)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.path], check=True)

    def remove(self):
        subprocess.run(["umount", self.path], check=False)
        self.path.rmdir()
        self.image.unlink()


class Bench:
    def __init__(self, arguments):
        self.build = arguments.build.resolve()
        self.directory = arguments.dir.resolve()
        self.results = arguments.results
        self.unlimited = arguments.unlimited
        self.xxl = self.build / "bin" / "xxl"
        self.checksums = {}  # by input
        self.wrong = False

    def path(self, data):
        return self.directory / data.name

    def validate(self, data, path):
        """(checksum and number of records, whether in order), of a file or a directory of parts"""
        # Lines as `xxl gen` makes them are records of one size, and in the order of their bytes.
        record = "fixed:100" if data.record == "lines" else data.record
        files = sorted(path.glob("part-*")) if path.is_dir() else [path]
        with subprocess.Popen(["cat", *files], stdout=subprocess.PIPE) as content:
            command = [self.xxl, "validate", f"--record={record}"]
            done = subprocess.run(command, stdin=content.stdout, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        return lines[:2], done.returncode == 0 and len(lines) >= 2

    def generate(self, data):
        kind = "--ascii" if data.record == "lines" else f"--record={data.record}"
        command = [self.xxl, "gen", kind, "-o", self.path(data)]
        if data.record not in ("gensort", "lines"):
            command += [f"--distribution={data.distribution}", "--seed=1"]
        subprocess.run([*command, str(data.records)], check=True, stdout=subprocess.DEVNULL)
        self.checksums[data], _ = self.validate(data, self.path(data))

    def command(self, run, output, scratch):
        data = self.path(run.input)
        if run.program == "io_bound":
            words = [self.build / "bench" / "io_bound", data, output]
            return words + ([scratch[0]] if run.passes else [])
        if run.program == "stxxl":
            disk = scratch[0] / "stxxl.disk"
            options = [f"--memory={run.memory}", f"--disk={disk}"]
            return [self.build / "bench" / "stxxl_sort", *options, data, output]
        words = ["sort", "-R"]
        if run.program != "sort -R":
            command = "shuf" if run.program == "shuf" else "sort"
            words = [self.xxl, command, f"--record={run.input.record}", "--stats=json"]
        words += [f"-S{run.memory}b", *(word for path in scratch for word in ("-T", path))]
        return [*words, *run.options, data, "-o", output]

    def run_once(self, case, run, repetition):
        scratch = [self.directory / "scratch-a", self.directory / "scratch-b"]
        small = None
        if run.scratch == "small":
            # A quarter of what must be stored, while half is its share.
            small = SmallDisk(self.directory, run.input.bytes // 4)
            scratch[1] = small.path
        for path in scratch:
            path.mkdir(exist_ok=True)
        output = self.directory / "output"
        remove(output)
        drop_caches()
        try:
            outcome = run_limited(
                self.command(run, output, scratch[: 1 if run.scratch == "plain" else 2]),
                None if self.unlimited else run.memory + MEMORY_CONSTANT,
                self.directory / "log",
                # STXXL's threads would spin while they wait for the disk.
                {"OMP_WAIT_POLICY": "passive"} if run.program == "stxxl" else None,
            )
        finally:
            if small:
                small.remove()
        report = last_json(outcome.stdout + "\n" + outcome.stderr)
        ok = outcome.status == 0
        if ok and run.program != "io_bound":
            checksum, ordered = self.validate(run.input, output)
            ok = ordered == (run.program not in SHUFFLES) and checksum == self.checksums[run.input]
        remove(output)
        if not ok:
            self.wrong = True
            warn(f"{case.name}: {run.label} failed (status {outcome.status}): {outcome.stderr}")
        return self.row(case, run, repetition, outcome, report, ok)

    @staticmethod
    def row(case, run, repetition, outcome, report, ok):
        phases = report.get("phases", [])
        moved = sum(p["bytes_read"] + p["bytes_written"] for p in phases)
        merges = [p for p in phases if p["name"].startswith("merge")]
        merged_bytes = sum(p["bytes_read"] for p in merges)
        merge_seconds = sum(p["seconds"] for p in merges)
        # The whole process, from start to exit; but STXXL's program does more than sort and reports
        # the time of the sort alone, which is compared with what xxl reports of the same.
        sorting = report.get("seconds", 0.0)
        seconds = sorting if run.program == "stxxl" else outcome.seconds
        row = {
            "case": case.name,
            "program": run.label,
            "input": run.input.name,
            "repetition": repetition,
            "seconds": f"{seconds:.3f}",
            "sort_seconds": f"{sorting:.3f}",
            "bytes": run.input.bytes,
            "memory": run.memory,
            "peak_rss": outcome.peak_rss,
            "user": f"{outcome.user:.2f}",
            "system": f"{outcome.system:.2f}",
            "volume": f"{moved / run.input.bytes:.3f}" if moved else "",
            "runs": report.get("runs", ""),
            "merge_degree": report.get("merge_degree", ""),
            "passes": report.get("passes", ""),
            "merge_ns_per_byte": f"{merge_seconds * 1e9 / merged_bytes:.4f}" if merged_bytes else "",
            "scratch_written": " ".join(
                str(d["bytes_written"]) for d in report.get("scratch", [])
            ),
            "io_wait": report.get("io_wait_seconds", ""),
            "checksum_ok": int(ok),
        }
        keys = ("name", "seconds", "bytes_read", "bytes_written", "read_wait_seconds",
                "write_wait_seconds", "worker_busy_seconds")  # fmt: skip
        head = {key: row[key] for key in ("case", "program", "repetition")}
        threads = {"threads": report.get("threads", "")}
        return row, [{**head, **threads, **{key: p[key] for key in keys}} for p in phases]

    def run_case(self, case, repeat):
        print(f"\n{case.name}: {case.about}")
        inputs = {run.input for run in case.runs}
        rows, phases = [], []
        try:
            for data in inputs:
                self.generate(data)
            for repetition in range(repeat):
                for run in case.runs:
                    row, run_phases = self.run_once(case, run, repetition)
                    rows.append(row)
                    phases += run_phases
                    print(
                        f"  {run.label:10} {float(row['seconds']):8.2f} s"
                        f"  peak {row['peak_rss'] / MIB:6.0f} MiB"
                        f"  {'ok' if row['checksum_ok'] else 'WRONG'}",
                        flush=True,
                    )
        finally:
            for data in inputs:
                self.path(data).unlink(missing_ok=True)
        self.write(f"{case.name}.csv", rows)
        self.write(f"{case.name}-phases.csv", phases)
        return self.summarize(case, rows)

    def write(self, name, rows):
        if not rows:
            return
        self.results.mkdir(parents=True, exist_ok=True)
        with open(self.results / name, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    @staticmethod
    def median(rows, label, what):
        values = [float(r[what]) for r in rows if r["program"] == label and r[what] != ""]
        return statistics.median(values) if values else None

    def summarize(self, case, rows):
        """Prints medians and ratios; true when all targets are met."""
        met = True
        print(f"  {'':10} {'median s':>9} {'GB/s':>6} {'volume':>7} {'peak MiB':>9} {'limit':>6}")
        for run in case.runs:
            seconds = self.median(rows, run.label, "seconds")
            volume = self.median(rows, run.label, "volume")
            peak = max(r["peak_rss"] for r in rows if r["program"] == run.label)
            limit = run.memory + MEMORY_CONSTANT
            print(
                f"  {run.label:10} {seconds:9.2f} {run.input.bytes / max(seconds, 1e-9) / 1e9:6.2f}"
                f" {f'{volume:.2f}N' if volume else '':>7} {peak / MIB:9.0f} {limit / MIB:6.0f}"
            )
            if run.scratch != "plain":
                written = next(r["scratch_written"] for r in rows if r["program"] == run.label)
                shares = [int(word) / run.input.bytes for word in written.split()]
                print(f"  {run.label:10} scratch by directory: "
                      + ", ".join(f"{share:.2f}N" for share in shares))  # fmt: skip
            if run.program == "xxl" and peak > limit:
                met = False
                print(f"  {run.label}: MORE MEMORY THAN ALLOWED")
        for target in case.targets:
            value = self.median(rows, target.label, target.what)
            base = self.median(rows, target.base, target.what)
            if not value or not base:
                print(f"  {target.label} / {target.base} ({target.what}): not measured")
                met = False
                continue
            ratio = value / base
            met &= ratio <= target.most
            print(
                f"  {target.label} / {target.base} ({target.what}): {ratio:.2f},"
                f" target {target.most}: {'met' if ratio <= target.most else 'MISSED'}"
            )
        return met


def main():
    cases = make_cases()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=cases, metavar="NAME", default=[])
    parser.add_argument("--all", action="store_true", help="all cases")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--dir", type=pathlib.Path, default=REPOSITORY / "build-bench" / "data",
                        help="where inputs, scratch and outputs go")  # fmt: skip
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build-bench")
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench" / "results")
    parser.add_argument("--check", action="store_true", help="a missed target is a failure")
    parser.add_argument("--unlimited", action="store_true", help="no memory cgroup")
    arguments = parser.parse_args()
    os.environ["LC_ALL"] = "C"
    if arguments.list:
        for case in cases.values():
            print(f"{case.name:16} {case.about}")
        return 0
    names = list(cases) if arguments.all else arguments.case
    if not names:
        parser.error("say which cases: --case NAME, --all, or --list")
    arguments.dir.mkdir(parents=True, exist_ok=True)
    work = arguments.dir / f"run-{os.getpid()}"
    work.mkdir()
    arguments.dir = work
    bench = Bench(arguments)
    try:
        met = [bench.run_case(cases[name], arguments.repeat) for name in names]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if bench.wrong or (arguments.check and not all(met)) else 0


if __name__ == "__main__":
    sys.exit(main())
