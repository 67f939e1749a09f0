#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# install.sh CMAKE BUILD_FOLDER STAGE LIBDIR: installs into STAGE and looks whether all that is promised is there.
set -euo pipefail
cmake=$1 build=$2 stage=$3 libdir=$4

rm -rf "$stage"
"$cmake" --install "$build" --prefix "$stage" > /dev/null

missing=0
expect() {
  for path in "$@"; do
    if ! compgen -G "$stage/$path" > /dev/null; then
      echo "not installed: $path"
      missing=1
    fi
  done
}
expect "$libdir/libverbena.so" "$libdir/libverbena.so.0" "$libdir/pkgconfig/verbena.pc" \
  "$libdir"/cmake/verbena/{verbenaConfig,verbenaConfigVersion,verbenaTargets,FindRdmaCore}.cmake \
  share/doc/verbena/LICENSE-{APACHE,MIT,CC0}

# Every public header, table, model and schema of the source tree.
while read -r header; do expect "include/${header#core/include/}"; done < <(find core/include -name '*.h' -o -name '*.hpp')
for pair in quirks:quirks.d models:models; do
  folder=${pair%%:*}
  [ -d "$folder" ] || continue
  while read -r table; do expect "share/verbena/${pair##*:}/$(basename "$table")"; done \
    < <(find "$folder" -maxdepth 1 -name '*.yaml')
  while read -r schema; do expect "share/verbena/schemas/$(basename "$schema")"; done \
    < <(find "$folder" -name '*.schema.json')
done

# Nothing that only the build tree knows may be written into an installed file.
if grep -rlF "$PWD" "$stage" --include='*.cmake' --include='*.pc' --include='*.h' --include='*.hpp'; then
  echo "the files above name the source tree $PWD"
  missing=1
fi
exit $missing
