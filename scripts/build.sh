#!/bin/bash
# Installs what is missing and builds the release preset; the program is build-release/bin/xxl.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_packages.sh
cmake --preset release
cmake --build --preset release
