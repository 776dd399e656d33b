#!/bin/bash
# Builds xxl-mpi, the program for several machines, and tests it with the MPI that mpirun belongs to,
# or that of XXL_MPIRUN; with files of columns where scripts/install_packages.sh --columns has been
# run before. The last line is "N passed, N failed, N skipped". Options are those of tests/mpi/run.py,
# such as --junit FILE.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
scripts/install_packages.sh --mpi
cmake --preset release -DXXL_MPI=ON
cmake --build --preset release --target xxl_program xxl_mpi
python=build-columns/venv/bin/python3
[[ -x $python ]] || python=python3
"$python" tests/mpi/run.py --xxl build-release/bin/xxl "$@"
