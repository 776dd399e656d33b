"""The exceptions of the package."""

from __future__ import annotations

import contextlib
import errno as numbers
import os
import sys
from collections.abc import Iterator


_NO_SPACE = (numbers.ENOSPC, numbers.EDQUOT, numbers.ENOMEM)


class Error(RuntimeError):
    """An error in a sort or join. str() says what is wrong, where, and what to do.

    >>> try:
    ...     xxl.sort_file("no such file", "out", format="u64")
    ... except xxl.Error as error:
    ...     print(error.code, error.errno, error.path)
    io 2 no such file
    """

    #: "usage", "bad_input" (invalid input), "io", "no_space" (a disk or the memory is too small),
    #: "corrupt" (data read back differ from data written), or "device" (a GPU failed).
    code: str = "io"
    #: The errno value of the system, or None.
    errno: int | None = None
    #: The file concerned, or None.
    path: str | None = None
    #: The place in the file in bytes, or None.
    offset: int | None = None


class UsageError(Error, ValueError):
    """Invalid arguments. `code` is "usage"."""

    code = "usage"


def make_error(
    code: str,
    message: str,
    errno: int | None = None,
    path: str | None = None,
    offset: int | None = None,
) -> Error:
    """The exception for an error of the library."""
    error = UsageError(message) if code == "usage" else Error(message)
    error.code = code
    error.errno = errno
    error.path = path
    error.offset = offset
    return error


@contextlib.contextmanager
def naming(path: str, code: str = "io") -> Iterator[None]:
    """Turn errors of the system and of pyarrow into those of the package, with the file `path`.

    code: of those without a number of the system.
    """
    pyarrow = sys.modules.get("pyarrow")
    try:
        yield
    except (OSError, *([pyarrow.ArrowException] if pyarrow else [])) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number is not None:
            code = "io"
        if isinstance(error, MemoryError) or number in _NO_SPACE:
            code = "no_space"
        what = os.strerror(number) if number else " ".join(str(error).split())
        raise make_error(code, f"{path}: {what}", number, path) from error
