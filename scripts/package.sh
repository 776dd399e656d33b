#!/bin/bash
# Makes the packages in dist/: a tarball of the program that runs on any Linux of glibc 2.28 or later, a
# Debian package of the same, and a wheel for Python. tests/package/run.sh tests them. Arguments are
# cmake's; it builds in the folder $XXL_BUILD, by default build-package.
#
#   scripts/package.sh                      # all three; with GPUs if there is a CUDA compiler
#   scripts/package.sh -DXXL_CUDA=OFF
#   PYTHON=python3.12 scripts/package.sh    # the wheel then is for CPython 3.12 and all later versions
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.28
build=${XXL_BUILD:-build-package}
scripts/install_packages.sh
scripts/install_packages.sh --columns
if command -v ccache > /dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
cmake --preset package -B "$build" -DXXL_ARROW=ON "$@"
cmake --build "$build"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The versions of glibc that the files need: none may be later than the one promised.
check_glibc() {
  local needed
  needed=$(objdump -T "$@" | grep -o '(GLIBC_[0-9.]*)\|GLIBC_[0-9.]* ' | tr -dc '0-9.\n' | sort -uV | tail -n 1)
  printf '%s\n' "$needed" "$glibc" | sort -CV ||
    { echo "glibc $needed is needed, not $glibc: $*"; exit 1; }
  echo "needs glibc $needed: ${*##*/}"
}

version=$("$build/bin/xxl" --version | sed -n '1s/^xxl //p')
name=xxl-$version-linux-$(uname -m)
cmake --install "$build" --prefix "$work/$name" --strip > "$work/install.log"
check_glibc "$work/$name"/bin/xxl "$work/$name"/lib/xxl/*.so*
# The program alone: all other libraries are within it.
if readelf -d "$work/$name/bin/xxl" | grep NEEDED | grep -vE '\[(lib(c|m|pthread|dl|rt)|ld-linux[a-z0-9_-]*)\.so\.[0-9]+\]'; then
  echo "the program needs this library"
  exit 1
fi
mkdir -p dist
rm -f dist/xxl*
# The same files make the same tarball.
tar --sort=name --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner \
  -C "$work" -c "$name" | gzip -9n > "dist/$name.tar.gz"

(cd "$build" && cpack -G DEB -B "$work/package" > "$work/cpack.log") || { cat "$work/cpack.log"; exit 1; }
cp "$work"/package/xxl_*.deb dist

CMAKE_ARGS="-DTBB_DIR=$(realpath "$build")/libraries/lib/cmake/TBB" XXL_BUILD=$build \
  scripts/python_package.sh --wheel
tag=$("${PYTHON:-python3}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
cp "build-python/wheels/$tag"/*.whl dist
ls -l dist
