"""Sorts and joins tables, files and arrays, however large, in the memory that they are given.

==================  ==============================================================================
`sort`, `join`      tables of pyarrow, polars, pandas, DuckDB and all who speak Arrow
`sort_parquet`,     files of Parquet
`join_parquet`
`sort_csv`          files of CSV
`sort_file`,        files of lines, rows or binary records, as the command line sorts and joins
`join_files`
`sort_array`,       arrays of NumPy, on GPUs or all processors
`join_arrays`
==================  ==============================================================================

All raise `Error`, let other threads run, and stop at Ctrl-C (but for arrays).
"""

from ._arrays import ArrayJoin, ArrayReport, join_arrays, sort_array
from ._core import Batch, Stream
from ._core import version as __version__
from ._errors import Error, UsageError
from ._files import JoinReport, PhaseReport, SortReport, join_files, sort_csv, sort_file
from ._parquet import ParquetReport, join_parquet, sort_parquet
from ._tables import join, sort

__all__ = [
    "ArrayJoin",
    "ArrayReport",
    "Batch",
    "Error",
    "JoinReport",
    "ParquetReport",
    "PhaseReport",
    "SortReport",
    "Stream",
    "UsageError",
    "__version__",
    "join",
    "join_arrays",
    "join_files",
    "join_parquet",
    "sort",
    "sort_array",
    "sort_csv",
    "sort_file",
    "sort_parquet",
]
