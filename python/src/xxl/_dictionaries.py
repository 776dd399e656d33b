"""Dictionary columns of Parquet as the values that they stand for.

A file stores such a column as it stores any other of these values; that it is a dictionary in
memory only its metadata say. So they are sorted as values, and a field remembers what it was until
it is written. As of the program: columns/arrow_module/decoded_types.h.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._arguments import needed
from ._parquet_types import is_ordered

if TYPE_CHECKING:
    import pyarrow

_MARK = b"xxl:dictionary"


def decoded_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """`schema`, in which dictionaries are values. Those stay whose order is their own."""
    types = needed("pyarrow", "reading Parquet files").types
    for i, field in enumerate(schema):
        if types.is_dictionary(field.type) and not is_ordered(field):
            metadata = {**(field.metadata or {}), _MARK: b""}
            plain = field.with_type(field.type.value_type).with_metadata(metadata)
            schema = schema.set(i, plain)
    return schema


def decoded_columns(batch: pyarrow.RecordBatch, schema: pyarrow.Schema) -> list[pyarrow.Array]:
    """The columns of `batch` as `schema`, which is a decoded one, has them."""
    return [
        column.dictionary_decode() if _MARK in (field.metadata or {}) else column
        for column, field in zip(batch.columns, schema)
    ]


def stored_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """What a decoded schema was."""
    pyarrow = needed("pyarrow", "writing Parquet files")
    for i, field in enumerate(schema):
        if _MARK in (field.metadata or {}):
            rest = {key: value for key, value in field.metadata.items() if key != _MARK}
            type_ = pyarrow.dictionary(pyarrow.int32(), field.type)
            schema = schema.set(i, field.with_type(type_).with_metadata(rest or None))
    return schema


def stored_table(table: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """`table`, which is of a decoded schema, as `schema`, which is what that was."""
    pyarrow = needed("pyarrow", "writing Parquet files")
    types = pyarrow.types
    columns = [
        column.dictionary_encode()
        if types.is_dictionary(field.type) and not types.is_dictionary(column.type)
        else column
        for column, field in zip(table.columns, schema)
    ]
    return pyarrow.Table.from_arrays(columns, schema=schema)
