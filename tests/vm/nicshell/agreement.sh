#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# agreement.sh BUILD: holds what Verbena's fit and the models promise of every NIC of the list `nics` against its own
# user-space driver, in the VM: a sample of all in one guest, or with VERBENA_CHECK_FULL 3000 requests for each, in a
# guest of its own, and one table at the end. Exit codes: those of in_vm.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
build=$(realpath "$1")
[[ -n ${VERBENA_CHECK_FULL:-} ]] || exec "$here/in_vm" 900 "$here/guest/agree" "$build"

output=$(mktemp)
trap 'rm -f "$output"' EXIT
table='' failed='' blocked=''
while read -r -u 3 nic _; do
  case $nic in '' | '#'*) continue ;; esac
  code=0
  "$here/in_vm" --only "$nic" 3600 "$here/guest/agree" "$build" | tee "$output" || code=$?
  row=$(grep '^table: ' "$output") || {
    row="table: $nic | no result, exit code $code"
    [[ $code -ne 0 ]] || code=1
  }
  table+=$row$'\n'
  case $code in
    0) ;;
    77) blocked+=${blocked:+; }$(sed -n 's/^skipped: //p' "$output" | tail -n 1) ;;
    *) failed+=${failed:+, }"$nic (exit code $code)" ;;
  esac
done 3<"$here/nics"

echo "$table"
# Each guest noted its own device; what is noted last stands for all.
awk -F'|' '/^table:/ {split($3, a, " "); split($5, d, " "); tuples += a[2]; wrong += d[2]; devices++}
           END {printf "note: %d devices, %d tuples, %d disagreed\n", devices, tuples, wrong}' <<< "$table"
if [[ -n $failed ]]; then
  echo "FAILED: $failed"
  exit 1
fi
if [[ -n $blocked ]]; then
  echo "skipped: $blocked"
  exit 77
fi
