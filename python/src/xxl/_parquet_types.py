"""What Parquet files say of their columns that Arrow's types do not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._arguments import needed
from ._errors import UsageError

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

# Names of metadata of fields, which mean something to sorts: columns/files/column_metadata.h
_NO_ORDER = b"xxl:no-order"
_POLARS_ENUM = (b"_PL_ENUM_VALUES2", b"_PL_ENUM_VALUES")

_ORDERLY_WRITER = "parquet-cpp-arrow"  # writes the dictionary of a column as it is, in its order
_MOST_NS_MICROSECONDS = (2**63 - 1) // 1000  # that nanoseconds of 64 bits hold
_ROWS_AT_ONCE = 1 << 16
_VARIANT = re.compile(r" group field_id=-?\d+ (.*) \(Variant\(")  # in the text of a schema


def check_directories(file: str, columns: Iterable[str]) -> None:
    """Refuses a file in a directory NAME=VALUE, which is a column to others, if it has not that
    column itself."""
    known = {column.lower() for column in columns}
    for directory in os.path.dirname(file).split("/"):
        name, is_column, _ = directory.partition("=")
        if is_column and name and name.lower() not in known:
            raise UsageError(
                f"{file}: the directory {directory} stands for a column {name!r}, which the file "
                "does not have and the output would lose: give files that have the column"
            )


def _written(schema: pyarrow.Schema, **options: Any) -> pyarrow.parquet.ParquetSchema:
    """The columns of a file that pyarrow writes of `schema`."""
    pyarrow = needed("pyarrow", "writing Parquet files")
    parquet = needed("pyarrow.parquet", "writing Parquet files")
    sink = pyarrow.BufferOutputStream()
    parquet.ParquetWriter(sink, schema, **options).close()
    return parquet.read_metadata(pyarrow.BufferReader(sink.getvalue())).schema


def leaf_numbers(schema: pyarrow.Schema) -> dict[str, int]:
    """The numbers that a footer has for columns, which count the leaves of nested ones."""
    leaves = _written(schema)
    return {leaves.column(i).path: i for i in range(len(leaves.names))}


def _untold(column: Any) -> str:
    """The logical type of a leaf, if Arrow's type does not tell it."""
    told = ("NONE", "INT", "DECIMAL", "TIMESTAMP")
    return "" if column.logical_type.type in told else str(column.logical_type)


def _is_utc_time(column: Any) -> bool:
    return column.logical_type.type == "TIME" and "isAdjustedToUTC=true" in str(column.logical_type)


class StoredTypes:
    """Of the files of a table: how times are stored, and which columns have no order."""

    def __init__(self) -> None:
        self.times: set[bool] = set()  # whether in UTC
        self.timestamps: set[bool] = set()  # whether of 96 bits, as they can be written
        self._first: tuple[str, list[str]] | None = None  # file, types that Arrow's do not tell
        self._no_orders: dict[str, str] = {}

    def add(self, file: str, parquet: pyarrow.parquet.ParquetFile, unit: str) -> None:
        """Looks at a file, of which `unit` is that of timestamps of 96 bits."""
        leaves = parquet.schema
        columns = [leaves.column(i) for i in range(len(leaves.names))]
        types = [_untold(column) for column in columns]
        if self._first is None:
            self._first = (file, types)
            self._check_kept(file, parquet)
        first_file, first_types = self._first
        for column, type_, first in zip(columns, types, first_types):
            if type_ != first:
                raise UsageError(
                    f"{file}: its columns are not those of {first_file}: {column.path!r} is "
                    f"{type_ or 'without a logical type'}, not {first or 'without one'}"
                )
        for column in columns:
            if column.logical_type.type == "TIME":
                self.times.add(_is_utc_time(column))
            if column.physical_type == "INT96":
                self.timestamps.add(unit == "ns")
            elif column.logical_type.type == "TIMESTAMP":
                self.timestamps.add(False)
        self._note_orders(parquet)

    def _check_kept(self, file: str, parquet: pyarrow.parquet.ParquetFile) -> None:
        written = _written(parquet.schema_arrow)
        lost = [(name, "Variant") for name in _VARIANT.findall(str(parquet.schema))]
        for i in range(len(parquet.schema.names)):
            column = parquet.schema.column(i)
            # Times in UTC are an option of the writer.
            if not _is_utc_time(column) and _untold(column) != _untold(written.column(i)):
                lost.append((column.path, column.logical_type))
        for name, type_ in lost:
            raise UsageError(
                f"{file}: column {name!r} is of the type {type_}, which pyarrow does not write: "
                "the program xxl keeps it (xxl sort --record=parquet)"
            )

    def _note_orders(self, parquet: pyarrow.parquet.ParquetFile) -> None:
        file = parquet.metadata
        fields = {field.name: field for field in parquet.schema_arrow}
        for leaf in range(file.num_columns):
            field = fields.get(file.schema.column(leaf).path)
            if field is not None and is_ordered(field) and not _is_polars_enum(field):
                groups = [file.row_group(i) for i in range(file.num_row_groups)]
                if not (file.created_by or "").startswith(_ORDERLY_WRITER) or not all(
                    group.column(leaf).has_dictionary_page for group in groups if group.num_rows
                ):
                    self._no_orders[field.name] = (
                        "it is a dictionary in an order of its own, which a file does not tell: "
                        "make it text, or write its dictionary (pyarrow does)"
                    )

    def noted(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        """`schema` with what a sort is to know."""
        for name, why in self._no_orders.items():
            i = schema.get_field_index(name)
            metadata = {**(schema.field(i).metadata or {}), _NO_ORDER: why.encode()}
            schema = schema.set(i, schema.field(i).with_metadata(metadata))
        return schema


def without_notes(schema: pyarrow.Schema) -> pyarrow.Schema:
    for i, field in enumerate(schema):
        if _NO_ORDER in (field.metadata or {}):
            rest = {k: v for k, v in field.metadata.items() if k != _NO_ORDER}
            schema = schema.set(i, field.with_metadata(rest or None))
    return schema


def writer_options(stored: Iterable[StoredTypes]) -> dict[str, bool]:
    """Options of pyarrow's writer, with which it stores times as they were stored."""
    times = set().union(*(each.times for each in stored))
    if len(times) > 1:
        raise UsageError(
            "there are columns of times in UTC and of local times, of which pyarrow writes only "
            "one kind: the program xxl keeps both (xxl sort --record=parquet)"
        )
    options = {"write_time_adjusted_to_utc": True} if True in times else {}
    if set().union(*(each.timestamps for each in stored)) == {True}:
        options["use_deprecated_int96_timestamps"] = True
    return options


def _is_polars_enum(field: pyarrow.Field) -> bool:
    return any(key in (field.metadata or {}) for key in _POLARS_ENUM)


def is_ordered(field: pyarrow.Field) -> bool:
    """Whether values are in the order of their dictionary, not in that of values."""
    pyarrow = needed("pyarrow", "reading Parquet files")
    return pyarrow.types.is_dictionary(field.type) and (
        field.type.ordered or _is_polars_enum(field)
    )


class Int96Unit:
    """The unit in which 64 bits hold all timestamps of 96 bits: nanoseconds, unless there are
    times before 1677 or after 2262."""

    def __init__(self) -> None:
        self._far = ""  # where there is a value that nanoseconds do not hold
        self._fine = ""  # one that microseconds do not

    def unit(self) -> str:
        return "us" if self._far else "ns"

    def look_at(self, file: str, fine: pyarrow.parquet.ParquetFile) -> None:
        """Looks at all of a file, which is open for nanoseconds."""
        leaves = fine.schema
        columns = [leaves.column(i) for i in range(len(leaves.names))]
        paths = [column.path for column in columns if column.physical_type == "INT96"]
        if not paths:
            return
        parquet = needed("pyarrow.parquet", "reading Parquet files")
        with parquet.ParquetFile(
            file, pre_buffer=False, coerce_int96_timestamp_unit="us"
        ) as coarse:
            for path in paths:
                self._look_at_column(f"{file}: column {path}", path, coarse, fine)
        if self._far and self._fine:
            other = "others" if self._far == self._fine else f"{self._fine} has times"
            raise UsageError(
                f"{self._far} has times before 1677 or after 2262, which only microseconds hold, "
                f"and {other} that only nanoseconds do (INT96): write them as TIMESTAMP of one unit"
            )

    def _look_at_column(self, place: str, path: str, coarse: Any, fine: Any) -> None:
        compute = needed("pyarrow.compute", "reading Parquet files")
        pairs = zip(
            coarse.iter_batches(_ROWS_AT_ONCE, columns=[path]),
            fine.iter_batches(_ROWS_AT_ONCE, columns=[path]),
        )
        for coarse_batch, fine_batch in pairs:
            us, ns = _numbers(coarse_batch.column(0)), _numbers(fine_batch.column(0))
            bounds = compute.min_max(us)
            least, most = bounds["min"].as_py(), bounds["max"].as_py()
            if least is None:
                continue
            if least < -_MOST_NS_MICROSECONDS or most > _MOST_NS_MICROSECONDS:
                self._far = place
            # Where nanoseconds wrap around, so does this.
            rest = compute.subtract(ns, compute.multiply(us, 1000))
            if compute.any(compute.not_equal(rest, 0)).as_py():
                self._fine = place


def _numbers(array: Any) -> Any:
    """The values of the one column of timestamps that `array` has, at any depth."""
    types = needed("pyarrow", "reading Parquet files").types
    while not types.is_timestamp(array.type):
        if types.is_struct(array.type):
            array = array.flatten()[0]
        elif types.is_map(array.type):
            is_key = types.is_timestamp(array.type.key_type)
            array = array.keys if is_key else array.items
        else:
            array = array.flatten()
    return array.view("int64")
