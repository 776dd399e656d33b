#!/bin/bash
# Builds the fuzz targets (tests/fuzz) and runs each for SECONDS (20), as many at once as there are
# processors, from the inputs kept in tests/fuzz/corpus and those found by earlier runs in
# build-fuzz/corpus. Fails when one of them finds something: the input and the log are then in build-fuzz.
#
#   scripts/fuzz.sh [SECONDS [TARGET]...]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
targets=("${@:2}")

cmake --preset fuzz > /dev/null
cmake --build --preset fuzz --target xxl_fuzzers
if [[ ${#targets[@]} -eq 0 ]]; then
  for source in tests/fuzz/fuzz_*.cc; do
    targets+=("$(basename "$source" .cc)")
  done
fi

fuzz() {
  mkdir -p "build-fuzz/corpus/$1"
  if "build-fuzz/tests/fuzz/$1" -max_total_time="$seconds" -max_len=2000 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="build-fuzz/$1-" -print_final_stats=1 -verbosity=0 \
    "build-fuzz/corpus/$1" "tests/fuzz/corpus/$1" > "build-fuzz/$1.log" 2>&1; then
    echo "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$1.log") runs"
  else
    echo "FAILED $1: build-fuzz/$1.log"
    tail -n 40 "build-fuzz/$1.log"
    return 1
  fi
}
failed=0
for target in "${targets[@]}"; do
  [[ $(jobs -rp | wc -l) -lt $(nproc) ]] || wait -n || failed=1
  fuzz "$target" &
done
while [[ $(jobs -p) ]]; do wait -n || failed=1; done
exit "$failed"
