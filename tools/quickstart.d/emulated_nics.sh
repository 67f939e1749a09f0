#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# emulated_nics.sh BUILD: makes the same demanding objects on an emulated NIC of each vendor, prints what each granted,
# and moves checked bytes between each and its neighbour. Exit code 1 when one refused, or a byte was wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
verbena=$1/bin/verbena
models=(connectx5 e810-roce hip09 rxe-6.12)
# shellcheck source=tools/quickstart.d/request.sh
. tools/quickstart.d/request.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for model in "${models[@]}"; do
  echo "== $model emulated"
  "$verbena" explain --nic "$model" --create --qp "$qp" --cq "$cq"
done > "$work/granted"
table "$work/granted"

echo
for index in "${!models[@]}"; do
  pair=${models[index]},${models[(index + 1) % ${#models[@]}]}
  "$verbena" ping --nic "$pair" > "$work/ping" || { cat "$work/ping" >&2 && exit 1; }
  echo "$pair: $(grep -c '^ok' "$work/ping") operations carried checked bytes, $(grep -c '^absent' "$work/ping" || true) that one of them has not"
done
