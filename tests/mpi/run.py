#!/usr/bin/env python3
"""All tests of xxl-mpi. Environment as of cluster.py."""

import sys

from cluster import Failures, RandomSorts  # noqa: F401
from cluster_join import JoinFailures, RandomJoins  # noqa: F401
from cluster_columns import ColumnFailures, ColumnJoins, Columns, RandomColumnJoins, RandomColumnSorts  # noqa: F401
from cluster_text import RandomTextSorts, TextFailures  # noqa: F401
import whole_process

if __name__ == "__main__":
    sys.exit(whole_process.main(sys.modules[__name__]))
