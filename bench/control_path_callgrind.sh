#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# control_path_callgrind.sh SUBJECT: instructions that Verbena adds to a control call, over the same call made by the
# verbs table alone on a scripted device. Counted at two sizes, so that start-up does not count. What is allowed: 300 for
# a modify or a query, 3000 each for a create and a destroy, and 5% of the verb itself where that is more. `round` is
# RESET, INIT, RTR, RTS and RESET, which take 3.3, 13.6, 3.3 and 54.6 thousand instructions on the kernel's rxe:
# 300 + 680 + 300 + 2700.
set -euo pipefail
subject=${1:?usage: control_path_callgrind.sh SUBJECT}
small=200 large=2200

command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }

count() { # WHAT N: instructions of the whole run
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$subject" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

per_call() { # WHAT: instructions of one call
  local few many
  few=$(count "$1" "$small")
  many=$(count "$1" "$large")
  awk -v few="${few:-0}" -v many="${many:-0}" -v calls=$((large - small)) \
    'BEGIN { if (many - few <= 0) exit 1; printf "%.0f", (many - few) / calls }' ||
    { echo "no count for $1: valgrind cannot run this program here" >&2; return 1; }
}

verdict=0
printf '%-16s %10s %10s %12s %8s\n' call raw verbena difference limit
for row in modify:300 round:3980 query:300 create_destroy:6000; do
  call=${row%:*} limit=${row#*:}
  raw=$(per_call "raw.$call")
  ours=$(per_call "verbena.$call")
  difference=$((ours - raw))
  printf '%-16s %10s %10s %+12d %8s\n' "$call" "$raw" "$ours" "$difference" "$limit"
  [ "$difference" -le "$limit" ] || verdict=1
done
if [ "$verdict" -ne 0 ]; then echo "more instructions added than the goal allows" >&2; fi
exit "$verdict"
