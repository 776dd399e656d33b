#!/bin/bash
# Builds xxl and runs all tests: unit tests, command-line tests, random sorts and joins compared with
# Python's and GNU's, faults of the machine and its limits (some of which need root). The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh
scripts/install_locales.sh
results=build-release/results
rm -rf "$results"
mkdir -p "$results"
jobs=$(nproc)

# A test that fails does not stop the ones after it: the sum at the end decides.
ctest --preset release -L unit -j "$jobs" --output-junit "$PWD/$results/unit.xml" || true
tests/cli/run.py --xxl build-release/bin/xxl -j "$jobs" --junit "$results/cli.xml" || true
tests/cli/differential.py --xxl build-release/bin/xxl --junit "$results/differential.xml" || true
tests/cli/sort_differential.py --xxl build-release/bin/xxl \
  --junit "$results/sort_differential.xml" || true
tests/cli/join_differential.py --xxl build-release/bin/xxl \
  --junit "$results/join_differential.xml" || true
tests/cli/join_records_differential.py --xxl build-release/bin/xxl \
  --junit "$results/join_records_differential.xml" || true
tests/cli/faults.py --xxl build-release/bin/xxl --junit "$results/faults.xml" || true
tests/cli/long_lines.py --xxl build-release/bin/xxl --junit "$results/long_lines.xml" || true
tests/cli/output_file.py --xxl build-release/bin/xxl --junit "$results/output_file.xml" || true
tests/cli/parts.py --xxl build-release/bin/xxl --junit "$results/parts.xml" || true
tests/cli/limits.py --xxl build-release/bin/xxl --junit "$results/limits.xml" || true
tests/cli/keep_order.py --xxl build-release/bin/xxl --junit "$results/keep_order.xml" || true
tests/cli/shuffles.py --xxl build-release/bin/xxl --junit "$results/shuffles.xml" || true
tests/cli/folds.py --xxl build-release/bin/xxl --junit "$results/folds.xml" || true
tests/cli/sets.py --xxl build-release/bin/xxl --junit "$results/sets.xml" || true

scripts/sum_results.py "$results"/{unit,cli,differential,sort_differential,join_differential,join_records_differential,faults,output_file,limits,long_lines,parts,keep_order,shuffles,folds,sets}.xml
