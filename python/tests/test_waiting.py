"""What happens while a call runs long: Ctrl-C, other threads, memory."""

import pytest

pytest.importorskip("pyarrow")

# Raises SIGINT some time after the start, or after a phase was told of; says what was raised.
INTERRUPT = """
import os, signal, sys, threading, time
import pyarrow as pa, xxl

def readers():
    return sum(thread.name.startswith("xxl") for thread in threading.enumerate())

def interrupt(run, after):
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, after, 5)  # again, where Python ignored it (during an import)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        run()
    except KeyboardInterrupt:
        print("interrupted", readers())
    else:
        print("not interrupted after", time.monotonic() - start)
    signal.setitimer(signal.ITIMER_REAL, 0)

def interrupt_in(phase, run):
    def progress(name, done, total):
        if name == phase:
            signal.setitimer(signal.ITIMER_REAL, 0.001, 5)
    interrupt(lambda: run(progress), 0)

def endless():
    batch = pa.record_batch({"a": pa.array(range(10000, 0, -1))})
    def batches():
        while True:
            yield batch
    return pa.RecordBatchReader.from_batches(batch.schema, batches())
"""


def assert_interrupted(done, times=1):
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted 0"] * times, done.stdout + done.stderr


def test_ctrl_c_ends_a_sort_that_reads(run_python):
    assert_interrupted(run_python(INTERRUPT + """
interrupt(lambda: xxl.sort(endless(), "a", memory="64M", limit=10), 0.3)
"""))


def test_ctrl_c_ends_a_join_that_reads(run_python):
    assert_interrupted(run_python(INTERRUPT + """
interrupt(lambda: xxl.join(pa.table({"a": [1]}), endless(), on="a", how="semi", memory="64M"), 0.3)
"""))


def test_ctrl_c_ends_a_stream_that_is_read(run_python):
    assert_interrupted(run_python(INTERRUPT + """
def table():
    return pa.table({"a": pa.array(range(1_000_000, 0, -1))})

def read_again_and_again():
    while True:
        for batch in xxl.sort(table(), "a", memory="64M"):
            pass

interrupt(read_again_and_again, 0.5)
"""))


def test_ctrl_c_ends_a_sort_of_files_and_the_output_is_what_it_was(run_python, tmp_path):
    (tmp_path / "out").write_text("old")
    assert_interrupted(run_python(INTERRUPT + """
with open("in", "wb") as file:
    for _ in range(64):
        file.write(os.urandom(1 << 20) * 8)
for phase in ("forming runs", "merging"):
    interrupt_in(phase, lambda progress: xxl.sort_file(
        "in", "out", format="u64", memory="64M", scratch=".", progress=progress))
"""), 2)
    assert (tmp_path / "out").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_ctrl_c_ends_a_sort_of_parquet_and_the_output_is_what_it_was(run_python, tmp_path):
    (tmp_path / "out").write_text("old")
    assert_interrupted(run_python(INTERRUPT + """
import numpy as np, pyarrow.parquet as pq
table = pa.table({"a": np.random.default_rng(1).integers(0, 1 << 60, 8_000_000)})
pq.write_table(table, "in", compression="none", use_dictionary=False)
del table
for phase in ("forming runs", "merging"):
    interrupt_in(phase, lambda progress: xxl.sort_parquet(
        "in", "out", "a", memory="128M", scratch=".", progress=progress))
"""), 2)
    assert (tmp_path / "out").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_ctrl_c_ends_another_library_that_reads(run_python):
    # That knows nothing of signals: it sees an error, and then Python raises what there was.
    done = run_python(INTERRUPT + """
stream = xxl.sort(pa.table({"a": pa.array(range(3_000_000))}), "a", memory="256M", batch_rows=50)

def read():
    try:
        pa.table(stream)
    except KeyboardInterrupt as error:
        assert "interrupted by KeyboardInterrupt" in str(error.__context__)
        raise
    except OSError as error:
        assert "interrupted by KeyboardInterrupt" in str(error)
        for _ in range(1000):
            pass

interrupt(read, 0.2)
""")
    assert_interrupted(done)


def test_sorts_run_at_the_same_time(run_python):
    done = run_python("""
import threading
import numpy as np, pyarrow as pa, xxl
results = [None] * 4
def sort(i):
    table = pa.table({"a": np.random.default_rng(i).integers(0, 1 << 60, 300_000)})
    values = xxl.sort(table, "a", memory="64M").read_all()["a"].to_numpy()
    results[i] = bool((np.diff(values) >= 0).all()) and len(values)
threads = [threading.Thread(target=sort, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
""")
    assert done.stdout == "[300000, 300000, 300000, 300000]\n", done.stderr


def test_what_another_handler_raises_is_raised(run_python):
    done = run_python(INTERRUPT + """
class Enough(Exception): pass
def handler(*_): raise Enough
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2, 5)  # again, where Python ignored it (during an import)
try:
    xxl.sort(endless(), "a", memory="64M", limit=3)
except Enough:
    print("enough", readers())
""")
    assert done.stdout == "enough 0\n", done.stderr


def test_other_threads_run_while_a_sort_does(run_python):
    done = run_python("""
import threading, xxl, numpy as np, pyarrow as pa

def steps_during(run):
    steps, ended = 0, threading.Event()
    def count():
        nonlocal steps
        while not ended.wait(0.001):
            steps += 1
    thread = threading.Thread(target=count)
    thread.start()
    run()
    ended.set()
    thread.join()
    return steps

np.random.default_rng(1).integers(0, 1 << 60, 8_000_000).tofile("in")
array = np.fromfile("in", "u8")
print(steps_during(lambda: xxl.sort_file("in", "out", format="u64", memory="64M", scratch=".")))
table = pa.table({"a": array[:2_000_000]})
print(steps_during(lambda: list(xxl.sort(table, "a", memory="256M"))))
print(steps_during(lambda: list(xxl.join(table, table, on="a", memory="256M"))))
print(steps_during(lambda: xxl.sort_array(array)))
print(steps_during(lambda: xxl.join_arrays(array, array)))
""")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 5
    assert all(int(steps) >= 5 for steps in done.stdout.split()), done.stdout


# What the process takes before, and at most; in MiB.
MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa, xxl

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def reader(rows, batch_rows=20_000):
    def batches():
        rng = np.random.default_rng(1)
        for first in range(0, rows, batch_rows):
            yield pa.record_batch({
                "key": rng.integers(0, 1 << 60, batch_rows),
                "row": np.arange(first, first + batch_rows),
                "text": pa.array([f"a text of some length, {i}" for i in range(batch_rows)]),
            })
    schema = next(batches()).schema
    return pa.RecordBatchReader.from_batches(schema, batches())

xxl.sort(reader(20_000), "key", memory="64M").read_all()
before = peak()
"""
CONSTANT_MIB = 48


def test_a_sort_of_a_stream_keeps_to_its_memory(run_python):
    done = run_python(MEMORY + """
rows, last = 0, -1
for batch in xxl.sort(reader(8_000_000), "key", memory="96M", scratch="."):  # 370 MB
    keys = pa.record_batch(batch)["key"].to_numpy()
    assert keys[0] >= last and (np.diff(keys) >= 0).all()
    last = keys[-1]
    rows += len(keys)
assert rows == 8_000_000
print(peak() - before)
""")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 96 + CONSTANT_MIB


def test_a_sort_of_parquet_keeps_to_its_memory(run_python):
    done = run_python(MEMORY + """
import pyarrow.parquet as pq
with pq.ParquetWriter("in", reader(1).schema) as writer:
    for _ in range(4):  # 440 MB, in row groups as large as the memory
        writer.write_table(reader(2_400_000).read_all())
""")
    assert done.returncode == 0, done.stderr
    done = run_python(MEMORY + """
import pyarrow.parquet as pq
xxl.sort_parquet("in", "warm", "key", limit=10, memory="128M", scratch=".")
before = peak()
report = xxl.sort_parquet("in", "out", "key", memory="128M", scratch=".")
assert report.rows == 9_600_000
print(peak() - before)
""")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 128 + CONSTANT_MIB
