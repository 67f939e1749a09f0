#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# run.sh STAGE LIBDIR BUILD: a C and a C++ program built with what pkg-config says, and nothing else.
set -euo pipefail
stage=$1 libdir=$2 build=$3
here=$(cd "$(dirname "$0")/.." && pwd)

# The file was made for the final prefix; the stage stands in for it.
export PKG_CONFIG_PATH=$stage/$libdir/pkgconfig
flags=$(pkg-config "--define-variable=prefix=$stage" --cflags --libs verbena)
if grep -qE -- '-l(yaml-cpp|fmt|rdmacm)' <<< "$flags"; then
  echo "what the library needs for itself reaches its users: $flags"
  exit 1
fi
[ "$(pkg-config --modversion verbena)" = 0.1.0 ] || { pkg-config --modversion verbena; exit 1; }

mkdir -p "$build"
# shellcheck disable=SC2086  # one word a flag
"$CXX" -std=c++20 "$here/consumer.cpp" $flags -o "$build/consumer_cxx"
# shellcheck disable=SC2086
"$CC" -std=c11 "$here/consumer.c" $flags -o "$build/consumer_c"
export LD_LIBRARY_PATH=$stage/$libdir
"$build/consumer_cxx"
"$build/consumer_c"
