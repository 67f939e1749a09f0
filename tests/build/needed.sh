#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# needed.sh LIBRARY: at run time the library needs libibverbs, librdmacm, libyaml-cpp and the compiler's own; vendors'
# libraries are opened where present, never linked.
set -euo pipefail

allowed='^(libibverbs\.so\.1|librdmacm\.so\.1|libyaml-cpp\.so\.[0-9.]+|libstdc\+\+\.so\.6|libgcc_s\.so\.1|libc\.so\.6|libm\.so\.6|ld-linux-.*)$'
needed=$(readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
if extra=$(printf '%s\n' "$needed" | grep . | grep -vE "$allowed"); then
  printf 'needed, but not allowed:\n%s\n' "$extra"
  exit 1
fi
soname=$(readelf -dW "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
if [ "$soname" != libverbena.so.0 ]; then
  echo "SONAME is '$soname', not libverbena.so.0"
  exit 1
fi
printf 'needs:\n%s\n' "$needed"
