"""Files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from ._errors import UsageError, naming


@contextlib.contextmanager
def atomic_file(path: str) -> Iterator[BinaryIO]:
    """A file for writing. It gets its name when the `with` block ends without an exception.

    Until then it has no name, as in `io/output_file.cc`, so that nothing stays if the process ends.
    File systems without unnamed files get a temporary name.
    """
    target = os.path.realpath(path)  # what a link leads to is replaced, not the link
    directory, name = os.path.split(target)
    temporary = f".xxl-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    with naming(path):
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with naming(path):
            _check_replaceable(path, target)
            file = os.fdopen(_open(temporary, folder), "wb")
        try:
            yield file
            with naming(path):
                file.flush()
                _take_attributes(target, file.fileno())
                os.fsync(file.fileno())
                if os.fstat(file.fileno()).st_nlink == 0:
                    # A link by way of /proc names an unnamed file; it cannot replace another.
                    os.link(f"/proc/self/fd/{file.fileno()}", temporary, dst_dir_fd=folder,
                            follow_symlinks=True)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
        finally:
            # A failing close is one of the last flush, which is then without meaning.
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):  # mostly it has no such name
                os.unlink(temporary, dir_fd=folder)
    finally:
        os.close(folder)


def _check_replaceable(path: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise UsageError(f"{path}: this is no file that could be replaced")
        # As if to overwrite it: refused where that is.
        os.close(os.open(target, os.O_WRONLY | os.O_CLOEXEC))


def _open(temporary: str, folder: int) -> int:
    flags = os.O_WRONLY | os.O_CLOEXEC
    try:
        return os.open(".", flags | os.O_TMPFILE, 0o666, dir_fd=folder)
    except OSError:
        return os.open(temporary, flags | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)


def _take_attributes(target: str, descriptor: int) -> None:
    """Copy the owner, if possible, and the mode of the replaced file."""
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(target)
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
