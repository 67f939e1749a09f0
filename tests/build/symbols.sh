#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# symbols.sh LIBRARY: what is exported is the C interface (verbena_*) and namespace verbena, each under its version;
# nothing of fmt, yaml-cpp or the standard library leaks.
set -euo pipefail

exported=$(nm -D --defined-only --demangle "$1" | sed -E 's/^[0-9a-f]+ //')
allowed='^(A VERBENA_(CXX_)?0|[TRDBVWu] verbena_[a-z0-9_]+@@VERBENA_0|[TRDBVWu] ((typeinfo|typeinfo name|vtable) for )?verbena::.*@@VERBENA_CXX_0)$'
if extra=$(grep -vE "$allowed" <<< "$exported"); then
  printf 'exported, but not of the interface:\n%s\n' "$extra"
  exit 1
fi
if leaked=$(grep -E 'verbena::(builtin|detail|internal)::' <<< "$exported"); then
  printf 'internals are exported:\n%s\n' "$leaked"
  exit 1
fi
grep -q ' verbena_version@@VERBENA_0$' <<< "$exported" || { echo 'verbena_version is not exported'; exit 1; }
grep -c . <<< "$exported"
