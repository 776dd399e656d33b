#!/bin/bash
# Installs the release build into a temporary directory, checks what is there and what the shared
# library exports, and builds and runs a small project and the examples with the installed libraries,
# static by gcc and shared by clang, by CMake and by pkg-config; then makes the Debian package.
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
test "$(find "$work/prefix/include" -type f | wc -l)" = "$(find include -type f | wc -l)"
find "$work/prefix/include" -name '*.h' | while read -r header; do
  echo "#include <${header#"$work/prefix/include/"}>" |
    g++ -std=c++20 -fsyntax-only -Wall -Wextra -I"$work/prefix/include" -x c++ -
done

# What the shared library exports is what programs rely on: a change of the list is a change of the ABI.
library_dir=$(dirname "$(find "$work/prefix" -name libxxl.so)")
nm -DC --defined-only --without-symbol-versions "$library_dir/libxxl.so" | cut -c20- |
  LC_ALL=C sort -u | diff -u --label cmake/exported_symbols.txt --label libxxl.so cmake/exported_symbols.txt - ||
  { echo "libxxl.so does not export what cmake/exported_symbols.txt lists"; exit 1; }

# Shows what it says only if it fails.
quietly() {
  "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

# Whether the program $2 uses the library as the component $1 says.
check_linked() {
  local linked=static
  [[ $(ldd "$2") != *libxxl.so.1* ]] || linked=shared
  [[ $linked = "$1" ]] || { echo "$2 is linked with the $linked library"; exit 1; }
}

# consume COMPILER static|shared [TARGET...]: builds and runs the project, these examples or all, and
# one by pkg-config.
consume() {
  local compiler=$1 component=$2 build=$work/$1-$2 shared words program
  shift 2
  local settings=(-G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix")
  echo "$compiler, $component library"
  quietly cmake -S tests/installed -B "$build/consumer" "${settings[@]}" -DXXL_COMPONENT="$component"
  quietly cmake --build "$build/consumer"
  check_linked "$component" "$build/consumer/consumer"
  quietly "$build/consumer/consumer" "$work"
  quietly "$build/consumer/consumer_of_stxxl"

  [[ $component = shared ]] && shared=ON || shared=OFF
  quietly cmake -S "$work/prefix/share/doc/xxl/examples" -B "$build/examples" "${settings[@]}" \
    -DBUILD_SHARED_LIBS=$shared
  quietly cmake --build "$build/examples" ${1:+--target "$@"}
  for program in "$build"/examples/example_*; do
    check_linked "$component" "$program"
    quietly "$program"
  done

  if [[ $component = shared ]]; then
    words=$(pkg-config --cflags --libs xxl)
  else
    words=$(pkg-config --cflags --libs --static xxl)
    words=${words/-lxxl/-l:libxxl.a}
  fi
  # shellcheck disable=SC2086  # words of options
  quietly "$compiler" -std=c++20 examples/top_k.cc -o "$build/top_k" $words
  check_linked "$component" "$build/top_k"
  LD_LIBRARY_PATH=$library_dir quietly "$build/top_k"
}
export PKG_CONFIG_PATH=$library_dir/pkgconfig
consume g++ static
consume clang++-14 shared example_top_k example_from_stxxl
if cmake -S tests/installed -B "$work/other" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DXXL_COMPONENT=other > "$work/log" 2>&1 ||
  ! grep -q 'component other is not installed' "$work/log"; then
  cat "$work/log"
  echo "a component that does not exist is not refused"
  exit 1
fi

(cd build-release && cpack -G DEB -B "$work/package" > "$work/cpack.log") ||
  { cat "$work/cpack.log"; exit 1; }
dpkg-deb --contents "$work"/package/*.deb > "$work/contents"
grep -q '\./usr/bin/xxl$' "$work/contents"
grep -q 'libxxl\.so\.1 ->' "$work/contents"
dpkg-deb --field "$work"/package/*.deb Package Version Depends
