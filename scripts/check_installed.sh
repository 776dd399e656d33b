#!/bin/bash
# Installs the release build into a temporary directory, checks what is there, and builds and runs
# a small project that uses the installed library; then makes the Debian package.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install build-release --prefix "$work/prefix" > "$work/install.log"

for file in bin/xxl include/xxl/{error,job,join,sort}.h share/man/man1/xxl.1 \
  share/man/man1/xxl-sort.1 share/man/man1/xxl-join.1 share/bash-completion/completions/xxl \
  share/zsh/vendor-completions/_xxl share/fish/vendor_completions.d/xxl.fish; do
  test -s "$work/prefix/$file" || { echo "not installed: $file"; exit 1; }
done
"$work/prefix/bin/xxl" --version
# The public headers, and no others; each can be included alone.
test "$(find "$work/prefix/include" -type f | wc -l)" = "$(find include -name '*.h' | wc -l)"
for header in "$work"/prefix/include/xxl/*.h; do
  echo "#include <xxl/$(basename "$header")>" |
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -I"$work/prefix/include" -x c++ -
done

cmake -S tests/installed -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/consumer"
"$work/consumer/consumer" "$work"

(cd build-release && cpack -G DEB -B "$work/package" > "$work/cpack.log") ||
  { cat "$work/cpack.log"; exit 1; }
dpkg-deb --contents "$work"/package/*.deb > "$work/contents"
grep -q '\./usr/bin/xxl$' "$work/contents"
dpkg-deb --field "$work"/package/*.deb Package Version Depends
