#!/bin/bash
# Makes the locales that tests sort in besides C and C.UTF-8. Those that are there already are left
# alone.
set -euo pipefail

as_root=()
((EUID == 0)) || as_root=(sudo)

# Locale $1, from source $2 in character set $3, unless `locale -a` has it ($4).
make_locale() {
  ! locale -a | grep -qix "$4" || return 0
  if ! dpkg-query -W -f '${Status}' locales 2> /dev/null | grep -q '^install ok installed'; then
    echo "installing locales"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq -y --no-install-recommends locales
  fi
  "${as_root[@]}" localedef -i "$2" -f "$3" "$1"
}

make_locale en_US.UTF-8 en_US UTF-8 'en_US\.utf-\?8'
make_locale de_DE.UTF-8 de_DE UTF-8 'de_DE\.utf-\?8'
make_locale es_ES.UTF-8 es_ES UTF-8 'es_ES\.utf-\?8'
make_locale cs_CZ.UTF-8 cs_CZ UTF-8 'cs_CZ\.utf-\?8'
make_locale ja_JP.UTF-8 ja_JP UTF-8 'ja_JP\.utf-\?8'
make_locale th_TH.UTF-8 th_TH UTF-8 'th_TH\.utf-\?8'
make_locale zh_CN.GB18030 zh_CN GB18030 'zh_CN\.gb18030'
make_locale en_US.ISO-8859-1 en_US ISO-8859-1 'en_US\.iso-\?8859-\?1'
make_locale fr_FR.ISO-8859-1 fr_FR ISO-8859-1 'fr_FR\.iso-\?8859-\?1'
make_locale cs_CZ.ISO-8859-2 cs_CZ ISO-8859-2 'cs_CZ\.iso-\?8859-\?2'
make_locale ps_AF.UTF-8 ps_AF UTF-8 'ps_AF\.utf-\?8'
