#!/bin/bash
# Builds libraries from the distribution's source packages and installs them in the folder $1: oneTBB and simdjson,
# which are not there as static libraries, and bzip2, whose static library cannot be part of a shared one.
set -euo pipefail

target=$(realpath -m "$1")
[[ ! -s $target/lib/libsimdjson.a ]] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The distribution's packages come with sources; other sources of packages may not. The lists are
# private, so that nothing changes for apt.
# shellcheck source=/dev/null
. /etc/os-release
packages() {
  # shellcheck disable=SC2016  # apt-get replaces these
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' "Origin: ${ID^}" | sort -u
}
packages > "$work/sources.list"
if [[ ! -s $work/sources.list ]]; then
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  packages > "$work/sources.list"
fi
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
apt=(apt-get -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User="$(id -un)")
cd "$work"
{
  "${apt[@]}" update && "${apt[@]}" source onetbb bzip2 simdjson &&
    cmake -S onetbb-*/ -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBB_ENABLE_IPO=OFF \
      -DTBBMALLOC_BUILD=OFF -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$target" &&
    cmake --build build && cmake --install build &&
    gcc -O2 -fPIC -D_FILE_OFFSET_BITS=64 -c \
      bzip2-*/{blocksort,huffman,crctable,randtable,compress,decompress,bzlib}.c &&
    ar rcs "$target/lib/libbz2.a" ./*.o &&
    (cd simdjson-*/ && g++ -O2 -fPIC -std=c++17 -Iinclude -Isrc -c -o ../simdjson.obj src/simdjson.cpp) &&
    ar rcs "$target/lib/libsimdjson.a" simdjson.obj
} > log 2>&1 || { cat log; echo "oneTBB, bzip2 and simdjson cannot be built from their source packages"; exit 1; }
