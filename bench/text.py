#!/usr/bin/env python3
"""Sorting text: xxl beside GNU sort, and DuckDB and Polars where they can do the same.

    bench/text.py --list
    bench/text.py --case plain --case n --repeat 3 --dir DIR --gigabytes 4 --memory 1G
    bench/text.py --all

Each case makes its input in DIR, then runs the programs one after the other, as often as --repeat
says, with cold caches and 2 threads each, GNU sort, xxl and DuckDB in a memory cgroup of --memory
and 48 MiB (DuckDB is told to use 3/5 of it, since it does not count all it takes; if it is killed
all the same it gets twice as much, which the result says). Polars has no limit: it holds what it
sorts. What xxl writes must be what GNU sort writes, byte for byte; for CSV, order and rows are
checked against DuckDB's. Rows go to bench/results/text-CASE.csv, medians and ratios to standard
output. Needs root for cgroups and dropping caches, numpy, and the peers: pip install duckdb polars.
"""

import argparse
import csv
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import numpy

from run import MIB, REPOSITORY, MemoryCgroup, drop_caches

LINE = 100


def random_lines(rows, rng):
    text = rng.integers(33, 127, size=(rows, LINE), dtype=numpy.uint8)
    text[:, -1] = 10
    return text.tobytes()


def put_number(text, column, width, values):
    for digit in range(width):
        text[:, column + width - 1 - digit] = 48 + (values // 10**digit) % 10


def number_lines(rows, rng):
    """NNNNNNNNN,NNNNNN,letters"""
    text = rng.integers(97, 123, size=(rows, LINE), dtype=numpy.uint8)
    put_number(text, 0, 9, rng.integers(0, 10**9, size=rows))
    text[:, 9] = 44
    put_number(text, 10, 6, rng.integers(0, 10**6, size=rows))
    text[:, 16] = 44
    text[:, -1] = 10
    return text.tobytes()


def url_lines(rows, rng):
    text = numpy.tile(numpy.frombuffer(
        b"https://www.example.com/catalogue/of/products/that/have/long/names/" + b"x" * 33,
        dtype=numpy.uint8), (rows, 1))
    put_number(text, 67, 4, rng.integers(0, 10**4, size=rows))
    text[:, 71] = 47
    text[:, 72:99] = rng.integers(97, 123, size=(rows, 27), dtype=numpy.uint8)
    text[:, -1] = 10
    return text.tobytes()


def word_lines(rows, rng):
    """Lines of words in both cases, with blanks and hyphens, for collation."""
    text = rng.integers(97, 123, size=(rows, LINE), dtype=numpy.uint8)
    text[:, ::11] = 32
    text[:, 5::23] = 45
    text[:, 1::11] -= 32
    text[:, 0] = rng.integers(97, 123, size=rows)
    text[:, -1] = 10
    return text.tobytes()


def one_byte_lines(rows, rng):
    text = numpy.full((rows * LINE // 2, 2), 10, dtype=numpy.uint8)
    text[:, 0] = rng.integers(97, 123, size=len(text))
    return text.tobytes()


def megabyte_lines(rows, rng):
    lines = max(1, rows * LINE // 1000000)
    text = rng.integers(97, 123, size=(lines, 1000000), dtype=numpy.uint8)
    text[:, -1] = 10
    return text.tobytes()


def equal_lines(rows, rng):
    return (b"the same line again and again, " * 3 + b"for ever\n") * rows


def csv_rows(rows, rng):
    """id,amount,name,remark with a header; amounts like -1234.56, names quoted now and then."""
    text = numpy.full((rows, LINE), 120, dtype=numpy.uint8)
    text[:, :] = rng.integers(97, 123, size=(rows, LINE), dtype=numpy.uint8)
    put_number(text, 0, 10, rng.integers(10**9, 10**10, size=rows))
    text[:, 10] = 44
    put_number(text, 11, 5, rng.integers(10**4, 10**5, size=rows))
    text[:, 16] = 46
    put_number(text, 17, 2, rng.integers(0, 100, size=rows))
    text[:, 19] = 44
    text[:, 40] = 44
    quoted = rng.random(rows) < 0.1
    text[quoted, 41] = 34
    text[quoted, 60] = 44
    text[quoted, 98] = 34
    text[:, -1] = 10
    return text.tobytes()


INPUTS = {"random": random_lines, "numbers": number_lines, "urls": url_lines, "words": word_lines,
          "one-byte": one_byte_lines, "megabyte": megabyte_lines, "equal": equal_lines,
          "csv": csv_rows}

# name: (input, locale, options of sort, what DuckDB orders by or None)
CASES = {
    "plain": ("random", "C", [], "line"),
    "n": ("numbers", "C", ["-n"], None),
    "k2n": ("numbers", "C", ["-t,", "-k2,2n"], None),
    "u": ("random", "C", ["-u"], None),
    "g": ("numbers", "C", ["-g"], None),
    "V": ("numbers", "C", ["-V"], None),
    "f": ("random", "C", ["-f"], None),
    "utf8": ("words", "en_US.UTF-8", [], None),
    "urls": ("urls", "C", [], None),
    "one-byte": ("one-byte", "C", [], None),
    "megabyte": ("megabyte", "C", [], None),
    "equal": ("equal", "C", [], None),
    "sorted": ("sorted", "C", [], None),
    "csv": ("csv", "C", [], "amount, name"),
}


def make_input(name, path, size, xxl):
    if name == "sorted":
        make_input("random", path.with_name("random"), size, xxl)
        subprocess.run([xxl, "sort", path.with_name("random"), "-o", path], check=True,
                       env={"LC_ALL": "C"})
        return
    if path.exists() and path.stat().st_size >= size * 0.99:
        return
    rng = numpy.random.default_rng(1)
    with open(path, "wb") as file:
        if name == "csv":
            file.write(b"id,amount,name,remark\n")
        for _ in range(max(1, round(size / (200000 * LINE)))):
            file.write(INPUTS[name](200000, rng))


def timed(command, environment, limit=None):
    drop_caches()
    group = MemoryCgroup(limit)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                             preexec_fn=group.enter, check=False)
    seconds = time.monotonic() - start
    group.remove()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return process, seconds, cpu


DUCKDB = """
import duckdb, sys
source, target, memory, order, scratch = sys.argv[1:]
db = duckdb.connect(config={"threads": 2, "memory_limit": memory, "temp_directory": scratch})
if order == "line":
    rows = f"read_csv('{source}', columns={{'line': 'VARCHAR'}}, delim='\\x01', quote='', escape='', header=false, auto_detect=false)"
    form = "FORMAT csv, HEADER false, DELIMITER '\\x01', QUOTE '', ESCAPE ''"
else:
    rows = f"read_csv('{source}', header=true, columns={{'id': 'BIGINT', 'amount': 'DECIMAL(9,2)', 'name': 'VARCHAR', 'remark': 'VARCHAR'}})"
    form = "FORMAT csv, HEADER true"
db.execute(f"COPY (SELECT * FROM {rows} ORDER BY {order}) TO '{target}' ({form})")
"""

POLARS = """
import polars, sys
source, target, order = sys.argv[1:]
if order == "line":
    table = polars.scan_csv(source, has_header=False, new_columns=["line"], separator="\\x01", quote_char=None)
    table.sort("line").sink_csv(target, include_header=False, quote_style="never")
else:
    table = polars.scan_csv(source, schema_overrides={"amount": polars.Float64})
    table.sort("amount", "name").sink_csv(target)
"""


def same(a, b):
    return subprocess.run(["cmp", "-s", a, b], check=False).returncode == 0


def run_case(name, args, writer):
    kind, locale, options, duckdb_order = CASES[name]
    source = args.dir / kind
    make_input(kind, source, int(args.gigabytes * 1e9), args.xxl)
    memory = int(args.memory[:-1]) * {"M": MIB, "G": 1024 * MIB}[args.memory[-1]]
    limit = memory + 48 * MIB
    outputs = {p: args.dir / f"out-{p}" for p in ("gnu", "xxl", "duckdb", "polars")}
    common = ["-S", args.memory, "--parallel=2", "-T", str(args.dir)]
    keys = ["--record=csv", "--header", "--key=amount:number", "--key=name"] if name == "csv" \
        else options
    times = {}
    notes = {}

    def note(program, process, seconds, cpu, right):
        if process.returncode != 0:
            right = f"failed ({process.returncode}): {process.stderr.decode()[-200:].strip()}"
        times.setdefault(program, []).append((seconds, cpu))
        notes[program] = right
        writer.writerow([name, program, source.stat().st_size, args.memory, f"{seconds:.2f}",
                         f"{cpu:.2f}", right])
        print(f"  {program:7} {seconds:8.2f} s  {cpu:8.2f} s of processors  {right}", flush=True)

    print(f"{name}: {source.stat().st_size / 1e9:.2f} GB", flush=True)
    for repetition in range(args.repeat):
        if name != "csv" and repetition < args.peer_repeat:
            run = timed(["/usr/bin/sort", *common, *options, "-o", outputs["gnu"], source],
                        {"LC_ALL": locale}, limit)
            note("gnu", *run, "reference")
        if duckdb_order and repetition < args.peer_repeat:
            for factor in (1, 2, 4):
                run = timed([sys.executable, "-c", DUCKDB, source, outputs["duckdb"],
                             f"{memory * factor * 3 // 5}B", duckdb_order, args.dir / "duckdb"],
                            {}, limit * factor)
                if run[0].returncode == 0:
                    break
            right = f"memory limit times {factor}"
            if name == "plain":
                right += ", same" if same(outputs["gnu"], outputs["duckdb"]) else ", DIFFERS"
            note("duckdb", *run, right)
            run = timed([sys.executable, "-c", POLARS, source, outputs["polars"], duckdb_order],
                        {"POLARS_MAX_THREADS": "2"})
            note("polars", *run, "no memory limit")
        run = timed([args.xxl, "sort", *common, *keys, "-o", outputs["xxl"], source],
                    {"LC_ALL": locale}, limit)
        if name == "csv":
            check = subprocess.run([args.xxl, "sort", "-c", *keys, outputs["xxl"]], check=False)
            right = "ordered" if check.returncode == 0 else "WRONG"
            if source.stat().st_size != outputs["xxl"].stat().st_size:
                right = "WRONG size"
        else:
            right = "same" if same(outputs["gnu"], outputs["xxl"]) else "WRONG"
        note("xxl", *run, right)
    ours = statistics.median(t[0] for t in times["xxl"])
    for program, values in times.items():
        if program != "xxl":
            ratio = ours / statistics.median(t[0] for t in values)
            print(f"  xxl takes {ratio:.2f} of the time of {program}", flush=True)
    for output in outputs.values():
        output.unlink(missing_ok=True)
    return all("WRONG" not in n for n in notes.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", action="append", choices=list(CASES), default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--peer-repeat", type=int, default=1, help="runs of the peers")
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("/var/tmp/xxl-text-bench"))
    parser.add_argument("--xxl", default=str(REPOSITORY / "build-bench/bin/xxl"))
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench/results")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{n:10} {c[0]:9} {c[1]:12} {' '.join(c[2])}" for n, c in CASES.items()))
        return 0
    args.dir.mkdir(parents=True, exist_ok=True)
    args.results.mkdir(parents=True, exist_ok=True)
    right = True
    for name in list(CASES) if args.all else args.case:
        with open(args.results / f"text-{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["case", "program", "bytes", "memory", "seconds", "cpu_seconds",
                             "output"])
            right &= run_case(name, args, writer)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
