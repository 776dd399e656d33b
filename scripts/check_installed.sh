#!/bin/bash
# Installs the release build into a temporary directory, checks what is there, and builds and runs
# a small project and the examples with the installed library, one of them by pkg-config; then makes
# the Debian package.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install build-release --prefix "$work/prefix" > "$work/install.log"

for file in bin/xxl include/xxl/{error,job,join,sort,sorter,stxxl}.h share/man/man1/xxl.1 \
  share/man/man1/xxl-sort.1 share/man/man1/xxl-join.1 share/bash-completion/completions/xxl \
  share/zsh/vendor-completions/_xxl share/fish/vendor_completions.d/xxl.fish; do
  test -s "$work/prefix/$file" || { echo "not installed: $file"; exit 1; }
done
"$work/prefix/bin/xxl" --version
# The public headers, and no others; each can be included alone.
test "$(find "$work/prefix/include" -type f | wc -l)" = "$(find include -name '*.h' | wc -l)"
find "$work/prefix/include" -name '*.h' | while read -r header; do
  echo "#include <${header#"$work/prefix/include/"}>" |
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -I"$work/prefix/include" -x c++ -
done

cmake -S tests/installed -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/consumer"
"$work/consumer/consumer" "$work"
cmake -S "$work/prefix/share/doc/xxl/examples" -B "$work/examples" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/examples" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
ctest --test-dir "$work/examples" --output-on-failure
pc=$(find "$work/prefix" -name xxl.pc)
# shellcheck disable=SC2046  # words of options
g++ -std=c++20 examples/top_k.cc -o "$work/top_k" $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs xxl)
"$work/top_k" > "$work/top_k.out"

(cd build-release && cpack -G DEB -B "$work/package" > "$work/cpack.log") ||
  { cat "$work/cpack.log"; exit 1; }
dpkg-deb --contents "$work"/package/*.deb > "$work/contents"
grep -q '\./usr/bin/xxl$' "$work/contents"
dpkg-deb --field "$work"/package/*.deb Package Version Depends
