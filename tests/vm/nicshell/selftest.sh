#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# selftest.sh BUILD: checks every NIC of the list `nics` in the VM. BUILD is a build folder. Exit codes: those of in_vm.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
exec "$here/in_vm" 600 "$here/guest/check" "$(realpath "$1")"
