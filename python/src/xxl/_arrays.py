"""Sorts and joins of NumPy arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._arguments import Device, How, gpu_list, needed, sides, thread_count
from ._errors import UsageError

if TYPE_CHECKING:
    import numpy

Field = Union[str, tuple[str, str]]
# Offset, bytes, kind, descending.
KeyPart = tuple[int, int, str, bool]


@dataclasses.dataclass(frozen=True)
class ArrayReport:
    """Report of a sort or join of arrays."""

    devices: tuple[str, ...]  #: devices used: "cpu", "GPU 0, NVIDIA H200"
    no_gpu: str  #: reason why no GPU was used, or ""
    seconds: float


class ArrayJoin(tuple[Any, Any]):
    """The rows of a join, as a pair of arrays: places in the left and in the right array.

    -1 stands for a missing record."""

    report: ArrayReport  #: report of the join
    matched: tuple[int, int]  #: left and right records with a match

    @property
    def left(self) -> numpy.ndarray:
        return self[0]  # type: ignore[no-any-return]

    @property
    def right(self) -> numpy.ndarray:
        return self[1]  # type: ignore[no-any-return]


def _check_array(array: Any, name: str) -> None:
    """Refuse anything except a row of records in memory, in the byte order of the machine."""
    numpy = needed("numpy", "sorting and joining arrays")
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"{name} is an array of NumPy, not {type(array).__name__}")
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{name} has a mask, which xxl does not sort: use {name}.compressed()")
    if array.ndim != 1:
        raise UsageError(f"{name} has {array.ndim} dimensions: xxl takes arrays of one")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous: use numpy.ascontiguousarray({name})")
    if not array.flags.aligned:
        raise UsageError(f"{name} is not aligned: use {name}.copy()")
    if not array.dtype.isnative:
        raise UsageError(
            f"{name} has the byte order of other machines: "
            f"use {name}.astype({name}.dtype.newbyteorder('='))"
        )
    if array.dtype.hasobject:
        raise UsageError(f"{name} holds Python's objects: xxl takes numbers and bytes")
    if array.dtype.itemsize == 0:
        raise UsageError(f"the elements of {name} have no bytes")


def _part(dtype: Any, what: str, offset: int, descending: bool) -> KeyPart:
    """The comparison of a value."""
    kinds = {"b": "unsigned", "u": "unsigned", "i": "signed", "M": "time", "m": "time",
             "S": "bytes"}
    if dtype.kind == "f" and dtype.itemsize in (2, 4, 8):
        return offset, dtype.itemsize, "float", descending
    if dtype.kind in kinds:
        return offset, dtype.itemsize, kinds[dtype.kind], descending
    is_bytes = dtype.subdtype is None or dtype.subdtype[0].str == "|u1"
    if dtype.kind == "V" and dtype.names is None and is_bytes:
        return offset, dtype.itemsize, "bytes", descending
    raise UsageError(
        f"{what} has the type {dtype}, which xxl does not sort by: it does by integers, bool, "
        "float16 to float64, datetime64, timedelta64 and bytes (S, V, uint8)"
    )


def _parts(array: Any, by: str | Sequence[Field] | None, descending: bool, name: str) -> list[KeyPart]:
    dtype = array.dtype
    if dtype.names is None:
        if by is not None:
            raise UsageError(f"{name} has no fields that it could be sorted by: leave `by` out")
        return [_part(dtype, name, 0, descending)]
    if isinstance(by, tuple):
        raise TypeError(f"by is {by!r}: put fields in a list, as in by=['a', ('b', 'desc')]")
    if by is None:
        by = list(dtype.names)
    parts = []
    for key in [by] if isinstance(by, str) else by:
        field, *words = [key] if isinstance(key, str) else key
        if field not in dtype.names:
            raise UsageError(f"{name} has no field {field!r}: it has {', '.join(dtype.names)}")
        if words not in ([], ["asc"], ["desc"]):
            raise UsageError(f"{key!r} is no key: it is a field, or a tuple of one and 'desc'")
        part_descends = words == ["desc"] if words else descending
        field_dtype, offset = dtype.fields[field][:2]
        parts.append(_part(field_dtype, f"field {field!r} of {name}", offset, part_descends))
    if not parts:
        raise UsageError("by names no field")
    return parts


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def sort_array(
    array: numpy.ndarray,
    *,
    by: str | Sequence[Field] | None = None,
    descending: bool = False,
    out: numpy.ndarray | None = None,
    device: Device = "auto",
    gpus: Iterable[int] | None = None,
    threads: int | None = None,
) -> ArrayReport:
    """Sort an array stably, in place or to another array.

    array: contiguous, of one dimension, in the byte order of the machine. Integers, bool, float16
        to float64, datetime64, timedelta64, bytes, or structured.
    by: a field of a structured array, or a list of fields and of tuples of a field and "desc" or
        "asc". Default: all fields.
    descending: the highest value first, unless a field has a word of its own.
    out: array for the result, of the same length and type. ``array`` then stays as it is.
    device: "auto", "gpu" or "cpu".
    gpus: numbers of the GPUs to use.
    threads: threads on the CPU. Default: one for each core.

    NaN and NaT come after all others, or first if descending. NaNs are in the order of their bits.
    -0.0 comes before 0.0. The CPU needs memory for a copy. Ctrl-C works when the sort is over.

    Raises xxl.Error.

    >>> import numpy as np
    >>> a = np.array([3.0, np.nan, -1.0])
    >>> xxl.sort_array(a).devices
    ('cpu',)
    >>> a
    array([-1.,  3., nan])
    >>> edges = np.array([(1, 5), (0, 5), (2, 4)], dtype=[("a", "u4"), ("b", "u4")])
    >>> _ = xxl.sort_array(edges, by=[("b", "desc"), "a"])
    >>> edges.tolist()
    [(0, 5), (1, 5), (2, 4)]
    """
    _check_array(array, "array")
    to = array
    if out is not None:
        _check_array(out, "out")
        if out.dtype != array.dtype or out.shape != array.shape:
            raise UsageError("out has another type or length than array")
        to = out
    if not to.flags.writeable:
        raise UsageError(f"{'array' if out is None else 'out'} is read-only")
    fields = _core.sort_array(
        from_address=_address(array),
        to_address=_address(to),
        bytes=array.nbytes,
        record_bytes=array.dtype.itemsize,
        parts=_parts(array, by, bool(descending), "array"),
        device=device,
        gpus=gpu_list(gpus),
        threads=thread_count(threads),
    )
    return ArrayReport(**fields)


def _key_types(array: Any, on: str | Sequence[str] | None) -> list[str]:
    if array.dtype.names is None:
        return [str(array.dtype)]
    fields = array.dtype.names if on is None else [on] if isinstance(on, str) else on
    return [str(array.dtype[field]) for field in fields]


def _side(
    array: Any, on: str | Sequence[str] | None, name: str
) -> tuple[int, int, int, list[KeyPart]]:
    for key in [] if on is None or isinstance(on, str) else on:
        if not isinstance(key, str):
            raise TypeError(f"{key!r} is no field to join by")
    return (
        _address(array),
        array.nbytes,
        array.dtype.itemsize,
        _parts(array, on, False, name),
    )


def join_arrays(
    left: numpy.ndarray,
    right: numpy.ndarray,
    *,
    on: str | Sequence[str] | None = None,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: How = "inner",
    device: Device = "auto",
    gpus: Iterable[int] | None = None,
    threads: int | None = None,
) -> ArrayJoin:
    """Join two arrays in any order, and return the places of the records of each row.

    left, right: arrays as in xxl.sort_array. They stay as they are.
    on, left_on, right_on: a field of structured arrays, or a list of fields, with the same types on
        both sides. Default: all fields. float16 cannot be a key.
    how: see xxl.join. "semi" and "anti" give places in ``left``, and -1 for ``right``.
    device, gpus, threads: see xxl.sort_array. "auto" joins on the CPU.

    Rows come in the order of the keys, then of the places. Numbers are equal if all their bits are:
    -0.0 is not 0.0, and a NaN equals itself.

    Raises xxl.Error.

    >>> import numpy as np
    >>> left, right = xxl.join_arrays(np.array([5, 7, 9]), np.array([9, 5, 5]), how="left")
    >>> left, right
    (array([0, 0, 1, 2]), array([ 1,  2, -1,  0]))
    """
    numpy = needed("numpy", "joining arrays")
    _check_array(left, "left")
    _check_array(right, "right")
    left_on, right_on = sides("arrays", on, left_on, right_on)
    left_side = _side(left, left_on, "left")
    right_side = _side(right, right_on, "right")
    left_types, right_types = _key_types(left, left_on), _key_types(right, right_on)
    if left_types != right_types:
        raise UsageError(
            f"the keys of left and right are not of the same types: {left_types} and {right_types}"
        )
    pairs = _core.join_arrays(
        left=left_side,
        right=right_side,
        how=how,
        device=device,
        gpus=gpu_list(gpus),
        threads=thread_count(threads),
    )
    left_places = numpy.empty(pairs.rows, numpy.int64)
    right_places = numpy.empty(pairs.rows, numpy.int64)
    pairs.write(_address(left_places), _address(right_places))
    join = ArrayJoin((left_places, right_places))
    join.report = ArrayReport(**pairs.report)
    join.matched = pairs.matched
    return join
