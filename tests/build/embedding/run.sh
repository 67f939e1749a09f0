#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# run.sh CMAKE BUILD: a file is embedded byte for byte, also an empty one, one past the 64 KiB that a string literal may
# hold, and bytes that a literal would have to escape; a folder without files gives an empty list; a file that is added
# shows up at the next build, one that is removed is gone.
set -euo pipefail
cmake=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)

rm -rf "$build"
mkdir -p "$build/tables"
: > "$build/tables/empty.yaml"
printf 'a: "\\x"  # ?""/ %%s )" \xc3\xa9\n\ttab' > "$build/tables/odd.yaml"
head -c 200000 /dev/urandom | od -An -tx1 > "$build/tables/large.yaml"

configure=("$cmake" -S "$here" -B "$build/out" -G Ninja "-DCMAKE_CXX_COMPILER=$CXX" "-DTABLES=$build/tables")
"${configure[@]}"
"$cmake" --build "$build/out"
"$build/out/embedding" "$build"/tables/{empty,large,odd}.yaml

echo 'late: true' > "$build/tables/late.yaml"
echo 'a: changed' > "$build/tables/odd.yaml"
"$cmake" --build "$build/out"
"$build/out/embedding" "$build"/tables/{empty,large,late,odd}.yaml

rm "$build/tables/large.yaml"
"$cmake" --build "$build/out"
"$build/out/embedding" "$build"/tables/{empty,late,odd}.yaml
