#!/bin/bash
# Builds xxl, makes a file four times larger than the memory that the sort may use, sorts it and
# validates the result.
#
#     scripts/demo.sh [RECORDS [MEMORY [DIRECTORY]]]
#
# Default: 10M records of 100 bytes (1 GB) with 256M of memory, in build-release/demo. The disk needs room
# for three times the size of the file while the sort runs, and twice its size afterwards: both files stay.
set -euo pipefail
cd "$(dirname "$0")/.."

records=${1:-10M}
memory=${2:-256M}
directory=${3:-build-release/demo}
xxl=build-release/bin/xxl

scripts/build.sh xxl_program
mkdir -p "$directory"

echo "--- making $records records"
"$xxl" gen "$records" -o "$directory/input"
echo "--- sorting them with $memory of memory"
"$xxl" sort --record=gensort -S "$memory" -T "$directory" --stats \
  "$directory/input" -o "$directory/sorted"
echo "--- validating: the output is in order, and its checksum is that of the input"
"$xxl" validate --record=gensort "$directory/sorted"
checksum() {  # the order of the input is not of interest, so neither is the exit status
  { "$xxl" validate --record=gensort "$1" 2> /dev/null || true; } | sed -n 's/^Checksum: *//p'
}
test "$(checksum "$directory/input")" = "$(checksum "$directory/sorted")"
echo "--- the files are $directory/input and $directory/sorted; the program is $xxl"
