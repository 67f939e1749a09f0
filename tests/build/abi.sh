#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# abi.sh STAGE LIBDIR [--update]: compares the C interface with the stored one, docs/abi/libverbena.so.0.abi. Only what
# carries version VERBENA_0 counts: the C++ interface promises no ABI before 1.0. --update stores the present state.
set -euo pipefail
stage=$1 libdir=$2
library=$stage/$libdir/libverbena.so.0
baseline=docs/abi/libverbena.so.0.abi
suppressions=tests/build/abi.suppr

command -v abidiff > /dev/null || { echo "skipped: abidiff (package abigail-tools) isn't installed"; exit 77; }
if [ "${3:-}" = --update ]; then
  mkdir -p "$(dirname "$baseline")"
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --drop-private-types --headers-dir "$stage/include" \
    --suppressions "$suppressions" --out-file "$baseline" "$library"
  exit
fi
[ -e "$baseline" ] || { echo "skipped: there is no $baseline to compare with yet"; exit 77; }
# Bits of the exit code: 1 and 2 are errors, 4 a change, 8 an incompatible one. Additions are welcome.
result=0
abidiff --no-added-syms --drop-private-types --headers-dir2 "$stage/include" --suppressions "$suppressions" \
  "$baseline" "$library" || result=$?
exit $(( result != 0 ))
