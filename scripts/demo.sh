#!/bin/bash
# Builds xxl, makes a file four times larger than the memory that the sort may use, sorts it and
# validates the result.
#
#     scripts/demo.sh [RECORDS [MEMORY [DIRECTORY]]]
#
# Default: 10M records of 100 bytes (1 GB) with 256M of memory, in build-release/demo. It takes
# three times the size of the file on the disk.
set -euo pipefail
cd "$(dirname "$0")/.."

records=${1:-10M}
memory=${2:-256M}
directory=${3:-build-release/demo}
xxl=build-release/bin/xxl

scripts/build.sh xxl_program
mkdir -p "$directory"
trap 'rm -rf "$directory/input" "$directory/sorted"' EXIT

echo "--- making $records records"
"$xxl" gen "$records" -o "$directory/input"
echo "--- sorting them with $memory of memory"
"$xxl" sort --record=gensort -S "$memory" -T "$directory" --stats \
  "$directory/input" -o "$directory/sorted"
echo "--- before: is the input sorted?"
"$xxl" validate --record=gensort "$directory/input" || true
echo "--- after: is the output sorted, and has it the same checksum?"
"$xxl" validate --record=gensort "$directory/sorted"
