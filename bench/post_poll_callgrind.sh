#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# post_poll_callgrind.sh SUBJECT: instructions of one call through Verbena's post and poll, and through raw verbs.
# Each is counted at two sizes and the difference divided, so that start-up does not count. Fails when Verbena adds more
# than 4 instructions a call, any to raw verbs on the handle that raw() gives, or when a count is not positive (an emulated CPU may count nothing without saying so).
set -euo pipefail
subject=${1:?usage: post_poll_callgrind.sh SUBJECT}
limit=${VERBENA_BENCH_LIMIT:-4}
small=1000 large=21000

command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }

count() { # WHAT N: instructions of the whole run
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$subject" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

per_call() { # WHAT: instructions of one call, to a hundredth
  local few many
  few=$(count "$1" "$small")
  many=$(count "$1" "$large")
  awk -v few="${few:-0}" -v many="${many:-0}" -v calls=$((large - small)) \
    'BEGIN { if (many - few <= 0) exit 1; printf "%.2f", (many - few) / calls }' ||
    { echo "no count for $1: valgrind cannot run this program here" >&2; return 1; }
}

verdict=0
row() { # LABEL RAW OURS LIMIT
  local difference
  difference=$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%+.2f", b - a }')
  printf '%-18s %10s %10s %12s %8s\n' "$1" "$2" "$3" "$difference" "$4"
  awk -v d="$difference" -v limit="$4" 'BEGIN { exit !(d <= limit) }' || verdict=1
}

printf '%-18s %10s %10s %12s %8s\n' call raw verbena difference limit
for call in post_send post_recv post_srq_recv poll; do
  raw=$(per_call "raw.$call")
  ours=$(per_call "verbena.$call")
  row "$call" "$raw" "$ours" "$limit"
  if [ "$call" = post_send ]; then
    ours=$(per_call handle.post_send)
    row "post_send, raw()" "$raw" "$ours" 0
  fi
done
if [ "$verdict" -ne 0 ]; then echo "more instructions added than the goal allows" >&2; fi
exit "$verdict"
