#!/usr/bin/env python3
"""Joins of files of binary records on a machine with GPUs: by the GPUs, by the CPU, by hash.

    bench/gpu_join_files.py --build build-gpu --dir DIR [--gib 8] [--repeat 2]

Workload B: R and S of kv64, --gib GiB each; A: kv32, S of 10/8 of that, R a tenth of S. Keys of R
are unique, each record of S has one of them. Caches are dropped before each run where that is
allowed. The number of rows must be what join_workload says, and all programs must agree on the
checksum of the rows. join_bound reads both inputs and writes as many bytes as the rows have, and
nothing else. Rows go to bench/results/gpu-join-files.csv.
"""

import argparse
import csv
import pathlib
import subprocess

from run import REPOSITORY, drop_caches, last_json

WORKLOADS = {"B": ("kv64", 16, 24), "A": ("kv32", 8, 12)}  # record, its bytes, those of a row
RUNS = {
    "gpu": ["-S", "4G", "--device=gpu"],
    "gpu, -S 1G": ["-S", "1G", "--device=gpu"],
    "gpu, 6 GiB of it": ["-S", "4G", "--device=gpu", "--gpu-memory=6G"],
    "cpu": ["-S", "4G", "--device=cpu", "--method=sort-merge"],
    "cpu, in memory": ["-S", "60G", "--device=cpu", "--method=sort-merge"],
    "cpu, hash": ["-S", "40G", "--device=cpu", "--method=hash"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build-gpu")
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench" / "results")
    arguments = parser.parse_args()
    r, s, out = (arguments.dir / name for name in ("r", "s", "out"))
    with open(arguments.results / "gpu-join-files.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["workload", "program", "seconds", "rows", "checksum", "peak_memory_bytes",
                         "scratch_bytes", "phases", "ok"])
        for workload, (record, record_bytes, row_bytes) in WORKLOADS.items():
            records = int(arguments.gib * 2**30) // 16
            counts = (records, records) if workload == "B" else (records // 4, records // 4 * 10)
            made = last_json(subprocess.run(
                [arguments.build / "bench/join_workload", f"--record={record}", f"--r={counts[0]}",
                 f"--s={counts[1]}", r, s], check=True, capture_output=True, text=True).stdout)
            checksums = set()
            for name, options in RUNS.items():
                for _ in range(arguments.repeat):
                    out.unlink(missing_ok=True)
                    drop_caches()
                    done = last_json(subprocess.run(
                        [arguments.build / "bin/xxl", "join", f"--record={record}", *options, "-T",
                         arguments.dir, "--stats=json", r, s, f"--output={out}"],
                        check=True, capture_output=True, text=True).stderr)
                    checksums.add(done["checksum"])
                    ok = done["rows"] == made["rows"] and len(checksums) == 1
                    phases = "; ".join(f"{p['name']} {p['seconds']:.2f}" for p in done["phases"])
                    writer.writerow([workload, name, f"{done['seconds']:.2f}", done["rows"],
                                     done["checksum"], done["peak_memory_bytes"],
                                     done["scratch_bytes"], phases, int(ok)])
                    file.flush()
                    print(workload, name, f"{done['seconds']:.2f} s", "ok" if ok else "WRONG")
            out.unlink(missing_ok=True)
            drop_caches()
            bound = last_json(subprocess.run(
                [arguments.build / "bench/join_bound", str(made["rows"] * row_bytes), out, r, s],
                check=True, capture_output=True, text=True).stdout)
            writer.writerow([workload, "bound", f"{bound['seconds']:.2f}", "", "", "", "", "", 1])
            print(workload, "bound", f"{bound['seconds']:.2f} s")
            for path in (r, s, out):
                path.unlink()


if __name__ == "__main__":
    main()
