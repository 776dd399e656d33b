#!/bin/bash
# Checks the layout of all C++ sources; --fix mends it. Versions of clang-format differ in their
# results, so it is always version 14.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run --Werror)
[[ ${1:-} != --fix ]] || mode=(-i)
git ls-files -z '*.cc' '*.h' '*.cu' '*.cuh' | xargs -0 clang-format-14 "${mode[@]}"
