#!/usr/bin/env python3
"""Joining binary records: xxl by both methods beside the I/O bounds and DuckDB.

    bench/join.py --list
    bench/join.py --case A-uniform --case B-zipf1.0 --repeat 3 --dir DIR --memory 512M
    bench/join.py --all

Workload A: R and S of kv32 (4 bytes of key, 4 of value), S ten times as many; B: of kv64 (8 and 8),
as many. R's keys are unique, S's are foreign keys: uniform, zipf with theta 0.5 to 1, of
selectivity 0 to 1 (the part of S that has a partner in R; 1 unless the case says), or both inputs
sorted. Together they have --size bytes, by default four times the memory.

Each case makes its relations in DIR, then runs the programs one after the other, as often as
--repeat says, with cold caches and 2 threads each, in a memory cgroup of --memory and 48 MiB:
xxl by sorting and merging, by hash if that fits, and by what it takes itself; join_bound, which
moves the volume of either and does nothing else; DuckDB, whose tables are loaded beforehand (that is not timed) and whose rows
go to a Parquet file that is not compressed, the fastest of its ways to keep them (a table, CSV).
DuckDB is told to use 3/5 of the memory, since it does not count all it takes; if it fails all the
same it gets twice as much, which the result says. Every output is checked: the number of its rows
and a sum over them must be what join_workload says. Rows go to bench/results/join-CASE.csv, medians
and ratios to standard output. Needs root for cgroups and dropping caches, numpy, and the peer: pip
install duckdb.
"""

import argparse
import csv
import pathlib
import shutil
import statistics
import subprocess
import sys

from run import MEMORY_CONSTANT, MIB, REPOSITORY, drop_caches, last_json, run_limited, warn

WORKLOADS = {"A": ("kv32", 10), "B": ("kv64", 1)}  # record, number of S over that of R
KINDS = {
    "uniform": [],
    "zipf0.5": ["--zipf=0.5"],
    "zipf0.75": ["--zipf=0.75"],
    "zipf1.0": ["--zipf=1.0"],
    "select0": ["--selectivity=0"],
    "select0.25": ["--selectivity=0.25"],
    "select0.5": ["--selectivity=0.5"],
    "sorted": ["--sorted"],
}
CASES = {f"{w}-{k}": (w, k) for w in WORKLOADS for k in KINDS}
RECORD_BYTES = {"kv32": 8, "kv64": 16}

# Loads the relations into a database: DuckDB does not read files of binary records.
LOAD = """
import sys, duckdb, numpy
database, record, *files = sys.argv[1:]
kind, sql = (numpy.uint32, "UINTEGER") if record == "kv32" else (numpy.uint64, "UBIGINT")
db = duckdb.connect(database)
for name, path in zip("rs", files):
    db.execute(f"CREATE TABLE {name} (k {sql}, v {sql})")
    data = numpy.memmap(path, dtype=kind).reshape(-1, 2)
    for at in range(0, len(data), 1 << 23):
        part = data[at : at + (1 << 23)]
        db.register("part", {"k": part[:, 0].copy(), "v": part[:, 1].copy()})
        db.execute(f"INSERT INTO {name} SELECT k, v FROM part")
        db.unregister("part")
db.execute("CHECKPOINT")
"""

JOIN = """
import sys, duckdb
database, memory, scratch, target = sys.argv[1:]
db = duckdb.connect(database, read_only=True, config={
    "threads": 2, "memory_limit": memory, "temp_directory": scratch,
    "preserve_insertion_order": False})
db.execute(f"COPY (SELECT s.k, r.v AS rv, s.v AS sv FROM r JOIN s ON r.k = s.k) TO '{target}' "
           "(FORMAT parquet, COMPRESSION uncompressed)")
"""

# As bench/join_rows.h has it.
CHECK = """
import sys, json, duckdb, numpy
rows = duckdb.connect().execute(f"SELECT k, rv, sv FROM read_parquet('{sys.argv[1]}')").fetchnumpy()
total, count = 0, len(rows["k"])
for at in range(0, count, 1 << 22):
    k, rv, sv = (rows[n][at : at + (1 << 22)].astype(numpy.uint64) for n in ("k", "rv", "sv"))
    x = k + rv * numpy.uint64(0x9e3779b97f4a7c15) + sv * numpy.uint64(0xd1342543de82ef95)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    total += int((x ^ (x >> numpy.uint64(31))).sum(dtype=numpy.uint64))
print(json.dumps({"rows": count, "sum": f"{total % 2**64:016x}"}))
"""


def parse_size(text):
    return int(text[:-1]) * {"M": MIB, "G": 1024 * MIB}[text[-1]]


def output_of(command):
    """The JSON object that a program prints last; DuckDB may show its progress before."""
    return last_json(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.programs = arguments.build / "bench"
        self.xxl = arguments.xxl or arguments.build / "bin" / "xxl"
        self.memory = parse_size(arguments.memory)
        self.size = parse_size(arguments.size) if arguments.size else 4 * self.memory
        self.directory = arguments.dir
        self.wrong = False

    def path(self, name):
        return self.directory / name

    def make_relations(self, workload, kind):
        """What join_workload says of them."""
        record, factor = WORKLOADS[workload]
        count = self.size // RECORD_BYTES[record] // (1 + factor)
        return output_of([
            self.programs / "join_workload", f"--record={record}", f"--r={count}",
            f"--s={count * factor}", *KINDS[kind], self.path("r"), self.path("s")])  # fmt: skip

    def run_duckdb(self):
        """(outcome, memory limit times what)"""
        scratch = self.path("duckdb-scratch")
        for factor in (1, 2, 4):
            self.clear_output()
            drop_caches()
            outcome = run_limited(
                [sys.executable, "-c", JOIN, self.path("database"),
                 f"{self.memory * factor * 3 // 5}B", scratch, self.path("output")],
                self.memory * factor + MEMORY_CONSTANT, self.path("log"))  # fmt: skip
            shutil.rmtree(scratch, ignore_errors=True)
            if outcome.status == 0:
                break
        return outcome, factor

    def clear_output(self):
        self.path("output").unlink(missing_ok=True)

    def run_once(self, program, case, expected, output_bytes):
        workload, kind = CASES[case]
        record, inputs = WORKLOADS[workload][0], [self.path("r"), self.path("s")]
        is_sorted = kind == "sorted"
        note = ""
        self.clear_output()
        if program == "duckdb":
            outcome, factor = self.run_duckdb()
            note = f"memory limit times {factor}" if factor > 1 else ""
        else:
            if program.startswith("bound"):
                scratch = program == "bound-sort-merge" and not is_sorted
                command = [self.programs / "join_bound",
                           *([f"--scratch={self.directory}"] if scratch else []),
                           str(output_bytes), self.path("output"), *inputs]  # fmt: skip
            else:
                method = program.removeprefix("xxl-")  # or auto
                command = [self.xxl, "join", f"--record={record}", f"-S{self.memory}b",
                           "--parallel=2", f"-T{self.directory}", f"--method={method}",
                           *(["--presorted"] if is_sorted else []), "--stats=json",
                           f"--output={self.path('output')}", *inputs]  # fmt: skip
            drop_caches()
            outcome = run_limited(command, self.memory + MEMORY_CONSTANT, self.path("log"))
        ok = outcome.status == 0
        if program == "xxl-hash" and not ok and ": give at least -S " in outcome.stderr:
            return None, outcome.stderr.strip()
        if ok and program.startswith("xxl"):
            ok = output_of([self.programs / "join_check", record, self.path("output")]) == expected
        elif ok and program == "duckdb":
            ok = output_of([sys.executable, "-c", CHECK, self.path("output")]) == expected
        if ok and program == "xxl-auto":
            note = last_json(outcome.stderr)["method"]
        self.clear_output()
        if not ok:
            self.wrong = True
            warn(f"{case}: {program} failed (status {outcome.status}): {outcome.stderr[-500:]}")
        return self.row(case, program, inputs, expected, outcome, ok, note), ""

    def row(self, case, program, inputs, expected, outcome, ok, note):
        report = last_json(outcome.stdout + "\n" + outcome.stderr)
        phases = report.get("phases", [])
        sizes = [path.stat().st_size for path in inputs]
        moved = sum(p["bytes_read"] + p["bytes_written"] for p in phases)
        return {
            "case": case,
            "program": program,
            "r_bytes": sizes[0],
            "s_bytes": sizes[1],
            "rows": expected["rows"],
            "memory": self.memory,
            "seconds": f"{outcome.seconds:.3f}",
            "user": f"{outcome.user:.2f}",
            "system": f"{outcome.system:.2f}",
            "peak_rss": outcome.peak_rss,
            "moved_bytes": moved or "",
            "phases": "; ".join(f"{p['name']} {p['seconds']:.2f}" for p in phases),
            "ok": int(ok),
            "note": note,
        }

    def run_case(self, case):
        workload, kind = CASES[case]
        record = WORKLOADS[workload][0]
        made = self.make_relations(workload, kind)
        expected = {"rows": made["rows"], "sum": made["sum"]}
        output_bytes = made["rows"] * RECORD_BYTES[record] * 3 // 2
        print(f"\n{case}: R {made['r']}, S {made['s']}, {made['rows']} rows of {record},"
              f" {self.arguments.memory}", flush=True)  # fmt: skip
        programs = ["bound-sort-merge", "xxl-sort-merge", "bound-hash", "xxl-hash", "xxl-auto"]
        if not self.arguments.no_peers:
            subprocess.run([sys.executable, "-c", LOAD, self.path("database"), record,
                            self.path("r"), self.path("s")], check=True)  # fmt: skip
            programs.append("duckdb")
        rows = []
        for repetition in range(self.arguments.repeat):
            for program in list(programs):
                if program == "duckdb" and repetition >= self.arguments.peer_repeat:
                    continue
                row, why_not = self.run_once(program, case, expected, output_bytes)
                if row is None:
                    print(f"  {program:18} {why_not}")
                    programs.remove(program)
                    continue
                rows.append(row)
                print(f"  {program:18} {row['seconds']:>8} s  peak"
                      f" {row['peak_rss'] // MIB:5} MiB  {'ok' if row['ok'] else 'WRONG'}"
                      f"  {row['phases']} {row['note']}", flush=True)  # fmt: skip
        for name in ("r", "s", "database", "database.wal"):
            self.path(name).unlink(missing_ok=True)
        self.write(case, rows)
        self.summarize(rows)

    def write(self, case, rows):
        results = self.arguments.results
        results.mkdir(parents=True, exist_ok=True)
        with open(results / f"join-{case}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    @staticmethod
    def summarize(rows):
        wrong = {row["program"] for row in rows if not row["ok"]}  # these have no time
        right = [row for row in rows if row["program"] not in wrong]
        median = {
            program: statistics.median(float(r["seconds"]) for r in right if r["program"] == program)
            for program in dict.fromkeys(r["program"] for r in right)
        }
        for method in ("sort-merge", "hash"):
            ours = median.get(f"xxl-{method}")
            for other in (f"bound-{method}", "duckdb"):
                if ours and other in median:
                    print(f"  xxl by {method} takes {ours / median[other]:.2f} of the time of"
                          f" {other}")  # fmt: skip
        methods = [median[name] for name in ("xxl-sort-merge", "xxl-hash") if name in median]
        if "xxl-auto" in median and methods:
            taken = {row["note"] for row in right if row["program"] == "xxl-auto"}
            print(f"  auto took {' or '.join(sorted(taken))}:"
                  f" {median['xxl-auto'] / min(methods):.2f} of the time of the faster method")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=CASES, metavar="NAME", default=[])
    parser.add_argument("--all", action="store_true", help="all cases")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--memory", default="512M", help="-S of xxl (default: %(default)s)")
    parser.add_argument("--size", help="of both inputs together (default: 4 times --memory)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--peer-repeat", type=int, default=1, metavar="N", help="runs of DuckDB")
    parser.add_argument("--no-peers", action="store_true", help="leave DuckDB out")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/var/tmp/xxl-join-bench"),
                        help="where inputs, scratch and outputs go")  # fmt: skip
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build-bench")
    parser.add_argument("--xxl", type=pathlib.Path, help="default: that of the build")
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench" / "results")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(CASES))
        return 0
    names = list(CASES) if arguments.all else arguments.case
    if not names:
        parser.error("say which cases: --case NAME, --all, or --list")
    arguments.dir = arguments.dir.resolve() / "join-bench"
    arguments.dir.mkdir(parents=True)
    bench = Bench(arguments)
    try:
        for name in names:
            bench.run_case(name)
    finally:
        shutil.rmtree(arguments.dir, ignore_errors=True)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
