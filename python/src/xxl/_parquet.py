"""Sorts and joins of Parquet files.

Who takes memory when:

    reading   a batch being decoded, two that wait (_Ahead), one that the sort takes
    writing   a row group being collected, and the one before, whose columns are encoded meanwhile

What a sort reads is sorted before anything is written, so both have the same part of the memory
(_memory_of_files), of which a join, that may read while it writes, gives a half to each. The rest is
the sort's, which is told that batches are in memory anyway.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import glob
import os
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from ._atomic import AtomicFile
from ._dictionaries import decoded_columns, decoded_schema, stored_schema, stored_table
from ._errors import Error, UsageError, make_error, naming
from ._files import PhaseReport
from ._parquet_types import (
    Int96Unit,
    StoredTypes,
    check_directories,
    is_ordered,
    leaf_numbers,
    without_notes,
    writer_options,
)
from ._tables import By, column_keys, join_columns

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

Inputs = Union[Path, Iterable[Path]]

_MIB = 1 << 20
_LEAST_FILE_BYTES = 16 * _MIB
_MOST_FILE_BYTES = 512 * _MIB
_BATCHES_AHEAD = 2
_BATCHES = 4  # that are in memory: ahead, being decoded, being sorted
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


def _memory_of_files(memory: int) -> int:
    """What reading and writing may take of all memory."""
    return min(max(memory // 4, _LEAST_FILE_BYTES), _MOST_FILE_BYTES, memory // 2)


def _dictionary_bytes(group: int, columns: int) -> int:
    """Columns of ever new values fill a dictionary in vain, again in each row group: the smaller
    these are, the sooner it is given up."""
    most = min(group // 256, group // 64 // max(columns, 1))
    return min(max(most, _LEAST_DICTIONARY_BYTES), _MIB)


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
    total = 0
    for number in range(group.num_columns):
        column = group.column(number)
        stored = max(column.total_compressed_size, 0)
        total += min(stored, _MIB) + min(max(column.total_uncompressed_size, 0), _MIB)
        total += min(stored, _READ_BYTES)
    return total


def _stored_bytes(group: Any) -> int:
    return sum(
        max(group.column(number).total_compressed_size, 0) for number in range(group.num_columns)
    )


class _Ahead:
    """Iterates over what `make` gives, which runs on a thread of its own, a little ahead."""

    def __init__(self, make: Callable[[], Iterator[Any]]) -> None:
        self._make = make
        self._queue: queue.Queue[tuple[bool, Any]] = queue.Queue(_BATCHES_AHEAD)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="xxl reads Parquet", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Any]:
        while True:
            more, item = self._queue.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item

    def close(self) -> None:
        """Ends the thread. Nobody may be iterating."""
        self._stop.set()
        with contextlib.suppress(queue.Empty):
            while True:  # it may be waiting for room
                self._queue.get_nowait()
        self._thread.join()

    def _run(self) -> None:
        try:
            for item in self._make():
                self._queue.put((True, item))
                if self._stop.is_set():
                    return
            self._queue.put((False, None))
        except BaseException as error:
            self._queue.put((False, error))


class _Source:
    """Parquet files as one table, which are read in batches of bounded size."""

    def __init__(self, inputs: Inputs, memory: int, traffic: _core.Traffic) -> None:
        self._parquet = needed("pyarrow.parquet", "reading Parquet files")
        self._pyarrow = needed("pyarrow", "reading Parquet files")
        self._batch_bytes = memory // _BATCHES
        self._traffic = traffic
        self._files = find_files(inputs)
        self.rows: int  # that all files have, by their footers
        self.stored: StoredTypes
        self.page_bytes = 0  # of the pages and buffers of all columns of a row group
        self.rows_read = 0
        self.failure: BaseException | None = None
        self._ahead: _Ahead | None = None
        self._int96_unit = "ns"
        self.schema = self._common_schema()

    def _open(self, file: str) -> pyarrow.parquet.ParquetFile:
        # Columns are read piece by piece: not a row group at once, which may be larger than memory.
        return self._parquet.ParquetFile(  # type: ignore[no-any-return]
            file,
            pre_buffer=False,
            buffer_size=_READ_BYTES,
            coerce_int96_timestamp_unit=self._int96_unit,
        )

    def _common_schema(self) -> pyarrow.Schema:
        first: Any = None
        int96 = Int96Unit()
        self.rows = 0
        self.stored = StoredTypes()
        for file in self._files:
            with naming(file, "bad_input"), self._open(file) as parquet:
                schema = parquet.schema_arrow
                check_directories(file, schema.names)
                self.rows += parquet.metadata.num_rows
                for group in range(min(parquet.num_row_groups, _GROUPS_LOOKED_AT)):
                    about = parquet.metadata.row_group(group)
                    self.page_bytes = max(self.page_bytes, _page_bytes(about))
                if first is None or (schema.names, schema.types) == (first.names, first.types):
                    self.stored.add(file, parquet, self._int96_unit)
                if self._int96_unit == "ns":
                    int96.look_at(file, parquet)
            if first is None:
                first = schema
                continue
            if schema.names != first.names or schema.types != first.types:
                raise UsageError(
                    f"{file}: its columns are not those of {self._files[0]}: "
                    f"{_difference(first, schema)}"
                )
            # A column has nulls if it does so in any file.
            first = self._pyarrow.schema(
                [a.with_nullable(a.nullable or b.nullable) for a, b in zip(first, schema)],
                metadata=first.metadata,
            )
        if int96.unit() != "ns":
            self._int96_unit = int96.unit()
            return self._common_schema()
        return decoded_schema(self.stored.noted(first))

    def reader(self) -> pyarrow.RecordBatchReader:
        self._ahead = _Ahead(self._batches)
        return self._pyarrow.RecordBatchReader.from_batches(  # type: ignore[no-any-return]
            self.schema, self._kept()
        )

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.close()

    def _kept(self) -> Iterator[pyarrow.RecordBatch]:
        """What is raised here comes to the sort as a text only, so it is kept."""
        assert self._ahead is not None
        try:
            for batch in self._ahead:
                self.rows_read += batch.num_rows
                yield batch
        except Exception as error:
            self.failure = error
            raise

    def _plain(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        return self._pyarrow.RecordBatch.from_arrays(
            decoded_columns(batch, self.schema), schema=self.schema
        )

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
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
                        probe = self._plain(
                            next(parquet.iter_batches(_PROBE_ROWS, row_groups=[group]))
                        )
                        row_bytes = probe.nbytes // probe.num_rows + 1
                    row_bytes = max(row_bytes, about.total_byte_size // about.num_rows)
                    rows = self._batch_bytes // row_bytes
                    rows = max(_LEAST_BATCH_ROWS, min(rows, _MOST_BATCH_ROWS))
                    batch: Any
                    for batch in map(self._plain, parquet.iter_batches(rows, row_groups=[group])):
                        row_bytes = max(row_bytes, batch.nbytes // batch.num_rows)
                        yield batch
                        unreleased += batch.nbytes
                        if unreleased >= _RELEASE_BYTES:
                            pool.release_unused()
                            unreleased = 0
                    self._traffic.add_read(_stored_bytes(about))
        batch = None
        pool.release_unused()


def _difference(a: pyarrow.Schema, b: pyarrow.Schema) -> str:
    for left, right in zip(a, b):
        if left.name != right.name:
            return f"{right.name!r} is where {left.name!r} should be"
        if left.type != right.type:
            return f"{left.name!r} is {right.type}, not {left.type}"
    return f"there are {len(b)}, not {len(a)}"


class _Writer:
    """A Parquet file that is written in row groups of bounded size."""

    def __init__(
        self,
        file: Any,
        schema: pyarrow.Schema,
        compression: str | dict[str, str] | None,
        keys: Sequence[tuple[str, bool, bool]],
        group_rows: int | None,
        memory: int,
        options: dict[str, bool],
        traffic: _core.Traffic,
    ) -> None:
        self._pyarrow = needed("pyarrow", "writing Parquet files")
        self._parquet = needed("pyarrow.parquet", "writing Parquet files")
        self._file = file
        self._traffic = traffic
        self._written_bytes = 0
        self._decoded = schema
        self._schema = stored_schema(schema)
        self._group_rows = group_rows or _MOST_GROUP_ROWS
        # Who says how many rows there are to be in a group has them, whatever memory they take.
        self._group_bytes = memory // _GROUPS if group_rows is None else None
        self._batches: list[pyarrow.RecordBatch] = []
        self._collected_rows = 0
        self._collected_bytes = 0
        self.rows = 0
        self.row_groups = 0
        self._encoder = concurrent.futures.ThreadPoolExecutor(1, "xxl writes Parquet")
        self._encoding: concurrent.futures.Future[None] | None = None
        self._writer = self._parquet.ParquetWriter(
            file,
            self._schema,
            compression=compression or "none",
            sorting_columns=self._sorting_columns(keys) or None,
            write_page_index=True,
            dictionary_pagesize_limit=_dictionary_bytes(
                _MOST_FILE_BYTES if self._group_bytes is None else self._group_bytes, len(schema)
            ),
            **options,
        )

    def _sorting_columns(self, keys: Sequence[tuple[str, bool, bool]]) -> list[Any]:
        """Keys as a footer has them."""
        columns: list[Any] = []
        places = leaf_numbers(self._schema) if keys else {}
        for name, descending, nulls_first in keys:
            # To others the order is that of values.
            if is_ordered(self._schema.field(name)):
                break
            columns.append(self._parquet.SortingColumn(places[name], descending, nulls_first))
        return columns

    def write(self, batch: pyarrow.RecordBatch) -> None:
        while batch.num_rows > 0:
            room = self._group_rows - self._collected_rows
            part, batch = batch.slice(0, room), batch.slice(room)
            self._batches.append(part)
            self._collected_rows += part.num_rows
            self._collected_bytes += part.nbytes
            if self._collected_rows == self._group_rows or (
                self._group_bytes is not None and self._collected_bytes >= self._group_bytes
            ):
                self._write_group()

    def _write_group(self) -> None:
        self._wait()
        if not self._batches:
            return
        table = self._pyarrow.Table.from_batches(self._batches, self._decoded)
        self._batches = []
        self.rows += self._collected_rows
        self.row_groups += 1
        self._collected_rows = self._collected_bytes = 0
        self._encoding = self._encoder.submit(self._encode, [table])

    def _encode(self, tables: list[pyarrow.Table]) -> None:
        table = stored_table(tables.pop(), self._schema)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        del table
        self._count_written()
        self._pyarrow.default_memory_pool().release_unused()

    def _count_written(self) -> None:
        written = self._file.tell()
        self._traffic.add_written(written - self._written_bytes)
        self._written_bytes = written

    def _wait(self) -> None:
        if self._encoding is not None:
            self._encoding.result()
            self._encoding = None

    def close(self) -> None:
        self._write_group()
        self._wait()
        self._encoder.shutdown()
        self._writer.close()
        self._count_written()

    def abandon(self) -> None:
        """Closes a file that nobody will see; else that is tried when it is no longer there."""
        self._batches = []
        self._encoder.shutdown()
        with contextlib.suppress(Exception):
            self._writer.close()
        self._writer.is_open = False


def _output_path(output: Path) -> str:
    if not is_path(output):
        raise TypeError("output is a path")
    return os.fsdecode(output)


def _write(
    stream: _core.Stream,
    output: str,
    compression: str | dict[str, str] | None,
    keys: Sequence[tuple[str, bool, bool]],
    group_rows: int | None,
    memory: int,
    options: dict[str, bool],
    traffic: _core.Traffic,
    started: float,
    check: Callable[[int], int],
) -> ParquetReport:
    """Writes what a job gives; `check` is told how many rows that were, and says how many came."""
    pyarrow = needed("pyarrow", "writing Parquet files")
    with stream, AtomicFile(output) as file:
        schema = without_notes(pyarrow.schema(stream))
        # What it refuses are types and options that it cannot write.
        with naming(output, "usage"):
            writer = _Writer(
                file, schema, compression, keys, group_rows, memory, options, traffic
            )
        try:
            for batch in stream:
                with naming(output, "usage"):
                    writer.write(pyarrow.record_batch(batch))
            with naming(output, "usage"):
                writer.close()
        except BaseException:
            writer.abandon()
            raise
        rows_in = check(writer.rows)
        with naming(output):
            file.flush()
            size = os.fstat(file.fileno()).st_size
    measured = stream._measured()
    return ParquetReport(
        rows=writer.rows,
        rows_in=rows_in,
        row_groups=writer.row_groups,
        bytes_written=size,
        seconds=time.monotonic() - started,
        scratch_bytes=measured["scratch_bytes"],
        peak_memory_bytes=measured["peak_memory_bytes"],
        phases=tuple(PhaseReport(**phase) for phase in measured["phases"]),
    )


def _run(sources: Sequence[_Source], job: Callable[[], ParquetReport]) -> ParquetReport:
    """Runs `job`, which reads the sources, and raises what was raised by these themselves."""
    try:
        return job()
    except Error:
        for source in sources:
            if source.failure is not None:
                raise source.failure from None
        raise
    finally:
        for source in sources:
            source.close()


def _rest(memory: int, for_files: int, sources: Sequence[_Source]) -> int:
    """What is left of all memory to sort with."""
    pages = max(source.page_bytes for source in sources)
    return max(memory - for_files - pages, memory // 4)


def _check_all_read(source: _Source) -> None:
    if source.rows_read != source.rows:
        message = f"{source.rows_read} rows were read, but the files have {source.rows}"
        raise make_error("corrupt", message, None, None, None)


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
    started = time.monotonic()
    path = _output_path(output)
    keys = column_keys(by)
    group_rows = count(row_group_rows, "row_group_rows")
    check_callback(progress)
    used = means(memory, scratch, threads)
    for_files = _memory_of_files(used.memory)
    traffic = _core.Traffic()
    source = _Source(inputs, for_files, traffic)
    options = writer_options([source.stored])
    used = means(_rest(used.memory, for_files, [source]), scratch, threads)
    most = count(limit, "limit", 0)

    def check(rows: int) -> int:
        _check_all_read(source)
        wanted = source.rows if most is None else min(source.rows, most)
        if rows > wanted or (rows < wanted and not unique):
            message = f"{wanted} rows were sorted, but {rows} came out"
            raise make_error("corrupt", message, None, None, None)
        return source.rows

    def job() -> ParquetReport:
        stream = _core.sort_columns(
            source.reader(),
            in_memory=True,
            by=keys,
            limit=most,
            unique=bool(unique),
            batch_rows=None,
            expected_rows=source.rows,
            traffic=traffic,
            means=used,
            progress=progress,
        )
        return _write(
            stream, path, compression, keys, group_rows, for_files, options, traffic, started, check
        )

    return _run([source], job)


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
    started = time.monotonic()
    path = _output_path(output)
    left_names, right_names = join_columns(on, left_on, right_on)
    group_rows = count(row_group_rows, "row_group_rows")
    check_callback(progress)
    used = means(memory, scratch, threads)
    for_files = _memory_of_files(used.memory)
    traffic = _core.Traffic()
    sources = [_Source(inputs, for_files // 2, traffic) for inputs in (left, right)]
    options = writer_options([source.stored for source in sources])
    used = means(_rest(used.memory, for_files, sources), scratch, threads)
    for_files //= 2  # reading, and writing: at the same time

    def check(_: int) -> int:
        for source in sources:
            _check_all_read(source)
        return sources[0].rows + sources[1].rows

    def job() -> ParquetReport:
        stream = _core.join_columns(
            sources[0].reader(),
            sources[1].reader(),
            left_in_memory=True,
            right_in_memory=True,
            left_on=left_names,
            right_on=right_names,
            how=how,
            method=method,
            suffix=suffix,
            batch_rows=None,
            expected_rows=(sources[0].rows, sources[1].rows),
            traffic=traffic,
            means=used,
            progress=progress,
        )
        return _write(
            stream, path, compression, [], group_rows, for_files, options, traffic, started, check
        )

    return _run(sources, job)
