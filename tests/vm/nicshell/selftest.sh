#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# selftest.sh BUILD: builds nicshell, boots the VM with every NIC of the list `nics` and checks them there. BUILD is a
# build folder. Exit code 77: nothing failed, but not everything could be tried; the last line says `skipped: REASON`.
set -euo pipefail
build=$(realpath "$1")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../../..")

module=$("$here/make_module") || {
  code=$?
  [[ $code -ne 77 ]] || echo "skipped: the module can't be built here (see above)"
  exit "$code"
}

# A NIC whose user-space driver isn't installed is blocked.
wanted=() blocked=()
while read -r nic driver _; do
  case $nic in '' | '#'*) continue ;; esac
  if compgen -G "/usr/lib/*/libibverbs/lib$driver-rdmav*.so" >/dev/null; then
    wanted+=("$nic")
  else
    blocked+=("$nic (lib$driver of ibverbs-providers)")
  fi
done <"$here/nics"
if [[ ${#wanted[@]} -eq 0 ]]; then
  echo "skipped: none of the vendors' user-space drivers is installed (ibverbs-providers)"
  exit 77
fi
if version=$(dpkg-query -W -f '${Version}' ibverbs-providers 2>/dev/null); then echo "rdma-core $version"; fi

code=0
"$root/tools/vm" run 6.12 --devices none --timeout 600 --module "$module,devices=$(IFS=+; echo "${wanted[*]}")" -- \
  "$here/guest/check" "$build" "$module" "${wanted[@]}" || code=$?
if [[ $code -eq 0 && ${#blocked[@]} -gt 0 ]]; then
  echo "skipped: not installed for $(IFS=,; echo "${blocked[*]}")"
  exit 77
fi
[[ $code -ne 77 ]] || echo "skipped: the VM can't run here (see above)"
exit "$code"
