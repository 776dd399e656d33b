#!/bin/bash
# Installs what is missing and builds the release preset, or only the targets given: the program is
# xxl_program, in build-release/bin/xxl.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
cmake --preset release
cmake --build --preset release ${1:+--target "$@"}
