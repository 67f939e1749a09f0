#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# agreement.sh BUILD: holds what Verbena's fit and the models promise of every NIC of the list `nics` against its own
# user-space driver, in the VM; a sample, or 3000 requests for each with VERBENA_CHECK_FULL. Exit codes: those of in_vm.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
seconds=900
[[ -z ${VERBENA_CHECK_FULL:-} ]] || seconds=14400
exec "$here/in_vm" "$seconds" "$here/guest/agree" "$(realpath "$1")"
