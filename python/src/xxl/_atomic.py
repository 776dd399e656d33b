"""Files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from types import TracebackType
from typing import BinaryIO

from ._errors import UsageError, naming


class AtomicFile:
    """A file for writing, which takes its name when the `with` block is left without an exception.

    Until then it has none, as `io/output_file.cc` does it: whatever ends the process, nothing is
    left behind. Where there are no unnamed files, it has a temporary name.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        # What a link leads to is replaced, not the link.
        self._target = os.path.realpath(path)
        with naming(path):
            self._create()

    def _create(self) -> None:
        folder, self._name = os.path.split(self._target)
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._temporary: str | None = None
        try:
            with contextlib.suppress(FileNotFoundError):
                if not stat.S_ISREG(os.stat(self._target).st_mode):
                    raise UsageError(f"{self._path}: this is no file that could be replaced")
                # As if to overwrite it: refused where that is.
                os.close(os.open(self._target, os.O_WRONLY | os.O_CLOEXEC))
            self.file: BinaryIO = os.fdopen(self._open(), "wb")
        except BaseException:
            os.close(self._folder)
            raise

    def _open(self) -> int:
        try:
            return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666,
                           dir_fd=self._folder)
        except OSError:
            self._temporary = self._temporary_name()
            return os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC,
                           0o666, dir_fd=self._folder)

    def _temporary_name(self) -> str:
        return f".xxl-{os.getpid()}-{secrets.token_hex(8)}.tmp"

    def __enter__(self) -> BinaryIO:
        return self.file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                with naming(self._path):
                    self._publish()
        finally:
            # A failing close is one of the last flush, which is then without meaning.
            with contextlib.suppress(OSError):
                self.file.close()
            if self._temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._temporary, dir_fd=self._folder)
            os.close(self._folder)

    def _publish(self) -> None:
        self.file.flush()
        descriptor = self.file.fileno()
        self._take_attributes(descriptor)
        os.fsync(descriptor)
        if self._temporary is None:
            name = self._temporary_name()
            # A link by way of /proc gives an unnamed file a name; it cannot replace another.
            os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=self._folder,
                    follow_symlinks=True)
            self._temporary = name
        os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._temporary = None
        os.fsync(self._folder)

    def _take_attributes(self, descriptor: int) -> None:
        """Those of the file that is replaced: its owner, if that can be, and its mode."""
        try:
            old = os.stat(self._target)
        except FileNotFoundError:
            return
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
