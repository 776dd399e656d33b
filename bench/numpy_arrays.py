#!/usr/bin/env python3
"""Sorting a NumPy array in memory on processors: xxl.sort_array beside numpy, Polars and DuckDB.

    bench/numpy_arrays.py [--bytes 4000000000] [--repeat 3] [--threads 2]

Random numbers of 64 bits; each program sorts a copy, outputs are compared with numpy's. Needs pip
install numpy polars duckdb pyarrow, and the Python package.
"""

import argparse
import os
import statistics
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=4_000_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    os.environ["POLARS_MAX_THREADS"] = str(arguments.threads)
    import duckdb
    import numpy
    import polars
    import pyarrow
    import xxl

    numbers = numpy.random.default_rng(1).integers(0, 2**64, arguments.bytes // 8, dtype=numpy.uint64)
    expected = numpy.sort(numbers)

    def by_xxl(array):
        xxl.sort_array(array, threads=arguments.threads, device="cpu")
        return array

    def by_duckdb(array):
        connection = duckdb.connect()
        connection.execute(f"SET threads = {arguments.threads}")
        connection.register("numbers", pyarrow.table({"x": array}))
        return connection.execute("SELECT x FROM numbers ORDER BY x").fetchnumpy()["x"]

    programs = {"xxl": by_xxl, "numpy": numpy.sort, "polars": lambda array: polars.Series(array).sort(),
                "duckdb": by_duckdb}
    times = {name: [] for name in programs}
    for _ in range(arguments.repeat):
        for name, sort in programs.items():
            copy = numbers.copy()
            start = time.monotonic()
            result = sort(copy)
            times[name].append(time.monotonic() - start)
            assert numpy.array_equal(numpy.asarray(result), expected), name
            del result, copy
            print(f"{name},{arguments.bytes},{times[name][-1]:.2f}", flush=True)
    for name, seconds in times.items():
        print(f"{name:8} {statistics.median(seconds):7.2f} s")


if __name__ == "__main__":
    main()
