#!/bin/bash
# Builds xxl and runs all tests: unit tests, command-line tests, random jobs compared with references, with
# Python's and GNU's, faults of the machine and its limits (most of which need root; the file systems of
# install_packages.sh --checks, where they are). It takes no arguments. The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
[[ $# -eq 0 ]] || { echo "scripts/test.sh takes no arguments: $1" >&2; exit 2; }

scripts/build.sh
scripts/install_locales.sh
results=build-release/results
rm -rf "$results"
mkdir -p "$results"
jobs=$(nproc)

# A test that fails does not stop the ones after it: the sum at the end decides.
ctest --preset release -L unit -j "$jobs" --output-junit "$PWD/$results/unit.xml" || true
tests/cli/run.py --xxl build-release/bin/xxl -j "$jobs" --junit "$results/cli.xml" || true

# These run one small process after the other, and wait for disks in between: twice as many as there
# are processors side by side, the longest first. Those that need settings of the machine or a user of their own run alone.
programs=(sort_differential join_differential differential shuffles groups long_lines faults parts verified memory_advice recipes)
alone=(output_file limits)
run_program() {
  local log=$results/$1.log many=()
  [[ ! ${XXL_CI_ALL:-} || $1 != *_differential ]] || many=(--cases=10000)
  tests/cli/"$1".py --xxl build-release/bin/xxl --junit "$results/$1.xml" "${many[@]}" > "$log" 2>&1 || true
  cat "$log"
}
export results
export -f run_program
printf '%s\0' "${programs[@]}" | xargs -0 -P "$((2 * jobs))" -I '{}' bash -c 'run_program {}'
for program in "${alone[@]}"; do run_program "$program"; done
# Jobs that the campaign with faults does not run.
build-release/tests/campaign/xxl-campaign --no-faults --seeds=1000001..1000300 --junit="$PWD/$results/no_faults.xml" || true
tests/campaign/real_machine.py --xxl build-release/bin/xxl --kills=60 --power-cuts=60 --disks=20 \
  --limits=30 --junit "$results/real_machine.xml" || true

files=(unit cli "${programs[@]}" "${alone[@]}" no_faults real_machine)
files=("${files[@]/#/$results/}")
scripts/sum_results.py "${files[@]/%/.xml}"
