#!/bin/bash
# Builds the fuzz targets (tests/fuzz) and runs each for SECONDS (20), from the inputs kept in
# tests/fuzz/corpus and those found by earlier runs in build-fuzz/corpus. Fails when one of them finds
# something: the input and the log are then in build-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}

cmake --preset fuzz > /dev/null
cmake --build --preset fuzz --target xxl_fuzzers
failed=0
for target in build-fuzz/tests/fuzz/fuzz_*; do
  [[ -x $target && -f $target ]] || continue
  name=${target##*/}
  mkdir -p "build-fuzz/corpus/$name"
  if "$target" -max_total_time="$seconds" -max_len=2000 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="build-fuzz/$name-" -print_final_stats=1 -verbosity=0 \
    "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name" > "build-fuzz/$name.log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$name.log") runs"
  else
    echo "FAILED $name: build-fuzz/$name.log"
    tail -n 40 "build-fuzz/$name.log"
    failed=1
  fi
done
exit "$failed"
