#!/bin/bash
# Builds xxl with the module for Parquet and Arrow files in build-columns, and runs its tests. The last
# line is "N passed, N failed, N skipped". Options are those of tests/cli/columns.py, such as
# --junit FILE.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
scripts/install_packages.sh --columns
cmake -S . -B build-columns -G Ninja -DCMAKE_BUILD_TYPE=Release -DXXL_ARROW=ON -DXXL_CUDA=OFF \
  -DXXL_BUILD_TESTS=OFF -DXXL_UNITY=ON
cmake --build build-columns --target xxl_program xxl_arrow_module
build-columns/venv/bin/python3 tests/cli/columns.py --xxl build-columns/bin/xxl "$@"
