"""Facts about columns of Parquet files that sorts need and Arrow's types lack."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ._errors import UsageError, naming

# Names of metadata of fields, as in columns/files/column_metadata.h.
_NO_ORDER = b"xxl:no-order"
_POLARS_ENUM = (b"_PL_ENUM_VALUES2", b"_PL_ENUM_VALUES")
# Marks the values of a dictionary, as in columns/arrow_module/decoded_types.h.
_DICTIONARY = b"xxl:dictionary"

_ORDERLY_WRITER = "parquet-cpp-arrow"  # writes the dictionary of a column as it is, in its order
_MOST_NS_MICROSECONDS = (2**63 - 1) // 1000  # that nanoseconds of 64 bits hold
_ROWS_AT_ONCE = 1 << 16
_VARIANT = re.compile(r" group field_id=-?\d+ (.*) \(Variant\(")  # in the text of a schema


def _check_directories(file: str, columns: Iterable[str]) -> None:
    """Refuse a file in a directory NAME=VALUE without a column NAME: other tools see one."""
    known = {column.lower() for column in columns}
    for directory in os.path.dirname(file).split("/"):
        name, is_column, _ = directory.partition("=")
        if is_column and name and name.lower() not in known:
            raise UsageError(
                f"{file}: the directory {directory} stands for a column {name!r}, which the file "
                "does not have and the output would lose: give files that have the column"
            )


def _difference(a: pa.Schema, b: pa.Schema) -> str:
    for left, right in zip(a, b):
        if left.name != right.name:
            return f"{right.name!r} is where {left.name!r} should be"
        if left.type != right.type:
            return f"{left.name!r} is {right.type}, not {left.type}"
    return "" if len(a) == len(b) else f"there are {len(b)}, not {len(a)}"


def _leaves(schema: pq.ParquetSchema) -> list[Any]:
    return [schema.column(i) for i in range(len(schema.names))]


def _written(schema: pa.Schema) -> list[Any]:
    """The leaves of a file that pyarrow writes for `schema`."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    return _leaves(pq.read_metadata(pa.BufferReader(sink.getvalue())).schema)


def sorting_columns(
    schema: pa.Schema, keys: Sequence[tuple[str, bool, bool]]
) -> list[pq.SortingColumn] | None:
    """Keys in the form of a file's footer, which counts the leaves of nested columns."""
    columns = []
    places = {leaf.path: i for i, leaf in enumerate(_written(schema))}
    for name, descending, nulls_first in keys:
        if is_ordered(schema.field(name)):
            break  # to others the order is that of values
        columns.append(pq.SortingColumn(places[name], descending, nulls_first))
    return columns or None


def _untold(leaf: Any) -> str:
    """The logical type of a leaf, if Arrow's type lacks it."""
    told = ("NONE", "INT", "DECIMAL", "TIMESTAMP")
    return "" if leaf.logical_type.type in told else str(leaf.logical_type)


def _is_utc_time(logical_type: str) -> bool:
    return logical_type.startswith("Time(isAdjustedToUTC=true")


def _is_polars_enum(field: pa.Field) -> bool:
    return any(key in (field.metadata or {}) for key in _POLARS_ENUM)


def is_ordered(field: pa.Field) -> bool:
    """Whether values have the order of their dictionary."""
    return pa.types.is_dictionary(field.type) and (
        field.type.ordered or _is_polars_enum(field)
    )


class StoredTypes:
    """The schema of a table in its files, and the storage of its columns."""

    def __init__(self, int96_unit: str) -> None:
        self.schema: Any = None
        self.kinds: set[str] = set()  # logical types of leaves, or INT96 with its unit
        self._int96_unit = int96_unit
        self._first: tuple[str, list[str]] = ("", [])  # file, types that Arrow's do not tell
        self._no_orders: dict[str, bytes] = {}

    def add(self, file: str, parquet: pq.ParquetFile) -> None:
        schema, leaves = parquet.schema_arrow, _leaves(parquet.schema)
        _check_directories(file, schema.names)
        types = [_untold(leaf) for leaf in leaves]
        if self.schema is None:
            self.schema, self._first = schema, (file, types)
            _check_kept(file, parquet, leaves)
        self._check_same(file, _difference(self.schema, schema))
        # A column has nulls if it does so in any file.
        for i, field in enumerate(schema):
            if field.nullable:
                self.schema = self.schema.set(i, self.schema.field(i).with_nullable(True))
        for leaf, type_, first in zip(leaves, types, self._first[1]):
            if type_ != first:
                self._check_same(file, f"{leaf.path!r} is {type_ or 'without a logical type'}, "
                                 f"not {first or 'without one'}")
        self.kinds |= {
            f"INT96 {self._int96_unit}" if leaf.physical_type == "INT96" else str(leaf.logical_type)
            for leaf in leaves
        }
        self._note_orders(parquet)

    def _check_same(self, file: str, difference: str) -> None:
        if difference:
            raise UsageError(f"{file}: its columns are not those of {self._first[0]}: {difference}")

    def _note_orders(self, parquet: pq.ParquetFile) -> None:
        file = parquet.metadata
        fields = {field.name: field for field in parquet.schema_arrow}
        for leaf in range(file.num_columns):
            field = fields.get(file.schema.column(leaf).path)
            if field is None or not is_ordered(field) or _is_polars_enum(field):
                continue
            groups = [file.row_group(i) for i in range(file.num_row_groups)]
            if not (file.created_by or "").startswith(_ORDERLY_WRITER) or not all(
                group.column(leaf).has_dictionary_page for group in groups if group.num_rows
            ):
                self._no_orders[field.name] = (
                    b"it is a dictionary in an order of its own, which a file does not tell: "
                    b"make it text, or write its dictionary (pyarrow does)"
                )

    def sorted_schema(self) -> pa.Schema:
        """The schema in a sort. Dictionaries become values, as in a file, except ordered ones.
        Metadata of fields keep the original type, and whether it has an order."""
        schema = self.schema
        for i, field in enumerate(schema):
            notes = {}
            if pa.types.is_dictionary(field.type) and not is_ordered(field):
                field, notes[_DICTIONARY] = field.with_type(field.type.value_type), b""
            if field.name in self._no_orders:
                notes[_NO_ORDER] = self._no_orders[field.name]
            if notes:
                noted = field.with_metadata({**(field.metadata or {}), **notes})
                schema = schema.set(i, noted)
        return schema


def _check_kept(file: str, parquet: pq.ParquetFile, leaves: list[Any]) -> None:
    lost = [(name, "Variant") for name in _VARIANT.findall(str(parquet.schema))]
    for leaf, written in zip(leaves, _written(parquet.schema_arrow)):
        # Times in UTC are an option of the writer.
        if not _is_utc_time(str(leaf.logical_type)) and _untold(leaf) != _untold(written):
            lost.append((leaf.path, leaf.logical_type))
    for name, type_ in lost:
        raise UsageError(
            f"{file}: column {name!r} is of the type {type_}, which pyarrow does not write: "
            "the program xxl keeps it (xxl sort --parquet)"
        )


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in a file for the schema in a sort."""
    for i, field in enumerate(schema):
        metadata = dict(field.metadata or {})
        if metadata.pop(_DICTIONARY, None) is not None:
            field = field.with_type(pa.dictionary(pa.int32(), field.type))
        metadata.pop(_NO_ORDER, None)
        schema = schema.set(i, field.with_metadata(metadata or None))
    return schema


def stored_table(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Sorted batches as a table of `schema`, the schema in the file."""
    table = pa.Table.from_batches(batches)
    columns = [
        column if column.type == type_ else column.dictionary_encode()
        for column, type_ in zip(table.columns, schema.types)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def writer_options(kinds: set[str]) -> dict[str, bool]:
    """Options of pyarrow's writer that keep the storage of times."""
    times = {_is_utc_time(kind) for kind in kinds if kind.startswith("Time(")}
    if len(times) > 1:
        raise UsageError(
            "there are columns of times in UTC and of local times, of which pyarrow writes only "
            "one kind: the program xxl keeps both (xxl sort --parquet)"
        )
    timestamps = {kind for kind in kinds if kind.startswith(("Timestamp(", "INT96"))}
    options = {
        "write_time_adjusted_to_utc": times == {True},
        "use_deprecated_int96_timestamps": timestamps == {"INT96 ns"},
    }
    return {name: value for name, value in options.items() if value}  # older ones have fewer


def int96_unit(files: Iterable[str]) -> str:
    """The unit in which 64 bits hold all timestamps of 96 bits.

    It is nanoseconds, unless some times are before 1677 or after 2262."""
    far = fine = ""  # where there is a value that nanoseconds do not hold, and microseconds
    for file in files:
        with naming(file, "bad_input"):
            for path, us, ns in _int96_values(file):
                place = f"{file}: column {path}"
                bounds = pc.min_max(us).as_py()
                if bounds["min"] is None:
                    continue
                if max(-bounds["min"], bounds["max"]) > _MOST_NS_MICROSECONDS:
                    far = place
                # Where nanoseconds wrap around, so does this.
                rest = pc.subtract(ns, pc.multiply(us, 1000))
                if pc.any(pc.not_equal(rest, 0)).as_py():
                    fine = place
    if far and fine:
        raise UsageError(
            f"{far} has times before 1677 or after 2262, which only microseconds hold, and "
            f"{'others' if far == fine else f'{fine} has times'} that only nanoseconds do (INT96): "
            "write them as TIMESTAMP of one unit"
        )
    return "us" if far else "ns"


def _int96_values(file: str) -> Iterator[tuple[str, Any, Any]]:
    """All timestamps of a file, as (column, microseconds, nanoseconds)."""
    with (
        pq.ParquetFile(file, pre_buffer=False, coerce_int96_timestamp_unit="us") as coarse,
        pq.ParquetFile(file, pre_buffer=False, coerce_int96_timestamp_unit="ns") as exact,
    ):
        for path in [leaf.path for leaf in _leaves(exact.schema) if leaf.physical_type == "INT96"]:
            for us, ns in zip(
                coarse.iter_batches(_ROWS_AT_ONCE, columns=[path]),
                exact.iter_batches(_ROWS_AT_ONCE, columns=[path]),
            ):
                yield path, _numbers(us.column(0)), _numbers(ns.column(0))


def _numbers(array: Any) -> Any:
    """The values of the one column of timestamps that `array` has, at any depth."""
    while not pa.types.is_timestamp(array.type):
        if pa.types.is_struct(array.type):
            array = array.flatten()[0]
        elif pa.types.is_map(array.type):
            is_key = pa.types.is_timestamp(array.type.key_type)
            array = array.keys if is_key else array.items
        else:
            array = array.flatten()
    return array.view("int64")
