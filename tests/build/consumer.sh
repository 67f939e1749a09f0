#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# consumer.sh CMAKE SOURCE BUILD [CMAKE_ARGUMENT...]: configures, builds and runs somebody else's project.
set -euo pipefail
cmake=$1 source=$2 build=$3
shift 3

rm -rf "$build"
"$cmake" -S "$source" -B "$build" -G Ninja \
  "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_CXX_COMPILER=$CXX" "$@"
"$cmake" --build "$build"
"$build/consumer_cxx"
"$build/consumer_c"
