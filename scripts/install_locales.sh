#!/bin/bash
# Installs the locales that tests sort in besides C and C.UTF-8: en_US.UTF-8. Those that are there
# already are left alone.
set -euo pipefail

! locale -a | grep -qix 'en_US\.utf-\?8' || exit 0

as_root=()
((EUID == 0)) || as_root=(sudo)
if ! dpkg-query -W -f '${Status}' locales 2> /dev/null | grep -q '^install ok installed'; then
  echo "installing locales"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends locales
fi
"${as_root[@]}" localedef -i en_US -f UTF-8 en_US.UTF-8
