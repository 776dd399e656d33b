"""Sort and join tables, files and arrays that are larger than memory.

==================  ==============================================================================
`sort`, `join`      tables of pyarrow, Polars, pandas, DuckDB: anything with Arrow's interface
`sort_parquet`,     Parquet files
`join_parquet`
`sort_csv`          CSV files
`sort_file`,        files of lines, rows or binary records
`join_files`
`sort_array`,       NumPy arrays, on GPUs or all cores
`join_arrays`
==================  ==============================================================================

All functions raise `Error` and let other threads run. Ctrl-C stops them, except those of arrays.
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
