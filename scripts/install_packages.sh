#!/bin/bash
# Installs what xxl needs to be built and tested, from the distribution's own packages (Debian 12,
# Ubuntu 24.04). With --checks also what the further checks of .ci/run need, with --bench what the
# benchmarks need, with --columns what the module for Parquet and Arrow files and its tests need: these
# are Python packages, in build-columns/venv; with --python what the Python package needs; with --mpi
# what the program for several machines needs (Open MPI); with --browser the browser in which pages are
# tested (Debian's: Ubuntu has none but as a snap). Packages that are there already are left alone.
set -euo pipefail

packages=(build-essential cmake ninja-build pkg-config python3
  libboost-program-options-dev libtbb-dev liburing-dev libxxhash-dev nettle-dev
  zlib1g-dev libzstd-dev liblz4-dev liblzma-dev libbz2-dev libsimdjson-dev nlohmann-json3-dev libgtest-dev gzip zstd lz4 bzip2 xz-utils locales)
case ${1:-} in
  --checks) packages+=(clang-format-14 clang-14 libclang-rt-14-dev shellcheck ccache doxygen
    e2fsprogs xfsprogs btrfs-progs) ;;
  --browser) packages+=(chromium) ;;
  --columns) packages+=(python3-venv) ;;
  --python) packages+=(python3-dev python3-venv) ;;
  --mpi) packages+=(libopenmpi-dev openmpi-bin) ;;
  --bench) packages+=(libstxxl-dev) ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q '^install ok installed' ||
    missing+=("$package")
done
if ((${#missing[@]})); then
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  echo "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}"
fi

# Apache Arrow's C++ library is part of pyarrow. The distributions' pip installs nothing beside their
# own packages, but into an environment of its own.
if [[ ${1:-} = --columns ]]; then
  venv=$(dirname "$0")/../build-columns/venv
  [[ -x $venv/bin/pip ]] || python3 -m venv "$venv"
  "$venv/bin/python3" -c 'import pyarrow, duckdb' 2> /dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check pyarrow duckdb
fi
