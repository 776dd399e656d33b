"""Sorts and joins of Parquet files: pyarrow reads and writes them around a sort or join of tables.

Who takes memory when:

    reading   two batches that wait, or are being decoded (_ahead), and one that the sort takes
    writing   a row group being collected, and the one before, whose columns are encoded meanwhile

What a sort reads is sorted before anything is written, so both have the same part of the memory,
of which a join, that may read while it writes, gives a half to each. The rest is the sort's, which
is told that batches are in memory anyway.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import glob
import math
import os
import pathlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._arguments import (
    How,
    Method,
    OnProgress,
    Path,
    Size,
    check_callback,
    count,
    is_path,
    means,
    needed,
    path_list,
)
from ._atomic import atomic_file
from ._errors import Error, UsageError, make_error, naming
from ._files import PhaseReport, phases_of
from ._parquet_types import (
    StoredTypes,
    int96_unit,
    sorting_columns,
    stored_schema,
    stored_table,
    writer_options,
)
from ._tables import By, column_keys, join_columns

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

Inputs = Union[Path, Iterable[Path]]
Batches = Generator["pyarrow.RecordBatch", None, None]

_MIB = 1 << 20
_LEAST_FILE_BYTES = 16 * _MIB
_MOST_FILE_BYTES = 512 * _MIB
_BATCHES_AHEAD = 2
_BATCHES = 4  # that are in memory: ahead, being sorted, and what decoding takes
_GROUPS = 3  # in memory: being collected, being encoded, and what that takes
_LEAST_DICTIONARY_BYTES = 8 << 10
_PROBE_ROWS = 256
_LEAST_BATCH_ROWS = 64
_MOST_BATCH_ROWS = 1 << 16
_MOST_GROUP_ROWS = 1 << 20
_READ_BYTES = 256 << 10  # of a column at a time
_GROUPS_LOOKED_AT = 16  # of a file, for the sizes of their pages
_RELEASE_BYTES = 64 * _MIB  # that were decoded since the allocator was last told to give back


@dataclasses.dataclass(frozen=True)
class ParquetReport:
    """What a sort or join of Parquet files did."""

    rows: int  #: that were written
    rows_in: int  #: that were read
    row_groups: int  #: that were written
    bytes_written: int  #: of the output
    seconds: float
    scratch_bytes: int  #: most scratch space in use at once
    peak_memory_bytes: int  #: of the process, with all that Python has in memory
    phases: tuple[PhaseReport, ...]


def find_files(inputs: Inputs) -> list[str]:
    """The files that `inputs` stands for, in order of their names where it does not say one."""
    files: list[str] = []
    for item in path_list(inputs):
        path = os.fsdecode(item)
        if os.path.isdir(path):
            _core.check_parts([os.fsencode(path)])
            found = [
                file
                for file in sorted(pathlib.Path(path).rglob("*.parquet"))
                # As others do, which leave marks and half-written files in such folders.
                if not any(part[0] in "._" for part in file.relative_to(path).parts)
            ]
            files += map(str, found)
            if not found:
                raise UsageError(f"{path}: there are no files *.parquet in this folder")
        elif os.path.exists(path) or not glob.has_magic(path):
            files.append(path)
        else:
            found_names = sorted(glob.glob(path, recursive=True))
            if not found_names:
                raise UsageError(f"{path}: there are no such files")
            files += found_names
    if not files:
        raise UsageError("there are no inputs")
    return files


def _page_bytes(group: Any) -> int:
    """Of each column a page, compressed and not, of the size that writers aim at, and a buffer."""
    columns = map(group.column, range(group.num_columns))
    sizes = [(column.total_compressed_size, column.total_uncompressed_size) for column in columns]
    return sum(
        min(stored, _MIB) + min(decoded, _MIB) + min(stored, _READ_BYTES)
        for stored, decoded in sizes
    )


def _ahead(batches: Batches) -> Batches:
    """`batches`, of which a thread makes the next ones meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(1, "xxl reads Parquet") as thread:
        coming = collections.deque(
            thread.submit(next, batches, None) for _ in range(_BATCHES_AHEAD)
        )
        try:
            while (batch := coming.popleft().result()) is not None:
                coming.append(thread.submit(next, batches, None))
                yield batch
        finally:
            thread.submit(batches.close)


class _Source:
    """Parquet files as one table, which are read in batches of bounded size."""

    def __init__(self, inputs: Inputs, memory: int, traffic: _core.Traffic) -> None:
        self._pyarrow = needed("pyarrow", "reading Parquet files")
        self._parquet = needed("pyarrow.parquet", "reading Parquet files")
        self._batch_bytes = memory // _BATCHES
        self._traffic = traffic
        self._files = find_files(inputs)
        self.rows: int  # that all files have, by their footers
        self.page_bytes = 0  # of the pages and buffers of all columns of a row group
        self.rows_read = 0
        self.failure: Exception | None = None
        self._int96_unit = "ns"
        self.types = self._look_at_files()
        self._int96_unit = int96_unit(self.types.int96_files)
        if self._int96_unit != "ns":
            self.types = self._look_at_files()
        self.schema = self.types.sorted_schema()

    def _open(self, file: str) -> pyarrow.parquet.ParquetFile:
        # Columns are read piece by piece: not a row group at once, which may be larger than memory.
        return self._parquet.ParquetFile(  # type: ignore[no-any-return]
            file,
            pre_buffer=False,
            buffer_size=_READ_BYTES,
            coerce_int96_timestamp_unit=self._int96_unit,
        )

    def _look_at_files(self) -> StoredTypes:
        types = StoredTypes(self._int96_unit)
        self.rows = 0
        for file in self._files:
            with naming(file, "bad_input"), self._open(file) as parquet:
                self.rows += parquet.metadata.num_rows
                for group in range(min(parquet.num_row_groups, _GROUPS_LOOKED_AT)):
                    about = parquet.metadata.row_group(group)
                    self.page_bytes = max(self.page_bytes, _page_bytes(about))
                types.add(file, parquet)
        return types

    @contextlib.contextmanager
    def reader(self) -> Iterator[pyarrow.RecordBatchReader]:
        with contextlib.closing(self._kept()) as batches:
            yield self._pyarrow.RecordBatchReader.from_batches(self.schema, batches)

    def check_all_read(self) -> None:
        if self.rows_read != self.rows:
            message = f"{self.rows_read} rows were read, but the files have {self.rows}"
            raise make_error("corrupt", message)

    def _kept(self) -> Batches:
        """What is raised here comes to the sort as a text only, so it is kept."""
        try:
            for batch in _ahead(self._decoded()):
                self.rows_read += batch.num_rows
                yield batch
        except Exception as error:
            self.failure = error
            raise

    def _decoded(self) -> Batches:
        # Allocators keep what was freed, which adds up where several threads decode.
        pool = self._pyarrow.default_memory_pool()
        unreleased = 0
        for file in self._files:
            with naming(file, "bad_input"), self._open(file) as parquet:
                row_bytes = 0
                for group in range(parquet.num_row_groups):
                    about = parquet.metadata.row_group(group)
                    if about.num_rows == 0:
                        continue
                    if row_bytes == 0:
                        # The footer knows how long values are as they are encoded; the first rows
                        # are read to see how much that is in memory.
                        probe = next(parquet.iter_batches(_PROBE_ROWS, row_groups=[group]))
                        row_bytes = probe.cast(self.schema).nbytes // probe.num_rows + 1
                    row_bytes = max(row_bytes, about.total_byte_size // about.num_rows)
                    rows = min(self._batch_bytes // row_bytes, _MOST_BATCH_ROWS)
                    rows = max(_LEAST_BATCH_ROWS, rows)
                    for batch in parquet.iter_batches(rows, row_groups=[group]):
                        batch = batch.cast(self.schema)
                        row_bytes = max(row_bytes, batch.nbytes // batch.num_rows)
                        unreleased += batch.nbytes
                        yield batch
                        if unreleased >= _RELEASE_BYTES:
                            pool.release_unused()
                            unreleased = 0
            self._traffic.add_read(os.path.getsize(file))
        batch = None  # the last one
        pool.release_unused()


def _row_groups(
    stream: _core.Stream, most_rows: int, most_bytes: float
) -> Iterator[list[pyarrow.RecordBatch]]:
    """Batches that are a row group together."""
    record_batch = needed("pyarrow", "writing Parquet files").record_batch
    group, rows, size = [], 0, 0
    for batch in map(record_batch, stream):
        while batch.num_rows > 0:
            part, batch = batch.slice(0, most_rows - rows), batch.slice(most_rows - rows)
            group.append(part)
            rows += part.num_rows
            size += part.nbytes
            if rows == most_rows or size >= most_bytes:
                yield group
                group, rows, size = [], 0, 0
    if group:
        yield group


def _write(
    stream: _core.Stream,
    file: Any,
    path: str,
    keys: Sequence[tuple[str, bool, bool]],
    group_rows: int | None,
    memory: int,
    traffic: _core.Traffic,
    **options: Any,
) -> tuple[int, int]:
    """Writes all that `stream` gives to `file`, which is called `path` in errors; gives how many
    rows and row groups that were."""
    arrow = needed("pyarrow", "writing Parquet files")
    schema = stored_schema(arrow.schema(stream))
    # Who says how many rows there are to be in a group has them, whatever memory they take.
    most_bytes = memory // _GROUPS if group_rows is None else math.inf
    # Columns of ever new values fill a dictionary in vain, again in each row group: the smaller
    # these are, the sooner it is given up.
    dictionary = min(most_bytes, _MOST_FILE_BYTES) // max(256, 64 * len(schema))
    footer: list[Any] = []
    # What is refused are types and options that pyarrow cannot write.
    with naming(path, "usage"):
        writer = needed("pyarrow.parquet", "writing Parquet files").ParquetWriter(
            file,
            schema,
            sorting_columns=sorting_columns(schema, keys),
            write_page_index=True,
            dictionary_pagesize_limit=int(min(max(dictionary, _LEAST_DICTIONARY_BYTES), _MIB)),
            metadata_collector=footer,
            **options,
        )

    def encode(group: list[pyarrow.RecordBatch]) -> None:
        with naming(path, "usage"):
            table = stored_table(group, schema)
            group.clear()
            writer.write_table(table, row_group_size=table.num_rows)
            del table
            traffic.set_written(file.tell())
        arrow.default_memory_pool().release_unused()

    try:
        with concurrent.futures.ThreadPoolExecutor(1, "xxl writes Parquet") as thread:
            encoding = None
            for group in _row_groups(stream, group_rows or _MOST_GROUP_ROWS, most_bytes):
                if encoding is not None:
                    encoding.result()
                encoding = thread.submit(encode, group)
            if encoding is not None:
                encoding.result()
        with naming(path, "usage"):
            writer.close()
    except BaseException:
        # A file that nobody will see is closed now: else that is tried when it is not there.
        with contextlib.suppress(Exception):
            writer.close()
        writer.is_open = False
        raise
    traffic.set_written(file.tell())
    return footer[0].num_rows, footer[0].num_row_groups


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
    """Writes what `job` makes of tables, and of what any has.

    most_rows: all rows that were read come out, but for those after so many.
    """
    started = time.monotonic()
    if not is_path(output):
        raise TypeError("output is a path")
    path = os.fsdecode(output)
    group_rows = count(row_group_rows, "row_group_rows")
    check_callback(progress)
    for_files = min(max(used.memory // 4, _LEAST_FILE_BYTES), _MOST_FILE_BYTES, used.memory // 2)
    share = for_files // len(sides)
    traffic = _core.Traffic()
    sources = [_Source(inputs, share, traffic) for inputs in sides]
    rows_in = sum(source.rows for source in sources)
    options = writer_options(set().union(*(source.types.kinds for source in sources)))
    rest = used.memory - for_files - max(source.page_bytes for source in sources)
    used = used.with_memory(max(rest, used.memory // 4))
    with contextlib.ExitStack() as reading:
        tables = [(reading.enter_context(source.reader()), True, source.rows) for source in sources]
        try:
            stream = job(*tables, batch_rows=None, traffic=traffic, means=used, progress=progress)
            with stream, atomic_file(path) as file:
                rows, row_groups = _write(
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
    """Sorts files of Parquet, however large, into one. Needs pyarrow.

    The output appears at once and complete, with metadata that say how it is sorted; a file of that
    name survives any failure, and may be one of the inputs.

    inputs: a path, a list, a folder (all \\*.parquet in it) or a pattern such as
        "hits/\\*.parquet": files of the same columns.
    by, scratch, threads, limit, unique, progress: as of xxl.sort.
    memory: as of xxl.sort. A quarter of it, from 16 MiB to 512 MiB, is for reading and writing.
        What pyarrow has loaded and its allocator keeps comes on top: some 150 MiB, more where
        there are a hundred columns, less with ARROW_DEFAULT_MEMORY_POOL=system.
    compression: of the output, as of pyarrow: "zstd", "snappy", "lz4", "gzip", "brotli", None; or
        by column.
    row_group_rows: rows of a row group, which is held in memory; without it as many as fit in a
        third of what is for writing, at most 1,048,576.

    Raises xxl.Error, which names the file that cannot be read or written.

    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"user": ["b", "a"], "time": [1, 2]}), "hits.parquet")
    >>> xxl.sort_parquet("hits.parquet", "sorted.parquet", "user", memory="128M").rows
    2
    >>> pq.read_table("sorted.parquet").to_pydict()
    {'user': ['a', 'b'], 'time': [2, 1]}
    """
    most = count(limit, "limit", 0)
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
    """Joins files of Parquet, however large, into one. Needs pyarrow.

    left, right: as `inputs` of xxl.sort_parquet; as are output, memory, compression and
        row_group_rows.
    on, left_on, right_on, how, method, suffix: as of xxl.join.
    scratch, threads, progress: as of xxl.sort.

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
