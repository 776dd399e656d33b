"""Parquet files read and written by pyarrow. Imported only if pyarrow is installed.

Memory in use:

    reading   two batches waiting or being decoded (_ahead), and one in the sort
    writing   a row group being collected, and the one before, being encoded
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import glob
import math
import os
import pathlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import _core
from ._arguments import Path, path_list
from ._errors import UsageError, make_error, naming
from ._parquet_types import (
    StoredTypes,
    int96_unit,
    sorting_columns,
    stored_schema,
    stored_table,
    writer_options as writer_options,
)

Batches = Generator[pa.RecordBatch, None, None]

_MIB = 1 << 20
_BATCHES_AHEAD = 2
_BATCHES = 4  # that are in memory: ahead, being sorted, and what decoding takes
_GROUPS = 3  # in memory: being collected, being encoded, and what that takes
_LEAST_DICTIONARY_BYTES = 8 << 10
_PROBE_ROWS = 256
_LEAST_BATCH_ROWS = 64
_MOST_BATCH_ROWS = 1 << 16
_MOST_GROUP_ROWS = 1 << 20
_MOST_GROUP_BYTES = 512 * _MIB
_READ_BYTES = 256 << 10  # of a column at a time
_GROUPS_LOOKED_AT = 16  # of a file, for the sizes of their pages
_RELEASE_BYTES = 64 * _MIB  # that were decoded since the allocator was last told to give back


def find_files(inputs: Path | Iterable[Path]) -> list[str]:
    """The files of `inputs`, in the order of their names unless `inputs` is a list."""
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
    """A page of each column, compressed and not, of the size that writers aim at, and a buffer."""
    columns = map(group.column, range(group.num_columns))
    sizes = [(column.total_compressed_size, column.total_uncompressed_size) for column in columns]
    return sum(
        min(stored, _MIB) + min(decoded, _MIB) + min(stored, _READ_BYTES)
        for stored, decoded in sizes
    )


def _stored_bytes(group: Any) -> int:
    return sum(group.column(i).total_compressed_size for i in range(group.num_columns))


def _ahead(batches: Batches) -> Batches:
    """The same batches, while a thread makes the next ones."""
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


class StoredTable:
    """Parquet files as one table, read in batches of bounded size."""

    def __init__(self, inputs: Path | Iterable[Path], memory: int, traffic: _core.Traffic) -> None:
        self._batch_bytes = memory // _BATCHES
        self._traffic = traffic
        self._files = find_files(inputs)
        self.rows: int  # that all files have, by their footers
        self.page_bytes = 0  # of the pages and buffers of all columns of a row group
        self.rows_read = 0
        self.failure: Exception | None = None
        self._int96_unit = "ns"
        self.types = self._look_at_files()
        if "INT96 ns" in self.types.kinds and int96_unit(self._files) == "us":
            self._int96_unit = "us"
            self.types = self._look_at_files()
        self.schema = self.types.sorted_schema()

    def _open(self, file: str) -> pq.ParquetFile:
        # Columns are read piece by piece: not a row group at once, which may be larger than memory.
        return pq.ParquetFile(
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
    def reader(self) -> Iterator[pa.RecordBatchReader]:
        with contextlib.closing(self._kept()) as batches:
            yield pa.RecordBatchReader.from_batches(self.schema, batches)

    def check_all_read(self) -> None:
        if self.rows_read != self.rows:
            message = f"{self.rows_read} rows were read, but the files have {self.rows}"
            raise make_error("corrupt", message)

    def _kept(self) -> Batches:
        """Keep an exception, since the sort gets only its text."""
        try:
            for batch in _ahead(self._decoded()):
                self.rows_read += batch.num_rows
                yield batch
        except Exception as error:
            self.failure = error
            raise

    def _decoded(self) -> Batches:
        # Allocators keep what was freed, which adds up where several threads decode.
        pool = pa.default_memory_pool()
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
                    self._traffic.add_read(_stored_bytes(about))
        batch = None  # the last one
        pool.release_unused()


def _row_groups(
    stream: _core.Stream, most_rows: int, most_bytes: float
) -> Iterator[list[pa.RecordBatch]]:
    """Batches that form a row group together."""
    group, rows, size = [], 0, 0
    for batch in map(pa.record_batch, stream):
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


def write(
    stream: _core.Stream,
    file: Any,
    path: str,
    keys: Sequence[tuple[str, bool, bool]],
    group_rows: int | None,
    memory: int,
    traffic: _core.Traffic,
    **options: Any,
) -> tuple[int, int]:
    """Write `stream` to `file`, called `path` in errors. Return the numbers of rows and row
    groups."""
    schema = stored_schema(pa.schema(stream))
    # A number of rows that was asked for holds, whatever memory they need.
    most_bytes = memory // _GROUPS if group_rows is None else math.inf
    # Columns of ever new values fill a dictionary in vain, again in each row group: the smaller
    # these are, the sooner it is given up.
    dictionary = min(most_bytes, _MOST_GROUP_BYTES) // max(256, 64 * len(schema))
    footer: list[Any] = []
    # pyarrow refuses types and options that it cannot write.
    with naming(path, "usage"):
        writer = pq.ParquetWriter(
            file,
            schema,
            sorting_columns=sorting_columns(schema, keys),
            write_page_index=True,
            dictionary_pagesize_limit=int(min(max(dictionary, _LEAST_DICTIONARY_BYTES), _MIB)),
            metadata_collector=footer,
            **options,
        )

    def encode(group: list[pa.RecordBatch]) -> None:
        with naming(path, "usage"):
            table = stored_table(group, schema)
            group.clear()
            writer.write_table(table, row_group_size=table.num_rows)
            del table
            traffic.set_written(file.tell())
        pa.default_memory_pool().release_unused()

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
        # The writer is closed while its file is still open: otherwise its destructor would do it.
        with contextlib.suppress(Exception):
            writer.close()
        writer.is_open = False
        raise
    traffic.set_written(file.tell())
    return footer[0].num_rows, footer[0].num_row_groups
