"""Sorts and joins of tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._arguments import (
    How,
    Method,
    OnProgress,
    Path,
    Size,
    check_callback,
    counted,
    key_list,
    means,
    names,
    needed,
    sides,
)
from ._errors import UsageError

if TYPE_CHECKING:
    import pyarrow

#: A column, or a tuple of a column and words: "asc" (default), "desc", "nulls_last" (default),
#: "nulls_first".
Key = Union[str, tuple[str, ...]]
By = Union[str, Sequence[Key]]

_SLICE_BYTES = 8 << 20  # of a table in memory, that is given to the sort at a time
_SLICE_ROWS = 1 << 16
_WORDS = {
    "asc": ("descending", False),
    "desc": ("descending", True),
    "nulls_last": ("nulls_first", False),
    "nulls_first": ("nulls_first", True),
}


def column_keys(by: By) -> list[tuple[str, bool, bool]]:
    """Keys as (name, descending, nulls first)."""
    keys = []
    for key, name, words in key_list(by, _WORDS, "('b', 'desc')"):
        if not isinstance(name, str):
            raise TypeError(f"{key!r} is no key: it is a name, or a tuple of a name and words")
        said: dict[str, bool] = {}
        for what, value in (_WORDS[word] for word in words):
            if said.setdefault(what, value) != value:
                raise UsageError(f"the key {key!r} contradicts itself")
        keys.append((name, said.get("descending", False), said.get("nulls_first", False)))
    return keys


def arrow_table(data: Any) -> _core.Table:
    """An object with Arrow's interface, whether its rows are in memory, and how many there are.

    The number is 0 if it is not known."""

    def is_of(module: str, *classes: str) -> bool:
        # Who has an object of a module has imported it.
        found = sys.modules.get(module)
        return found is not None and any(
            isinstance(data, getattr(found, name)) for name in classes if hasattr(found, name)
        )

    if is_of("pyarrow", "RecordBatch"):
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    if is_of("pyarrow", "Table"):
        row_bytes = data.nbytes // max(data.num_rows, 1) + 1
        rows = max(1, min(_SLICE_ROWS, _SLICE_BYTES // row_bytes))
        return data.to_reader(max_chunksize=rows), True, data.num_rows
    if hasattr(data, "__arrow_c_stream__"):
        in_memory = (
            isinstance(data, _core.Batch)
            or is_of("pandas", "DataFrame")
            or is_of("polars", "DataFrame", "Series")
        )
        return data, in_memory, len(data) if in_memory else 0
    if hasattr(data, "__arrow_c_array__"):
        return data, True, len(data) if hasattr(data, "__len__") else 0
    raise TypeError(
        f"{type(data).__module__}.{type(data).__qualname__} is no table that xxl can read: it has "
        "neither __arrow_c_stream__ nor __arrow_c_array__, as tables of pyarrow, polars, pandas "
        "and DuckDB have"
    )


def _check_orders(data: Any, keys: Sequence[tuple[str, bool, bool]]) -> None:
    """Refuse an ENUM of DuckDB as a key: it comes as an unordered dictionary."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(data, duckdb.DuckDBPyRelation):
        return
    types = dict(zip(data.columns, data.types))
    for name, _, _ in keys:
        if name in types and types[name].id == "enum":
            raise UsageError(
                f"column {name} is an ENUM, whose order DuckDB does not pass on: sort by "
                f"enum_code({name}), or by {name}::VARCHAR"
            )


def sort(
    data: Any,
    by: By,
    *,
    memory: Size | None = None,
    scratch: Path | Iterable[Path] | None = None,
    threads: int | None = None,
    limit: int | None = None,
    unique: bool = False,
    batch_rows: int | None = None,
    progress: OnProgress | None = None,
) -> _core.Stream:
    """Sort a table that may be larger than memory.

    The table is read to its end before this returns. The result is merged while it is read. Rows
    with equal keys keep their order.

    data: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: tables, batches and readers
        of pyarrow, DataFrames of Polars and pandas, relations of DuckDB, an xxl.Stream.
    by: a column, or a list of columns and of tuples of a column and words. "desc" puts the highest
        values first, and "nulls_first" puts nulls first instead of last. NaN is above all numbers,
        and -0.0 equals 0.0. Ordered dictionaries (an ordered Categorical of pandas, an Enum of
        Polars) have their own order.
    memory: bytes, or a text such as "512M", "4G", "50%". A text without a letter is in KiB, as for
        -S of the command line. Default: half of the free memory.
    scratch: a directory for temporary files, or several, best one on each disk. Default: $TMPDIR,
        /var/tmp or /tmp.
    threads: number of threads. Default: one for each core.
    limit: give at most this many rows.
    unique: only the first row of each key.
    batch_rows: most rows of a batch of the result. Default: 65536.
    progress: called from time to time with the phase, the bytes done in it, and all bytes of it (0
        if that is not known), here and while the result is iterated.

    Raises xxl.Error. Its text has what a producer of ``data`` raised.

    >>> import pyarrow as pa
    >>> table = pa.table({"user": ["b", "a", "b", None], "time": [1, 2, 3, 4]})
    >>> xxl.sort(table, ["user", ("time", "desc")], memory="64M").read_all().to_pydict()
    {'user': ['a', 'b', 'b', None], 'time': [2, 3, 1, 4]}
    """
    keys = column_keys(by)
    _check_orders(data, keys)
    return _core.sort_columns(
        arrow_table(data),
        by=keys,
        limit=counted(limit, "limit", 0),
        unique=bool(unique),
        batch_rows=counted(batch_rows, "batch_rows"),
        traffic=None,
        means=means(memory, scratch, threads),
        progress=check_callback(progress),
    )


def join_columns(
    on: str | Sequence[str] | None,
    left_on: str | Sequence[str] | None,
    right_on: str | Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """The key columns of both sides."""
    left_on, right_on = sides("tables", on, left_on, right_on)
    if left_on is None or right_on is None:
        raise UsageError("a join needs `on`, or `left_on` and `right_on`")
    left, right = names(left_on, "left_on"), names(right_on, "right_on")
    if not left or len(left) != len(right):
        raise UsageError(f"tables are joined on {len(left)} and {len(right)} columns")
    return left, right


def join(
    left: Any,
    right: Any,
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
    batch_rows: int | None = None,
    progress: OnProgress | None = None,
) -> _core.Stream:
    """Join two tables of any size, in any order.

    A row has the columns of the left table, then those of the right one without its keys. The right
    table is read before this returns. If it fits in half of the memory, it is kept there. Rows then
    come in the order of the left table, and unmatched right rows last. Otherwise both tables are
    sorted, and rows come in the order of their keys.

    left, right, memory, scratch, threads, batch_rows, progress: see xxl.sort.
    on: a column of both tables, or a list. Null equals nothing.
    left_on, right_on: instead of ``on``, if names differ.
    how: "inner", "left" (also unmatched left rows), "right", "full", "semi" (left rows with a
        match) or "anti" (left rows without one).
    method: "auto" and "hash" as above; "sort-merge" for rows in the order of their keys.
    suffix: added to names of right columns that the left table has as well.

    Raises xxl.Error.

    >>> import pyarrow as pa
    >>> users = pa.table({"id": [1, 2, 3], "name": ["ann", "bob", "eve"]})
    >>> orders = pa.table({"user": [3, 1, 3], "price": [5, 7, 9]})
    >>> xxl.join(users, orders, left_on="id", right_on="user").read_all().to_pydict()
    {'id': [1, 3, 3], 'name': ['ann', 'eve', 'eve'], 'price': [7, 5, 9]}
    """
    left_names, right_names = join_columns(on, left_on, right_on)
    return _core.join_columns(
        arrow_table(left),
        arrow_table(right),
        left_on=left_names,
        right_on=right_names,
        how=how,
        method=method,
        suffix=suffix,
        batch_rows=counted(batch_rows, "batch_rows"),
        traffic=None,
        means=means(memory, scratch, threads),
        progress=check_callback(progress),
    )


def read_all(stream: _core.Stream) -> pyarrow.Table:
    """xxl.Stream.read_all."""
    pyarrow = needed("pyarrow", "Stream.read_all")
    schema = pyarrow.schema(stream)
    return pyarrow.Table.from_batches(  # type: ignore[no-any-return]
        [pyarrow.record_batch(batch) for batch in stream], schema=schema
    )
