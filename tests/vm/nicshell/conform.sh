#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# conform.sh BUILD [NIC...]: the conformance suite on the user-space driver of every NIC of the list `nics`, or of these,
# in a guest of its own each, and one line for each at the end. Reports are left in $VERBENA_VM_OUT/NIC, where that is
# set. Exit codes: those of in_vm.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
build=$(realpath "$1")
shift
[[ $# -gt 0 ]] || mapfile -t all < <(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' "$here/nics")
[[ $# -gt 0 ]] || set -- "${all[@]}"

output=$(mktemp)
trap 'rm -f "$output"' EXIT
table='' failed='' blocked=''
for nic in "$@"; do
  code=0
  "$here/in_vm" --only "$nic" 1800 "$here/guest/conform" "$build" | tee "$output" || code=$?
  table+=$(printf '%-24s %s' "$nic" "$(sed -n 's/^\(not red\|RED, .*\)$/\1/p' "$output" | tail -n 1)")$'\n'
  grep -q '^not red$\|^RED, ' "$output" || [[ $code -ne 0 ]] || code=1 # nothing was said of it
  case $code in
    0) ;;
    77) blocked+=${blocked:+; }$(sed -n 's/^skipped: //p' "$output" | tail -n 1) ;;
    *) failed+=${failed:+, }"$nic (exit code $code)" ;;
  esac
done

echo "$table"
if [[ -n $failed ]]; then
  echo "FAILED: $failed"
  exit 1
fi
if [[ -n $blocked ]]; then
  echo "skipped: $blocked"
  exit 77
fi
echo "note: $# shells, none red"
