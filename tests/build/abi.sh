#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# abi.sh STAGE LIBDIR [--update]: compares the C interface of an installation with the stored one. What is stored is a
# stub that is made from the C headers: one variable for each exported C function, of the type "pointer to it". So the
# comparison sees arguments and structures as a caller does, and nothing of the C++ behind. --update stores the present.
set -euo pipefail
stage=$1 libdir=$2
baseline=docs/abi/libverbena.so.0.abi
suppressions=tests/build/abi.suppr

command -v abidiff > /dev/null || { echo "skipped: abidiff (package abigail-tools) isn't installed"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the stored interface is that of x86-64"; exit 77; }
if [ ! -e "$baseline" ] && [ "${3:-}" != --update ]; then
  echo "skipped: there is no $baseline to compare with yet"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t functions < <(nm -D --defined-only "$stage/$libdir/libverbena.so.0" |
  sed -n 's/^[0-9a-f]* T \(verbena_[a-z0-9_]*\)@@VERBENA_[0-9.]*$/\1/p' | LC_ALL=C sort)
[ "${#functions[@]}" -gt 0 ] || { echo "no C function is exported"; exit 1; }
{
  for header in "$stage"/include/verbena/*.h; do echo "#include \"verbena/$(basename "$header")\""; done
  for function in "${functions[@]}"; do printf '__typeof__(%s) *abi_of_%s;\n' "$function" "$function"; done
} > "$work/interface.c"
(cd "$work" && "${CC:-cc}" -std=gnu11 -g -shared -fPIC -I"$stage/include" interface.c -Wl,-soname,libverbena.so.0 \
  -o interface.so)

if [ "${3:-}" = --update ]; then
  mkdir -p "$(dirname "$baseline")"
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$baseline" "$work/interface.so"
  echo "$baseline: ${#functions[@]} functions"
  exit
fi
# Bits of the exit code: 1 and 2 are errors, 4 a change, 8 an incompatible one. Additions are welcome.
result=0
abidiff --no-added-syms --suppressions "$suppressions" "$baseline" "$work/interface.so" || result=$?
echo "${#functions[@]} functions"
exit $(( result != 0 ))
