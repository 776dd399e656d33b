#!/bin/bash
# Tests the packages in dist/ (scripts/package.sh makes them) on other distributions: each is installed in a clean
# root directory, where it sorts and joins, and is compared. Names of Debian's suites may be given. Needs
# root and debootstrap; the roots are kept in build-package/roots.
#
#   tests/package/run.sh                      # Debian 11 (glibc 2.31), 12 (2.36) and 13 (2.41)
#   tests/package/run.sh bookworm
# shellcheck disable=SC2317  # functions are called by their names
set -euo pipefail
cd "$(dirname "$0")/../.."

suites=("$@")
((${#suites[@]})) || suites=(bullseye bookworm trixie)
roots=${XXL_ROOTS:-build-package/roots}
passed=0 failed=0 skipped=0
finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0)) || exit 1
  exit 0
}

tarball=$(echo dist/xxl-*.tar.gz) deb=$(echo dist/xxl_*.deb) wheel=$(echo dist/*.whl)
[[ -s $tarball && -s $deb && -s $wheel ]] || { echo "dist/ has no packages: scripts/package.sh makes them"; exit 1; }
((EUID == 0)) || { echo "SKIPPED: only root can make root directories"; skipped=1; finish; }
command -v debootstrap > /dev/null ||
  { apt-get update -qq && apt-get install -qq -y --no-install-recommends debootstrap; } > /dev/null 2>&1 ||
  { echo "SKIPPED: debootstrap is not installed, and apt-get cannot install it"; skipped=1; finish; }
python=build-columns/venv/bin/python3
[[ -x $python ]] || scripts/install_packages.sh --columns

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The root of the suite $1, with Python for the wheel.
make_root() {
  local root=$roots/$1
  [[ ! -e $root.ready ]] || return 0
  rm -rf "$root"
  mkdir -p "$roots"
  debootstrap --variant=minbase --include=python3-venv "$1" "$root" > "$work/log" 2>&1 || return 1
  touch "$root.ready"
}

# Runs a command in the root $1.
inside() {
  local root=$1
  shift
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount --pid --fork sh -c '
    root=$1; shift
    mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" && exec chroot "$root" "$@"' \
    sh "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"
}

# A check, with what it says if it fails.
check() {
  local name=$1
  shift
  if "$@" > "$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "passed: $name: $(tail -n 1 "$work/log")"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    cat "$work/log"
  fi
}

# What tests/package/program.sh needs and leaves, by pyarrow on this machine.
make_table() {
  "$python" - "$1/table.parquet" << 'END'
import random, sys
import pyarrow as pa, pyarrow.parquet as pq
random.seed(1)
ids = [random.randrange(10**6) for _ in range(100_000)]
pq.write_table(pa.table({"id": ids, "name": [f"n{i}" for i in ids]}), sys.argv[1], compression="zstd")
END
}
check_table() {
  "$python" - "$1/table.parquet" "$1/sorted.parquet" << 'END'
import sys
import pyarrow.parquet as pq
before, after = (pq.read_table(path) for path in sys.argv[1:])
assert after.equals(before.sort_by("id")), "not the sorted table"
END
}
try_program() {
  local root=$1
  mkdir -p "$root/test"
  make_table "$root/test"
  cp tests/package/program.sh "$root/test"
  inside "$root" sh /test/program.sh /test && check_table "$root/test" && inside "$root" xxl --version
}

try_tarball() {
  local root=$1
  tar -C "$root/usr/local" --strip-components=1 -xzf "$tarball"
  try_program "$root"
}

try_deb() {
  local root=$1
  cp "$deb" "$root/xxl.deb"
  inside "$root" dpkg -i /xxl.deb
  [[ $(inside "$root" sh -c 'command -v xxl') = /usr/bin/xxl ]]
  try_program "$root"
  inside "$root" dpkg --purge xxl
  [[ ! -e $root/usr/bin/xxl && ! -e $root/usr/lib/xxl ]]
}

# Whether the wheel is for the Python of the root $1.
fits() {
  local version tag
  version=$(inside "$1" python3 -c 'import sys; print("%d%02d" % sys.version_info[:2])' 2> /dev/null) || return 1
  tag=$(sed -E 's/.*-cp([0-9])([0-9]+)-.*/\1\2/' <<< "$wheel")
  [[ $version = "$tag" || ($wheel = *-abi3-* && $version -gt $tag) ]]
}
try_wheel() {
  local root=$1
  mkdir -p "$root/test"
  cp "$wheel" tests/package/wheel.py "$root/test"
  inside "$root" python3 -m venv /test/venv
  inside "$root" /test/venv/bin/pip install -q --no-index "/test/$(basename "$wheel")"
  inside "$root" sh -c 'cd /test && venv/bin/python wheel.py'
}

for suite in "${suites[@]}"; do
  if ! make_root "$suite"; then
    tail -n 2 "$work/log"
    echo "SKIPPED: $suite: debootstrap cannot get it"
    skipped=$((skipped + 1))
    continue
  fi
  libc=$(inside "$roots/$suite" ldd --version | sed -n '1s/.* //p')
  for package in tarball deb wheel; do
    name="$package on $suite (glibc $libc)"
    if [[ $package = wheel ]] && ! fits "$roots/$suite"; then
      echo "SKIPPED: $name: the wheel is for another Python"
      skipped=$((skipped + 1))
      continue
    fi
    rm -rf "$work/root"
    cp -a --reflink=auto "$roots/$suite" "$work/root"
    # In a shell of its own, for a failure ends a function only there.
    check "$name" bash -euo pipefail -c "$(declare -f inside make_table check_table try_program "try_$package")
      python=$python tarball=$tarball deb=$deb wheel=$wheel
      try_$package $work/root"
  done
done
finish
