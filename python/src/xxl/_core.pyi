from collections.abc import Callable
from types import TracebackType
from typing import Any

import pyarrow

version: str

def parse_size(size: str, name: str) -> int: ...

class Means:
    def __init__(
        self,
        *,
        memory: int,
        scratch: list[bytes],
        threads: int,
        device: str,
        gpus: list[int],
        gpu_memory: int,
        scratch_codec: str,
        scratch_level: int,
    ) -> None: ...
    @property
    def memory(self) -> int: ...
    def with_memory(self, bytes: int) -> Means: ...

class Batch:
    @property
    def num_rows(self) -> int: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

class Traffic:
    def __init__(self) -> None: ...
    def add_read(self, bytes: int) -> None: ...
    def set_written(self, bytes: int) -> None: ...

class Stream:
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __iter__(self) -> Stream: ...
    def __next__(self) -> Batch: ...
    def read_all(self) -> pyarrow.Table: ...
    def _measured(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Stream: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

Callback = Callable[[str, int, int], object]

# An object, whether its rows are in memory anyway, and how many there are (0 if that is not known).
Table = tuple[Any, bool, int]

def sort_columns(
    table: Table,
    *,
    by: list[tuple[str, bool, bool]],
    limit: int | None,
    unique: bool,
    batch_rows: int | None,
    traffic: Traffic | None,
    means: Means,
    progress: Callback | None,
) -> Stream: ...
def join_columns(
    left: Table,
    right: Table,
    *,
    left_on: list[str],
    right_on: list[str],
    how: str,
    method: str,
    suffix: str,
    batch_rows: int | None,
    traffic: Traffic | None,
    means: Means,
    progress: Callback | None,
) -> Stream: ...
def check_parts(paths: list[bytes]) -> None: ...
# Jobs have the members of SortJob (xxl/sort.h) and JoinJob (xxl/join.h); `how` is its kind.
def sort_files(means: Means, progress: Callback | None, **job: Any) -> dict[str, Any]: ...
def join_files(means: Means, progress: Callback | None, **job: Any) -> dict[str, Any]: ...

KeyParts = list[tuple[int, int, str, bool]]

def sort_array(
    *,
    from_address: int,
    to_address: int,
    bytes: int,
    record_bytes: int,
    parts: KeyParts,
    device: str,
    gpus: list[int],
    threads: int,
) -> dict[str, Any]: ...

class Pairs:
    @property
    def rows(self) -> int: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def matched(self) -> tuple[int, int]: ...
    def write(self, left: int, right: int) -> None: ...

def join_arrays(
    *,
    left: tuple[int, int, int, KeyParts],
    right: tuple[int, int, int, KeyParts],
    how: str,
    device: str,
    gpus: list[int],
    threads: int,
) -> Pairs: ...
