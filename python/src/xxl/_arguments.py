"""Arguments of many functions: resources and paths."""

from __future__ import annotations

import importlib
import operator
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from types import ModuleType
from typing import Any, Literal, Union

from . import _core
from ._errors import UsageError

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: Bytes, or a text such as "512M", "4G" or "50%".
Size = Union[int, str]
Device = Literal["auto", "gpu", "cpu"]
How = Literal["inner", "left", "right", "full", "outer", "semi", "anti"]
Method = Literal["auto", "hash", "sort-merge"]
#: Called with the phase, the bytes done in it, and all bytes of it (0 if that is not known).
OnProgress = Callable[[str, int, int], object]


def size(value: Size | None, name: str) -> int:
    """Bytes; 0 for None."""
    if value is None:
        return 0
    if isinstance(value, str):
        number = _core.parse_size(value, name)
    elif isinstance(value, bool):
        raise TypeError(f"{name} is a number of bytes, or a text such as '512M'")
    else:
        number = operator.index(value)
    if not 0 < number < 1 << 64:
        raise UsageError(f"{name} is {value!r}, which is no size")
    return number


def counted(value: int | None, name: str, least: int = 1) -> int | None:
    """A number of at least `least`, or None."""
    if value is None:
        return None
    number = operator.index(value)
    if not least <= number < 1 << 63:
        raise UsageError(f"{name} is {value!r}; it is at least {least}")
    return number


def thread_count(threads: int | None) -> int:
    """Threads; 0 for None."""
    number = counted(threads, "threads") or 0
    if number >= 1 << 16:
        raise UsageError(f"threads is {threads!r}, which is too many")
    return number


def gpu_list(gpus: Iterable[int] | None) -> list[int]:
    """Numbers of GPUs; empty for None."""
    numbers = [operator.index(gpu) for gpu in gpus] if gpus is not None else []
    if any(not 0 <= number < 1 << 32 for number in numbers):
        raise UsageError(f"gpus is {gpus!r}: GPUs are numbered from 0")
    return numbers


def is_path(value: object) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def path_list(paths: Path | Iterable[Path]) -> list[Path]:
    """One path, or several."""
    return [paths] if is_path(paths) else list(paths)  # type: ignore[list-item, arg-type]


def path_bytes(path: Path) -> bytes:
    """A path for the library, where "-" would mean a standard stream."""
    name = os.fsencode(path)
    if not name:
        raise UsageError("a path is empty")
    return b"./-" if name == b"-" else name


def scratch_codec(compress: str | None) -> tuple[str, int]:
    """The codec and level of "lz4", "zstd" or "zstd:LEVEL"; level 0 for its default."""
    if compress is None:
        return "none", 0
    codec, colon, level = compress.partition(":")
    if codec not in ("lz4", "zstd") or (colon and not level.isdecimal()):
        raise UsageError(
            f"scratch_compress is {compress!r}: it is 'lz4' or 'zstd', with a level as in 'zstd:9'"
        )
    return codec, int(level) if colon else 0


def means(
    memory: Size | None,
    scratch: Path | Iterable[Path] | None,
    threads: int | None,
    device: Device = "auto",
    gpus: Iterable[int] | None = None,
    gpu_memory: Size | None = None,
    scratch_compress: str | None = None,
) -> _core.Means:
    """The resources of a call."""
    codec, level = scratch_codec(scratch_compress)
    return _core.Means(
        memory=size(memory, "memory"),
        scratch=[path_bytes(path) for path in path_list(scratch)] if scratch is not None else [],
        threads=thread_count(threads),
        device=device,
        gpus=gpu_list(gpus),
        gpu_memory=size(gpu_memory, "gpu_memory"),
        scratch_codec=codec,
        scratch_level=level,
    )


def one_of(value: str, name: str, *values: str) -> str:
    if value not in values:
        words = [repr(one) for one in values]
        raise UsageError(f"{name} is {', '.join(words[:-1])} or {words[-1]}, not {value!r}")
    return value


def check_words(
    words: Sequence[Any], place: str, known: Collection[str], formats: bool = False
) -> None:
    for word in words:
        if (str(word).partition(":")[0] if formats else word) not in known:
            raise UsageError(f"{word!r} of {place} is none of {', '.join(known)}")


def key_list(
    by: Any, known: Collection[str], example: str, formats: bool = False
) -> list[tuple[Any, Any, list[Any]]]:
    """One key or several, as (key, column, words); the words must be among `known`.

    formats: a word may have a ":" and anything after it.
    """
    if isinstance(by, tuple):
        raise TypeError(
            f"by is {by!r}, which could be one key or several: put keys in a list, "
            f"as in by=['a', {example}]"
        )
    keys = []
    for key in [by] if isinstance(by, (str, int)) else by:
        column, *words = key if isinstance(key, (tuple, list)) else [key]
        check_words(words, f"the key {key!r}", known, formats)
        keys.append((key, column, words))
    if not keys:
        raise UsageError("by names no column")
    return keys


def sides(what: str, on: Any, left_on: Any, right_on: Any) -> tuple[Any, Any]:
    """The keys of the left and of the right side."""
    if on is None:
        return left_on, right_on
    if left_on is not None or right_on is not None:
        raise UsageError(f"{what} are joined on `on`, or on `left_on` and `right_on`")
    return on, on


def check_callback(progress: OnProgress | None) -> OnProgress | None:
    if progress is not None and not callable(progress):
        raise TypeError("progress is a function of a phase, the bytes done, and those in all")
    return progress


def needed(module: str, purpose: str) -> ModuleType:
    """A module of a package needed for `purpose`."""
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ModuleNotFoundError(
            f"{purpose} needs {package}: pip install {package}", name=package
        ) from None
    return importlib.import_module(module)


def names(value: str | Sequence[str], name: str) -> list[str]:
    """One name of a column, or several."""
    result = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(one, str) for one in result):
        raise TypeError(f"{name} is the name of a column, or a list of names")
    return result
