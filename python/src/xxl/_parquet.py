"""Sorts and joins of Parquet files. pyarrow reads and writes them around a sort or join of tables.

A sort reads everything before it writes, so reading and writing use the same part of the memory. A
join may read while it writes, and gives half of that part to each. The sort uses the rest, and does
not count the batches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Union

from . import _core
from ._arguments import (
    How,
    Method,
    OnProgress,
    Path,
    Size,
    check_callback,
    counted,
    is_path,
    means,
    needed,
)
from ._atomic import atomic_file
from ._errors import Error, make_error
from ._files import PhaseReport, phases_of
from ._tables import By, column_keys, join_columns

Inputs = Union[Path, Iterable[Path]]

_LEAST_FILE_BYTES = 16 << 20
_MOST_FILE_BYTES = 512 << 20


@dataclasses.dataclass(frozen=True)
class ParquetReport:
    """Report of a sort or join of Parquet files."""

    rows: int  #: number of rows written
    rows_in: int  #: number of rows read
    row_groups: int  #: number of row groups written
    bytes_written: int  #: size of the output
    seconds: float
    scratch_bytes: int  #: most scratch space in use at once
    peak_memory_bytes: int  #: memory of the whole process, including Python
    phases: tuple[PhaseReport, ...]


def _run(
    job: Callable[..., _core.Stream],
    sides: Sequence[Inputs],
    output: Path,
    keys: Sequence[tuple[str, bool, bool]],
    used: _core.Means,
    compression: str | dict[str, str] | None,
    row_group_rows: int | None,
    progress: OnProgress | None,
    most_rows: float | None = None,
) -> ParquetReport:
    """Write the stream that `job` makes of the tables of `sides` and of the other arguments.

    most_rows: the result has all input rows, at most this many. None: it may have fewer.
    """
    started = time.monotonic()
    needed("pyarrow", "reading Parquet files")
    from . import _parquet_files as files

    if not is_path(output):
        raise TypeError("output is a path")
    path = os.fsdecode(output)
    group_rows = counted(row_group_rows, "row_group_rows")
    check_callback(progress)
    for_files = min(max(used.memory // 4, _LEAST_FILE_BYTES), _MOST_FILE_BYTES, used.memory // 2)
    share = for_files // len(sides)
    traffic = _core.Traffic()
    sources = [files.StoredTable(inputs, share, traffic) for inputs in sides]
    rows_in = sum(source.rows for source in sources)
    options = files.writer_options(set().union(*(source.types.kinds for source in sources)))
    rest = used.memory - for_files - max(source.page_bytes for source in sources)
    used = used.with_memory(max(rest, used.memory // 4))
    with contextlib.ExitStack() as reading:
        tables = [(reading.enter_context(source.reader()), True, source.rows) for source in sources]
        try:
            stream = job(*tables, batch_rows=None, traffic=traffic, means=used, progress=progress)
            with stream, atomic_file(path) as file:
                rows, row_groups = files.write(
                    stream, file, path, keys, group_rows, share, traffic,
                    compression=compression or "none", **options,
                )
                for source in sources:
                    source.check_all_read()
                if most_rows is not None and rows != min(rows_in, most_rows):
                    message = f"{min(rows_in, most_rows)} rows were sorted, but {rows} came out"
                    raise make_error("corrupt", message)
                size = file.tell()
        except Error:
            for source in sources:
                if source.failure is not None:
                    raise source.failure from None
            raise
    measured = stream._measured()
    return ParquetReport(
        rows=rows,
        rows_in=rows_in,
        row_groups=row_groups,
        bytes_written=size,
        seconds=time.monotonic() - started,
        scratch_bytes=measured["scratch_bytes"],
        peak_memory_bytes=measured["peak_memory_bytes"],
        phases=phases_of(measured),
    )


def sort_parquet(
    inputs: Inputs,
    output: Path,
    by: By,
    *,
    memory: Size | None = None,
    scratch: Path | Iterable[Path] | None = None,
    threads: int | None = None,
    limit: int | None = None,
    unique: bool = False,
    compression: str | dict[str, str] | None = "zstd",
    row_group_rows: int | None = None,
    progress: OnProgress | None = None,
) -> ParquetReport:
    """Sort Parquet files into one. Needs pyarrow.

    Files may be larger than memory. The output appears complete or not at all, with metadata that
    say how it is sorted. An existing file survives any failure, and may be one of the inputs.

    inputs: a path, a list, a folder (all \\*.parquet in it) or a pattern such as
        "hits/\\*.parquet". All files must have the same columns.
    by, scratch, threads, limit, unique, progress: see xxl.sort.
    memory: see xxl.sort. A quarter of it, from 16 MiB to 512 MiB, is used for reading and writing.
        pyarrow needs about 150 MiB more, and more than that for a hundred columns.
        ARROW_DEFAULT_MEMORY_POOL=system reduces it.
    compression: "zstd", "snappy", "lz4", "gzip", "brotli" or None, or a dict by column, as in
        pyarrow.
    row_group_rows: rows of a row group, which is held in memory. Default: as many as fit in a third
        of the memory for writing, at most 1,048,576.

    Raises xxl.Error, which names the file that cannot be read or written.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"user": ["b", "a"], "time": [1, 2]}), "hits.parquet")
    >>> xxl.sort_parquet("hits.parquet", "sorted.parquet", "user", memory="128M").rows
    2
    >>> pq.read_table("sorted.parquet").to_pydict()
    {'user': ['a', 'b'], 'time': [2, 1]}
    """
    most = counted(limit, "limit", 0)
    keys = column_keys(by)
    job = functools.partial(_core.sort_columns, by=keys, limit=most, unique=bool(unique))
    return _run(
        job,
        [inputs],
        output,
        keys,
        means(memory, scratch, threads),
        compression,
        row_group_rows,
        progress,
        most_rows=None if unique else math.inf if most is None else most,
    )


def join_parquet(
    left: Inputs,
    right: Inputs,
    output: Path,
    *,
    on: str | Sequence[str] | None = None,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: How = "inner",
    method: Method = "auto",
    suffix: str = "_right",
    memory: Size | None = None,
    scratch: Path | Iterable[Path] | None = None,
    threads: int | None = None,
    compression: str | dict[str, str] | None = "zstd",
    row_group_rows: int | None = None,
    progress: OnProgress | None = None,
) -> ParquetReport:
    """Join Parquet files into one. Needs pyarrow.

    left, right: see `inputs` of xxl.sort_parquet.
    output, memory, compression, row_group_rows: see xxl.sort_parquet.
    on, left_on, right_on, how, method, suffix: see xxl.join.
    scratch, threads, progress: see xxl.sort.

    Raises xxl.Error, which names the file that cannot be read or written.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"id": [1, 2], "name": ["ann", "bob"]}), "users.parquet")
    >>> pq.write_table(pa.table({"id": [2, 2], "price": [5, 7]}), "orders.parquet")
    >>> xxl.join_parquet("users.parquet", "orders.parquet", "both.parquet", on="id").rows
    2
    >>> pq.read_table("both.parquet").to_pydict()
    {'id': [2, 2], 'name': ['bob', 'bob'], 'price': [5, 7]}
    """
    left_names, right_names = join_columns(on, left_on, right_on)
    job = functools.partial(
        _core.join_columns,
        left_on=left_names,
        right_on=right_names,
        how=how,
        method=method,
        suffix=suffix,
    )
    used = means(memory, scratch, threads)
    return _run(job, [left, right], output, [], used, compression, row_group_rows, progress)
