"""Sorts and joins of files, as on the command line."""

from __future__ import annotations

import dataclasses
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Union

from . import _core
from ._arguments import (
    check_callback,
    check_words,
    counted,
    Device,
    How,
    is_path,
    key_list,
    means,
    one_of,
    OnProgress,
    Path,
    path_bytes,
    path_list,
    sides,
    Size,
)
from ._errors import UsageError

Column = Union[str, int]
CsvKey = Union[Column, tuple[Any, ...]]
CsvFold = tuple[Any, ...]
Pair = Union[str, tuple[str, str]]

_CSV_TYPES = ("text", "number", "integer", "date", "ci", "natural", "version")
_CSV_WORDS = (*_CSV_TYPES, "asc", "desc", "nulls_first", "nulls_last")


@dataclasses.dataclass(frozen=True)
class PhaseReport:
    """A phase of a job: forming runs, a merge pass, ..."""

    name: str
    seconds: float
    bytes_read: int  #: bytes read from files and scratch space
    bytes_written: int  #: bytes written to files and scratch space


@dataclasses.dataclass(frozen=True)
class SortReport:
    """Report of a sort of files."""

    records: int  #: number of records written, without a header
    records_in: int  #: number of records read
    skipped: int  #: number of malformed records left out
    seconds: float
    scratch_bytes: int  #: most scratch space in use at once
    peak_memory_bytes: int  #: memory of the whole process, including Python
    runs: int  #: number of sorted runs
    passes: int  #: number of merge passes
    phases: tuple[PhaseReport, ...]
    devices: tuple[str, ...]  #: GPUs used
    no_gpu: str  #: reason why no GPU was used, or ""
    output_in_place: bool  #: whether an existing output was overwritten in place


@dataclasses.dataclass(frozen=True)
class JoinReport:
    """Report of a join of files."""

    rows: int  #: number of output rows
    records: tuple[int, int]  #: number of left and right records read
    matched: tuple[int, int]  #: number of left and right records with a match
    skipped: tuple[int, int]  #: number of malformed records left out
    bytes_written: int
    seconds: float
    scratch_bytes: int  #: most scratch space in use at once
    peak_memory_bytes: int  #: memory of the whole process, including Python
    method: str  #: "sort-merge" or "hash"
    because: str  #: reason for this method
    phases: tuple[PhaseReport, ...]
    devices: tuple[str, ...]  #: GPUs used
    no_gpu: str  #: reason why no GPU was used, or ""
    output_in_place: bool  #: whether an existing output was overwritten in place


def phases_of(measured: dict[str, Any]) -> tuple[PhaseReport, ...]:
    return tuple(PhaseReport(**phase) for phase in measured.pop("phases"))


def _texts(texts: str | Sequence[str] | None) -> list[bytes]:
    """One or several keys or fields."""
    if texts is None:
        return []
    return [os.fsencode(text) for text in ([texts] if isinstance(texts, str) else texts)]


def _sort(
    inputs: Path | Iterable[Path],
    output: Path,
    used: _core.Means,
    progress: OnProgress | None,
    **job: Any,
) -> SortReport:
    paths = [path_bytes(path) for path in path_list(inputs)]
    if not paths:
        raise UsageError("there are no inputs")
    job.update(inputs=paths, output=path_bytes(output))
    fields = _core.sort_files(used, check_callback(progress), **job)
    return SortReport(phases=phases_of(fields), **fields)


def sort_file(
    inputs: Path | Iterable[Path],
    output: Path,
    *,
    format: str,
    by: str | Sequence[str] | None = None,
    reverse: bool = False,
    unique: bool = False,
    merge: bool = False,
    limit: int | None = None,
    count: bool = False,
    aggregates: str | Sequence[str] | None = None,
    separator: str = "",
    header: bool = False,
    flags: str = "",
    stable: bool = False,
    zero_terminated: bool = False,
    verify: bool = False,
    memory: Size | None = None,
    scratch: Path | Iterable[Path] | None = None,
    scratch_compress: str | None = None,
    threads: int | None = None,
    device: Device = "auto",
    gpus: Iterable[int] | None = None,
    gpu_memory: Size | None = None,
    progress: OnProgress | None = None,
) -> SortReport:
    """Sort files of binary records or lines, as ``xxl sort`` does.

    The output appears complete or not at all. An existing file survives any failure, and may be one
    of the inputs. Files named .gz, .zst or .lz4 are read and written compressed. Files named .bz2
    or .xz can be read.

    inputs: a path, or several paths, which are sorted together.
    format: "u32", "u64", "i32", "i64", "f32", "f64", "kv32", "kv64", "gensort", "fixed:N" or
        "lines", or "jsonl" (keys are members, as "user.id:n:desc"). "csv" and "tsv" work as
        well, but sort_csv is easier.
    by: --key of the command line. "OFFSET:TYPE[:desc]" for binary records, "POS1[,POS2]" with
        letters for lines. Default: the key of the format.
    reverse: descending, unless a key says otherwise.
    unique: only the first record of each key.
    merge: the inputs are sorted, so merge them. An unsorted one is an error.
    limit: write at most this many records.
    count: one record for each key, with the number of its records.
    aggregates: one record for each key, with aggregates: "max=OFFSET:TYPE". Also "sum", "min",
        "mean", "first" and "last".
    separator, flags, stable, zero_terminated: for lines: -t, letters of "bdfghiMnRV", -s, -z.
    header: for lines: write the first line of each input once, in front.
    verify: read the output back from the disk before it appears, and compare it. Not for pipes and
        devices.
    memory, scratch, threads, progress: see xxl.sort. The driver of a GPU needs more memory.
    scratch_compress: "lz4", "zstd" or "zstd:LEVEL", for scratch space.
    device: "auto" (GPUs if they are faster), "gpu" or "cpu".
    gpus: numbers of the GPUs to use.
    gpu_memory: most memory to use of each GPU.

    Raises xxl.Error.

    >>> import array
    >>> _ = open("numbers", "wb").write(array.array("Q", [3, 1, 2]))
    >>> xxl.sort_file("numbers", "sorted", format="u64", memory="64M").records
    3
    >>> list(array.array("Q", open("sorted", "rb").read()))
    [1, 2, 3]
    """
    return _sort(
        inputs,
        output,
        means(memory, scratch, threads, device, gpus, gpu_memory, scratch_compress),
        progress,
        format=format,
        keys=_texts(by),
        unique=bool(unique),
        merge_only=bool(merge),
        reverse=bool(reverse),
        limit=counted(limit, "limit", 0),
        count=bool(count),
        aggregates=_texts(aggregates),
        separator=os.fsencode(separator),
        header=bool(header),
        flags=flags,
        stable=bool(stable),
        zero_terminated=bool(zero_terminated),
        verify=bool(verify),
    )


def _csv_column(column: object) -> str:
    """A column of a CSV file as on the command line, with names in quotes."""
    if isinstance(column, str):
        return '"' + column.replace('"', '""') + '"'
    if isinstance(column, bool):
        raise TypeError("a column is a name, or a number from 1")
    number = operator.index(column)  # type: ignore[arg-type]
    if number < 1:
        raise UsageError(f"there is no column {number}: they are counted from 1")
    return str(number)


def csv_keys(by: CsvKey | Sequence[CsvKey]) -> list[bytes]:
    """Keys in the form of --key."""
    keys = []
    for _, column, words in key_list(by, _CSV_WORDS, "('b', 'number', 'desc')", formats=True):
        texts = [_csv_column(column)]
        for word in words:
            name, _, form = word.partition(":")
            texts.append(name.replace("_", "-"))
            if form:
                texts.append('"' + form.replace('"', '""') + '"')
        keys.append(os.fsencode(":".join(texts)))
    return keys


def csv_aggregates(aggregates: Mapping[str, CsvFold]) -> list[bytes]:
    """Aggregates as FOLD=FIELD of a job in C++."""
    texts = []
    for name, what in aggregates.items():
        if not isinstance(name, str) or not isinstance(what, tuple) or len(what) < 2:
            raise TypeError(
                f"aggregates are NAME: (COLUMN, WHICH), as in {{'highest': ('price', 'max')}}, "
                f"not {name!r}: {what!r}"
            )
        column, fold, *words = what
        check_words(words, f"the aggregate {what!r}", _CSV_TYPES, formats=True)
        new = [] if name == column else [_csv_column(name)]
        texts.append(":".join([f"{fold}={_csv_column(column)}", *words, *new]))
    return [os.fsencode(text) for text in texts]


def _malformed(malformed: str | None) -> str:
    """The word of the engine."""
    return "" if malformed is None else one_of(malformed, "malformed", "error", "skip", "keep")


def sort_csv(
    inputs: Path | Iterable[Path],
    output: Path,
    by: CsvKey | Sequence[CsvKey],
    *,
    header: bool = True,
    separator: str = ",",
    reverse: bool = False,
    unique: bool = False,
    limit: int | None = None,
    count: bool = False,
    aggregates: Mapping[str, CsvFold] | None = None,
    empty: Literal["first", "last"] = "first",
    nulls: Sequence[str] = (),
    malformed: Literal["error", "skip", "keep"] | None = None,
    rejects: Path | None = None,
    max_rejects: int | None = None,
    quotes: bool = True,
    escape: str = "",
    comment: str = "",
    verify: bool = False,
    memory: Size | None = None,
    scratch: Path | Iterable[Path] | None = None,
    scratch_compress: str | None = None,
    threads: int | None = None,
    device: Device = "auto",
    gpus: Iterable[int] | None = None,
    gpu_memory: Size | None = None,
    progress: OnProgress | None = None,
) -> SortReport:
    """Sort CSV files by columns.

    Rows are written as they were read. Rows with equal keys keep their order.

    inputs, output, verify, scratch_compress, device, gpus, gpu_memory: see xxl.sort_file.
    memory, scratch, threads, progress: see xxl.sort.
    by: a column, or a list of columns and of tuples of a column and words. A column is a name in
        the header, or a number from 1. Words: "text" (by bytes, the default), "number" (decimal, of
        any length), "integer", "date" (ISO 8601), "ci" (text in which upper and lower case are
        equal), "natural" or "version", and "desc". A type may have a format: "number:1.234,56" or
        "date:%d/%m/%Y". "nulls_first" and "nulls_last" say where rows with an empty key come.
    header: the first row of each input is a header, the same in all of them, and written once.
    separator: one to eight bytes; "\\t" for TSV.
    reverse: descending, unless a key says otherwise.
    unique: only the first row of each key.
    limit: write at most this many rows.
    count: one row for each key, with the number of its rows as a last column.
    aggregates: one row for each key. {"highest": ("price", "max")} makes a new column
        "highest". With the name of the column itself, the result replaces its value. Aggregates are
        "sum", "min", "max", "mean", "first", "last" and "collect" (all values, with ";" between
        them). A type may follow "min" and "max", as in a key. Default: "number".
    empty: rows with an empty key come first or last, in either direction.
    nulls: texts of fields that count as empty, such as ["NA"].
    malformed: what to do with rows that are not CSV, have another number of fields than the first
        one, or an unreadable key. "error" names the first one, "skip" leaves them out, "keep" counts
        unreadable keys as empty. None: an error, except that rows with another number of fields are
        only counted.
    rejects: with malformed="skip", write the rows left out to this file: file, line, reason, row.
    max_rejects: with malformed="skip", fail if more rows are left out. None: if more than half are.
    quotes: fields may be in double quotes. Otherwise quotes are ordinary bytes, and each line is a
        row.
    escape: one byte, such as "\\\\": what follows it is part of the field.
    comment: lines before the header that begin so are kept in front of the output.

    Raises xxl.Error.

    >>> _ = open("in.csv", "w").write("name,amount\\nann,10\\nbob,9\\neve,10.5\\n")
    >>> xxl.sort_csv("in.csv", "out.csv", [("amount", "number", "desc"), "name"]).records
    3
    >>> print(open("out.csv").read(), end="")
    name,amount
    eve,10.5
    ann,10
    bob,9
    """
    return _sort(
        inputs,
        output,
        means(memory, scratch, threads, device, gpus, gpu_memory, scratch_compress),
        progress,
        format="csv",
        empty_last=one_of(empty, "empty", "first", "last") == "last",
        nulls=_texts(nulls),
        malformed=_malformed(malformed),
        rejects=b"" if rejects is None else os.fsencode(rejects),
        max_rejects=counted(max_rejects, "max_rejects", 0),
        keys=csv_keys(by),
        unique=bool(unique),
        reverse=bool(reverse),
        limit=counted(limit, "limit", 0),
        count=bool(count),
        aggregates=csv_aggregates(aggregates or {}),
        separator=os.fsencode(separator),
        header=bool(header),
        quotes=bool(quotes),
        escape=os.fsencode(escape),
        comment=os.fsencode(comment),
        verify=bool(verify),
    )


def _pair(value: Any, name: str) -> list[Any]:
    """The same for both sides, or a pair."""
    if isinstance(value, tuple):
        if len(value) != 2:
            raise UsageError(f"{name} is a pair, of the left and of the right file")
        return list(value)
    return [value, value]


def join_files(
    left: Path,
    right: Path,
    output: Path | None,
    *,
    format: Pair,
    on: str | Sequence[str] | None = None,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: How = "inner",
    method: Literal["auto", "sort-merge", "hash"] = "auto",
    presorted: bool | tuple[bool, bool] = False,
    layout: str = "",
    separator: str = "",
    filler: str | None = None,
    header: bool = False,
    empty_keys_match: bool = True,
    nulls: Sequence[str] = (),
    ignore_case: bool = False,
    zero_terminated: bool = False,
    malformed: Literal["error", "skip", "keep"] | None = None,
    rejects: Path | None = None,
    max_rejects: int | None = None,
    quotes: bool = True,
    escape: str = "",
    comment: str = "",
    suffixes: tuple[str, str] = ("_1", "_2"),
    verify: bool = False,
    memory: Size | None = None,
    scratch: Path | Iterable[Path] | None = None,
    scratch_compress: str | None = None,
    threads: int | None = None,
    device: Device = "auto",
    gpus: Iterable[int] | None = None,
    gpu_memory: Size | None = None,
    progress: OnProgress | None = None,
) -> JoinReport:
    """Join two files in any order, as ``xxl join`` does: CSV, binary records or lines.

    output: a path, or None to count rows and write nothing.
    format: "csv", "tsv", "lines", or a format of binary records (see xxl.sort_file). A pair if the
        formats of the two sides differ.
    on: the keys of both sides. "COLUMN[:TYPE]" for CSV and TSV, "OFFSET:TYPE" for binary records,
        field numbers for lines. Required for CSV and TSV. Default: the first field of lines, or the
        key of the format.
    left_on, right_on: instead of `on`, if the keys of both sides differ.
    how: see xxl.join.
    method: "sort-merge" for rows in the order of their keys. "hash" (binary records) keeps the
        smaller file in memory, and rows come in no particular order.
    presorted: whether both files are sorted, or a pair, one for each file. They are checked.
    layout: the contents of an output row of lines or binary records (--layout).
    separator: one byte for lines, one to eight for CSV.
    filler: written in place of missing and empty fields, for lines and CSV.
    header: whether the first row of each file is a header, for lines and CSV.
    empty_keys_match: if False, empty fields match nothing, as NULL in SQL.
    nulls: for CSV and TSV, texts of fields that count as empty, such as ["NA"].
    ignore_case, zero_terminated: for lines.
    malformed, rejects, max_rejects, quotes, escape, comment: for CSV, see xxl.sort_csv.
    suffixes: suffixes of CSV column names that both sides have.
    memory, scratch, threads, progress: see xxl.sort.
    verify, scratch_compress, device, gpus, gpu_memory: see xxl.sort_file.

    Raises xxl.Error.

    >>> _ = open("users.csv", "w").write("id,name\\n1,ann\\n2,bob\\n")
    >>> _ = open("orders.csv", "w").write("user,price\\n2,5\\n2,7\\n")
    >>> xxl.join_files("users.csv", "orders.csv", "both.csv", format="csv", header=True,
    ...                left_on="id", right_on="user").rows
    2
    >>> print(open("both.csv").read(), end="")
    id,name,price
    2,bob,5
    2,bob,7
    """
    left_on, right_on = sides("files", on, left_on, right_on)
    if verify and output is None:
        raise UsageError("verify needs an output")
    for path in (left, right):
        if not is_path(path):
            raise TypeError("left and right are paths")
    fields = _core.join_files(
        means(memory, scratch, threads, device, gpus, gpu_memory, scratch_compress),
        check_callback(progress),
        inputs=[path_bytes(left), path_bytes(right)],
        output=b"" if output is None else path_bytes(output),
        formats=_pair(format, "format"),
        left_on=_texts(left_on),
        right_on=_texts(right_on),
        how=how,
        method=method,
        presorted=[bool(one) for one in _pair(presorted, "presorted")],
        count_only=output is None,
        layout=layout,
        separator=os.fsencode(separator),
        filler=None if filler is None else os.fsencode(filler),
        header=bool(header),
        empty_keys_match=bool(empty_keys_match),
        nulls=_texts(nulls),
        ignore_case=bool(ignore_case),
        zero_terminated=bool(zero_terminated),
        malformed=_malformed(malformed),
        rejects=b"" if rejects is None else os.fsencode(rejects),
        max_rejects=counted(max_rejects, "max_rejects", 0),
        quotes=bool(quotes),
        escape=os.fsencode(escape),
        comment=os.fsencode(comment),
        suffixes=_pair(suffixes, "suffixes"),
        verify=bool(verify),
    )
    return JoinReport(phases=phases_of(fields), **fields)
