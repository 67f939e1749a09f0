#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# real_devices.sh BUILD: makes the same demanding objects on each real driver that the VM boots, and prints what each
# granted. Exit code 1 when a device refused, or did not come up.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1

# shellcheck source=tools/quickstart.d/request.sh
. tools/quickstart.d/request.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/vm prepare 6.1 6.12

# shellcheck disable=SC2016  # the guest's shell expands it
ask='
set -eu
build=$1 qp=$2 cq=$3
shift 3
status=0
for device in "$@"; do
  echo "== $device $(uname -r)"
  "$build/bin/verbena" explain -d "$device" --create --qp "$qp" --cq "$cq" || status=$?
done
exit $status'

run() {
  local series=$1
  shift
  tools/vm run "$series" -- bash -c "$ask" ask "$build" "$qp" "$cq" "$@" > "$work/$series" 2> "$work/$series.err" || {
    cat "$work/$series" "$work/$series.err" >&2
    echo "Linux $series: verbena explain --create did not end well" >&2
    return 1
  }
}

# Two machines at once: each waits for itself most of the time.
run 6.1 rxe0 &
first=$!
result=0
run 6.12 rxe0 siw0 || result=1
wait "$first" || result=1

table "$work/6.1" "$work/6.12"
exit $result
