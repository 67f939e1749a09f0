#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# c_alone.sh CMAKE SOURCE BUILD VERBENA: a project of C alone that adds the library is told what to write.
set -euo pipefail
rm -rf "$3"
if said=$("$1" -S "$2" -B "$3" -G Ninja "-DCMAKE_C_COMPILER=$CC" "-DVERBENA_SOURCE=$4" 2>&1); then
  echo "it configures, which nobody expects: let it be a consumer that is built"
  exit 1
fi
said=$(tr -s ' \n' ' ' <<< "$said")
if [[ $said != *"project(... LANGUAGES C CXX)"* ]]; then
  printf '%s\n' "$said"
  exit 1
fi
