#!/bin/bash
# Installs what xxl needs to be built and tested, from the distribution's own packages (Debian 12,
# Ubuntu 24.04). With --checks also what the further checks of .ci/run need, with --bench what the
# benchmarks need. Packages that are there already are left alone.
set -euo pipefail

packages=(build-essential cmake ninja-build pkg-config python3
  libboost-program-options-dev libtbb-dev liburing-dev libxxhash-dev nettle-dev libgtest-dev
  locales)
case ${1:-} in
  --checks) packages+=(clang-format-14 shellcheck ccache) ;;
  --bench) packages+=(libbenchmark-dev libstxxl-dev libhwy-dev) ;;
esac

# Locales that tests sort in. Where they cannot be made, those tests are skipped.
make_locales() {
  local definition
  for definition in en_US.UTF-8 de_DE.UTF-8 en_US.ISO-8859-1; do
    LC_ALL=$definition locale charmap 2> /dev/null | grep -qx "${definition#*.}" && continue
    echo "making locale $definition"
    "${as_root[@]}" localedef -i "${definition%%.*}" -f "${definition#*.}" "$definition" ||
      echo "locale $definition could not be made"
  done
}

as_root=()
((EUID == 0)) || as_root=(sudo)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q '^install ok installed' ||
    missing+=("$package")
done
if ((${#missing[@]})); then
  echo "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}"
fi
make_locales
