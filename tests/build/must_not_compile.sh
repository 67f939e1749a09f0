#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# must_not_compile.sh CASE: the case must be refused, and for the reason that its line `// expected: REGEX` gives.
# With -DALLOWED the same file must compile, so that a typing error is never taken for a proof.
set -euo pipefail
case=$1

expected=$(sed -n 's|^// expected: ||p' "$case")
[ -n "$expected" ] || { echo "$case has no line '// expected: REGEX'"; exit 1; }
compile=("$CXX" -std=c++20 -Wall -Wextra -Werror=unused-result -Icore/include -fsyntax-only)

if ! output=$("${compile[@]}" -DALLOWED "$case" 2>&1); then
  printf 'with -DALLOWED it must compile:\n%s\n' "$output"
  exit 1
fi
if output=$("${compile[@]}" "$case" 2>&1); then
  echo "it compiles"
  exit 1
fi
if ! grep -qE "error: .*($expected)" <<< "$output"; then
  printf "refused, but not for '%s':\n%s\n" "$expected" "$output"
  exit 1
fi
