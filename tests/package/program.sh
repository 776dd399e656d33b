#!/bin/sh
# Run within a root directory in which the program is installed: sorts, joins and compares with sort(1) and
# join(1). $1 is a folder with table.parquet, and sorted.parquet is left there.
set -eu
folder=$1
work=$(mktemp -d)
cd "$work"
export LC_ALL=C
awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) print int(rand() * 1000000), i }' > lines

# By options of sort(1), in several runs, and through a link
sort -k1,1n lines > expected
xxl sort -S 4M -k1,1n lines -o sorted
cmp expected sorted
ln -s "$(command -v xxl)" sort
./sort -k1,1n lines | cmp expected -

# Each library for compression
for suffix in gz zst lz4; do
  xxl sort -k1,1n lines -o "sorted.$suffix"
  xxl sort -c -k1,1n "sorted.$suffix"
done
xxl sort -k1,1n sorted.zst | cmp expected -
xxl sort -S 4M --temp-compress=zstd -k1,1n lines | cmp expected -
for program in gzip bzip2 xz; do
  command -v $program > /dev/null || continue
  $program -k lines
  xxl sort -k1,1n lines.* | cmp expected -
  rm lines.*
done

# Lines joined
sort -k1,1 lines | awk 'NR % 2' > left
sort -k1,1 lines | awk 'NR % 3' > right
join -a1 left right > expected
xxl join -a1 left right > joined
cmp expected joined

# Rows
{ echo id,name; awk '{ print $1 ",n" $2 }' lines; } > rows.csv
xxl sort --record=csv --header --key=id:number:desc rows.csv -o sorted.csv
{ echo id,name; sed 1d rows.csv | sort -s -t, -k1,1nr; } | cmp - sorted.csv

# Binary records
xxl gen 100k -o records
xxl sort --record=gensort -S 8M records -o sorted.records
xxl validate --record=gensort sorted.records

# A table
xxl sort --record=parquet --key=id "$folder/table.parquet" -o "$folder/sorted.parquet"

# A locale, and errors
LC_ALL=C.UTF-8 xxl sort lines > /dev/null
if xxl sort /nonexistent 2> message; then exit 1; fi
test "$(wc -l < message)" = 1

xxl --version
