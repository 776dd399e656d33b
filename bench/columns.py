#!/usr/bin/env python3
"""Sorting and joining Parquet: xxl beside DuckDB, Polars (its streaming engine) and DataFusion.

    bench/columns.py --case log --repeat 3 --dir DIR --memory 1G
    bench/columns.py --case log,wide,long,nulls,one-group,join --programs xxl,xxl-python,duckdb

Cases (sorted to Parquet, zstd):
  log        40 M rows like a web log (about 4.8 GB in memory), by a string and a time, descending
  wide       2 M rows of 100 columns, by one of them
  long       400,000 rows with a string of 10 KB, by it
  nulls      40 M rows by a column that is null everywhere, then by a number
  one-group  the table of log in one row group
  join       the table of log, left join of a table of 5 M users, one to many

Each program runs in a process of its own, with cold caches, 2 threads, in a memory cgroup of --memory
and 192 MiB for code and libraries; its own limit is --memory (DuckDB's and DataFusion's 3/4 of it,
since they do not count all they take). One that is killed or fails is shown as such. Outputs are
checked: the rows must be those of the input (count and sum of hashes), keys in order. Peak memory is
the resident set of the process. Rows go to bench/results/columns-CASE.csv. Needs root, and pip
install pyarrow duckdb polars datafusion numpy; xxl-python needs the Python package.
"""

import argparse
import csv
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from run import MIB, REPOSITORY, MemoryCgroup, drop_caches

BESIDE = 192 * MIB
THREADS = 2
TIMEOUT = 400
SETTLE_SECONDS = 4
PROGRAMS = ["xxl", "xxl-python", "duckdb", "polars", "datafusion"]


# --- tables ---

def log_batches(rows, step):
    import numpy
    import pyarrow
    import pyarrow.compute
    rng = numpy.random.default_rng(1)
    agents = numpy.array([f"Mozilla/5.0 (X11; Linux x86_64) build/{i:04}" for i in range(200)])
    hosts = numpy.array([f"host-{i:06}.example.net" for i in range(100000)])
    for begin in range(0, rows, step):
        n = min(step, rows - begin)
        agent = pyarrow.array(agents[rng.integers(0, 200, n)])
        url = numpy.char.add(numpy.char.add("/page/", rng.integers(0, 10**9, n).astype("U")), ".html")
        yield pyarrow.table({
            "user": rng.integers(0, 5_000_000, n),
            "status": rng.choice([200, 200, 200, 304, 404, 500], n).astype(numpy.int32),
            "ts": pyarrow.array(1_700_000_000_000_000 + numpy.arange(begin, begin + n) * 1000 +
                                rng.integers(0, 5_000_000, n)).cast(pyarrow.timestamp("us")),
            "cost": rng.random(n),
            "host": hosts[rng.zipf(1.3, n) % 100000],
            "url": url,
            "agent": pyarrow.compute.if_else(pyarrow.array(rng.random(n) < 0.1),
                                             pyarrow.scalar(None, pyarrow.string()), agent)})


def wide_batches(rows, step):
    import numpy
    import pyarrow
    rng = numpy.random.default_rng(2)
    for begin in range(0, rows, step):
        n = min(step, rows - begin)
        columns = {"key": rng.integers(0, 1 << 62, n)}
        for i in range(99):
            kind = i % 4
            columns[f"c{i}"] = (rng.integers(0, 1000, n) if kind == 0 else rng.random(n) if kind == 1 else
                                rng.integers(0, 1 << 31, n).astype(numpy.int32) if kind == 2 else
                                pyarrow.array(rng.integers(0, 10**6, n).astype("U")))
        yield pyarrow.table(columns)


def long_batches(rows, step):
    import numpy
    import pyarrow
    rng = numpy.random.default_rng(3)
    step //= 100
    for begin in range(0, rows, step):
        n = min(step, rows - begin)
        text = rng.integers(97, 123, (n, 10000), dtype=numpy.uint8).tobytes()
        offsets = numpy.arange(0, (n + 1) * 10000, 10000, dtype=numpy.int32)
        array = pyarrow.Array.from_buffers(pyarrow.string(), n,
                                           [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(text)])
        yield pyarrow.table({"text": array, "number": numpy.arange(begin, begin + n)})


def null_batches(rows, step):
    import numpy
    import pyarrow
    rng = numpy.random.default_rng(4)
    for begin in range(0, rows, step):
        n = min(step, rows - begin)
        yield pyarrow.table({"none": pyarrow.nulls(n, pyarrow.string()), "number": rng.integers(0, 1 << 62, n),
                             "place": numpy.arange(begin, begin + n)})


def user_batches(rows, step):
    import numpy
    import pyarrow
    rng = numpy.random.default_rng(5)
    order = rng.permutation(rows)
    for begin in range(0, rows, step):
        some = order[begin:begin + step]
        yield pyarrow.table({"id": some, "name": pyarrow.array(numpy.char.add("user ", some.astype("U"))),
                             "born": rng.integers(1940, 2010, len(some)).astype(numpy.int16)})


class Case:
    def __init__(self, batches, rows, by=(), users=0, one_group=False):
        self.batches, self.rows, self.by = batches, rows, by
        self.users, self.one_group = users, one_group


LOG_BY = (("host", "asc"), ("ts", "desc"))
CASES = {
    "log": Case(log_batches, 40_000_000, LOG_BY),
    "wide": Case(wide_batches, 2_000_000, (("key", "asc"),)),
    "long": Case(long_batches, 400_000, (("text", "asc"),)),
    "nulls": Case(null_batches, 40_000_000, (("none", "asc"), ("number", "asc"))),
    "one-group": Case(log_batches, 40_000_000, LOG_BY, one_group=True),
    "join": Case(log_batches, 40_000_000, users=5_000_000),
}


def write_table(path, batches, one_group=False):
    import pyarrow.parquet
    if path.exists():
        return
    part = path.with_suffix(".part")
    writer = None
    if one_group:
        import pyarrow
        table = pyarrow.concat_tables(batches)
        pyarrow.parquet.write_table(table, part, compression="zstd", row_group_size=table.num_rows)
    else:
        for table in batches:
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(part, table.schema, compression="zstd")
            writer.write_table(table)
        writer.close()
    part.rename(path)


def make_inputs(name, case, directory, scale):
    rows = max(1000, int(case.rows * scale))
    step = 1 << (16 if name == "wide" else 20)
    # The same table serves several cases.
    stem = {"join": "log"}.get(name, name)
    tables = [directory / f"{stem}-{rows}.parquet"]
    write_table(tables[0], case.batches(rows, step), case.one_group)
    if case.users:
        users = max(1000, int(case.users * scale))
        tables.append(directory / f"users-{users}.parquet")
        write_table(tables[1], user_batches(users, 1 << 20))
    return tables


# --- programs, each in a process of its own ---

def by_words(case):
    return ", ".join(f"{column} {'DESC' if how == 'desc' else 'ASC'} NULLS LAST" for column, how in case.by)


def join_query(tables):
    return (f"SELECT l.*, u.name, u.born FROM '{tables[0]}' l LEFT JOIN '{tables[1]}' u ON l.user = u.id")


def run_duckdb(case, tables, output, memory, directory):
    import duckdb
    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{memory * 3 // 4}B'; SET threads = {THREADS}; "
                       f"SET temp_directory = '{directory}/duckdb'")
    query = join_query(tables) if case.users else f"SELECT * FROM '{tables[0]}' ORDER BY {by_words(case)}"
    connection.execute(f"COPY ({query}) TO '{output}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)")


def run_polars(case, tables, output, memory, directory):
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    os.environ["POLARS_TEMP_DIR"] = str(directory)
    import polars
    table = polars.scan_parquet(tables[0])
    if case.users:
        table = table.join(polars.scan_parquet(tables[1]), left_on="user", right_on="id", how="left")
    else:
        table = table.sort([column for column, _ in case.by], descending=[how == "desc" for _, how in case.by],
                           nulls_last=True)
    table.sink_parquet(output, compression="zstd", engine="streaming")


def run_datafusion(case, tables, output, memory, directory):
    import datafusion
    runtime = datafusion.RuntimeEnvBuilder().with_disk_manager_specified(str(directory)).with_fair_spill_pool(
        memory * 3 // 4)
    config = datafusion.SessionConfig().with_target_partitions(THREADS)
    context = datafusion.SessionContext(config, runtime)
    context.register_parquet("l", str(tables[0]))
    if case.users:
        context.register_parquet("u", str(tables[1]))
        query = "SELECT l.*, u.name, u.born FROM l LEFT JOIN u ON l.user = u.id"
    else:
        query = f"SELECT * FROM l ORDER BY {by_words(case)}"
    context.sql(f"COPY ({query}) TO '{output}' STORED AS PARQUET "
                "OPTIONS (COMPRESSION 'zstd(1)')").collect()


def run_xxl_python(case, tables, output, memory, directory):
    import xxl
    common = {"memory": memory, "scratch": [str(directory)], "threads": THREADS}
    if case.users:
        xxl.join_parquet(str(tables[0]), str(tables[1]), str(output), left_on="user", right_on="id", how="left",
                         **common)
    else:
        xxl.sort_parquet(str(tables[0]), str(output), list(case.by), **common)


def xxl_command(xxl, case, tables, output, memory, directory):
    common = ["--record=parquet", "-S", f"{memory}b", "-T", str(directory), f"--parallel={THREADS}"]
    if case.users:
        return [xxl, "join", *common, "--how=left", "--left-on=user", "--right-on=id", *map(str, tables),
                f"--output={output}"]
    keys = [f"--key={column}{':desc' if how == 'desc' else ''}" for column, how in case.by]
    return [xxl, "sort", *common, *keys, str(tables[0]), "-o", str(output)]


WORKERS = {"duckdb": run_duckdb, "polars": run_polars, "datafusion": run_datafusion,
           "xxl-python": run_xxl_python}


def resident_peak(pid):
    """In MiB; 0 when the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return 0
    if program == os.readlink("/proc/self/exe") and "--worker" not in pathlib.Path(f"/proc/{pid}/cmdline").read_text():
        return 0  # still a copy of this one
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def measure(command, limit):
    """Seconds, peak resident MiB and what went wrong (or an empty text) of a process."""
    drop_caches()
    time.sleep(SETTLE_SECONDS)
    group = MemoryCgroup(limit)
    start = time.monotonic()
    with open("/tmp/columns-bench.err", "wb") as errors:
        process = subprocess.Popen(command, preexec_fn=group.enter, stdout=subprocess.DEVNULL, stderr=errors)
    peak = 0
    try:
        while True:
            # Not that of wait4(), which may be this process's own before the other one began.
            peak = max(peak, resident_peak(process.pid))
            pid, status, _ = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > TIMEOUT:
                process.kill()
            time.sleep(0.05)
    finally:
        process.returncode = 0
        group.remove()
    seconds = time.monotonic() - start
    failure = ""
    if status != 0:
        tail = pathlib.Path("/tmp/columns-bench.err").read_text(errors="replace").strip().splitlines()
        failure = "killed" if os.WIFSIGNALED(status) else (tail[-1][:200] if tail else f"status {status}")
    return seconds, peak, failure


@functools.cache
def checksum_of_input(query):
    return checksum(query)


def checksum(query):
    """Rows and the sum of their hashes, by DuckDB."""
    import duckdb
    return duckdb.connect().execute(f"SELECT count(*), sum(hash(t)::HUGEINT) FROM ({query}) t").fetchone()


def check(case, tables, output):
    """What is wrong with an output, or an empty text."""
    wanted = join_query(tables) if case.users else f"SELECT * FROM '{tables[0]}'"
    if checksum(f"SELECT * FROM '{output}'") != checksum_of_input(wanted):
        return "other rows"
    if case.users:
        return ""
    return "" if is_ordered(case, output) else "not in order"


def is_ordered(case, output):
    """By pairs of rows next to each other: none has the key of the second one before the first's."""
    import pyarrow
    import pyarrow.compute as pc
    import pyarrow.parquet
    columns = [column for column, _ in case.by]
    last = None
    for batch in pyarrow.parquet.ParquetFile(output).iter_batches(batch_size=1 << 18, columns=columns):
        table = pyarrow.Table.from_batches([batch]).select(columns)
        rows = pyarrow.concat_tables([last, table]) if last is not None else table
        last = rows.slice(rows.num_rows - 1)
        equal = pyarrow.scalar(True)
        for column, how in case.by:
            first, second = rows[column].slice(0, rows.num_rows - 1), rows[column].slice(1)
            compare = pc.greater if how == "asc" else pc.less
            wrong = pc.fill_null(compare(first, second), False)
            wrong = pc.or_(wrong, pc.and_(pc.is_null(first), pc.is_valid(second)))  # nulls are last
            if pc.any(pc.and_(equal, wrong)).as_py():
                return False
            same = pc.or_(pc.fill_null(pc.equal(first, second), False),
                          pc.and_(pc.is_null(first), pc.is_null(second)))
            equal = pc.and_(equal, same)
    return True


def bench(name, case, arguments):
    tables = make_inputs(name, case, arguments.dir, arguments.scale)
    output = arguments.dir / "output.parquet"
    results = arguments.results / f"columns-{name}.csv"
    rows, failed = [], set()
    for _ in range(arguments.repeat):
        for program in arguments.programs.split(","):
            if program in failed:
                continue
            load = os.getloadavg()[0]
            if program == "xxl":
                command = xxl_command(str(arguments.xxl), case, tables, output, arguments.memory, arguments.dir)
            else:
                command = [sys.executable, __file__, "--worker", program, "--case", name, "--dir",
                           str(arguments.dir), "--tables", json.dumps([str(table) for table in tables]),
                           "--output", str(output), "--memory", f"{arguments.memory}"]
            seconds, peak, failure = measure(command, arguments.memory + BESIDE)
            wrong = failure or (check(case, tables, output) if not arguments.unchecked else "")
            if failure:
                failed.add(program)
            rows.append([name, arguments.memory, program, f"{seconds:.2f}", peak, wrong, f"{load:.1f}",
                         output.stat().st_size if output.exists() else 0])
            print(*rows[-1], flush=True)
            output.unlink(missing_ok=True)
    new = not results.exists()
    with open(results, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["case", "memory", "program", "seconds", "peak_mib", "failure", "load_before",
                             "output_bytes"])
        writer.writerows(rows)
    for program in arguments.programs.split(","):
        times = [float(row[3]) for row in rows if row[2] == program and not row[5]]
        if times:
            print(f"{name:10} {program:12} {statistics.median(times):7.1f} s", flush=True)


def parse_memory(text):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1] in units else int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="log")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="of the rows")
    parser.add_argument("--memory", type=parse_memory, default=1 << 30)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--xxl", type=pathlib.Path, default=REPOSITORY / "build-release/bin/xxl")
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench/results")
    parser.add_argument("--unchecked", action="store_true")
    parser.add_argument("--worker", choices=list(WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--tables", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--output", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        WORKERS[arguments.worker](CASES[arguments.case], arguments.tables, arguments.output, arguments.memory,
                                  arguments.dir)
        return
    for name in arguments.case.split(","):
        bench(name, CASES[name], arguments)


if __name__ == "__main__":
    main()
