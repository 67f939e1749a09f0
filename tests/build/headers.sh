#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# headers.sh INCLUDE_FOLDER: each installed header compiles alone, without warnings: .hpp without exceptions,
# .h as C11 and as C++. None shows a type of yaml-cpp or fmt.
set -euo pipefail
include=$1
export include
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
export warnings

check() {
  local header=$1 name=${1#"$include"/}
  local cxx=("$CXX" -std=c++20 -fno-exceptions -I"$include" -fsyntax-only -x c++ -)
  # shellcheck disable=SC2086  # one word a flag
  if ! output=$(printf '#include "%s"\n#include "%s"\n' "$name" "$name" | "${cxx[@]}" $warnings 2>&1); then
    printf '%s as C++:\n%s\n' "$name" "$output"
    return 1
  fi
  case $name in
    *.h)
      # shellcheck disable=SC2086
      if ! output=$(printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
          "$CC" -std=c11 -I"$include" -fsyntax-only $warnings -x c - 2>&1); then
        printf '%s as C11:\n%s\n' "$name" "$output"
        return 1
      fi ;;
    *.hpp)
      if grep -qE '^(inline )?namespace verbena' "$header" &&
          ! { grep -qxF '#pragma GCC visibility push(default)' "$header" &&
            [ "$(tail -n 1 "$header")" = '#pragma GCC visibility pop' ]; }; then
        echo "$name: put the namespace between '#pragma GCC visibility push(default)' and pop, or nothing in it is exported"
        return 1
      fi ;;
  esac
  if grep -nE '#include *[<"](yaml-cpp|fmt)/|\b(YAML|fmt)::' "$header"; then
    echo "$name: yaml-cpp and fmt stay inside the library"
    return 1
  fi
}
export -f check

mapfile -t headers < <(find "$include/verbena" -name '*.h' -o -name '*.hpp' | sort)
[ "${#headers[@]}" -gt 0 ] || { echo "no header under $include/verbena"; exit 1; }
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\0' "${headers[@]}" | xargs -0 -n1 -P"$(nproc)" bash -c 'check "$1"' check
echo "${#headers[@]} headers"
