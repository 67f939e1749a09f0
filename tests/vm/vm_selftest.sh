#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# What tools/vm promises, tried on both kernels. Exit code 77: the VM can't run here.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
vm=$(realpath "$here/../../tools/vm")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# promise TEXT CODE COMMAND...: the command's exit code is CODE; its output is in $work/out and $work/err
promise() {
  local text=$1 wanted=$2 code=0 start=$SECONDS
  shift 2
  "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  if [[ $code -eq 77 && $wanted -ne 77 ]]; then
    cat "$work/err"
    exit 77
  fi
  holds "$text ($((SECONDS - start)) s)" test "$code" -eq "$wanted"
}

holds() {
  local text=$1
  shift
  if "$@"; then
    echo "ok: $text"
  else
    echo "FAILED: $text"
    sed 's/^/  /' "$work/out" "$work/err"
    failures=$((failures + 1))
  fi
}

cd "$work"
promise "an unknown kernel name is refused" 2 "$vm" run nonsense -- true
promise "siw on 6.1 is refused" 2 "$vm" run 6.1 --devices siw -- true
promise "a command is wanted" 2 "$vm" run 6.12
promise "a timeout is whole seconds" 2 "$vm" run 6.12 --timeout soon -- true

mkdir results
# shellcheck disable=SC2016 # the guest expands it
promise "the exit code passes through" 7 "$vm" run 6.12 --devices none --env GREETING='two  words' --out results -- \
  bash -c 'echo "$GREETING"; pwd; echo complaint >&2; echo kept >/run/verbena-vm/out/file; ulimit -l; sleep 100 & exit 7'
holds "standard output is the command's own" test "$(cat out)" = "$(printf 'two  words\n%s\nunlimited' "$work")"
holds "standard error is the command's own" test "$(grep -v '^tools/vm: boot ' err)" = complaint
holds "what is written to the out folder is kept" test "$(cat results/file)" = kept

promise "a command that doesn't exist gives 127" 127 "$vm" run 6.12 --devices none -- no-such-command
promise "a hang is ended" 124 "$vm" run 6.12 --devices none --timeout 45 -- sleep 1000
holds "the hang is reported" grep -q 'the command was still running' err
promise "a crash is told from a failure" 125 "$vm" run 6.12 --devices none -- bash -c 'echo c >/proc/sysrq-trigger; sleep 100'
holds "the crash is reported" grep -q 'the kernel crashed' err

# An emulator that fails its first boots, each in its own way, and is QEMU from then on.
mkdir false-starts
cat >false-starts/qemu-system-x86_64 <<'SH'
#!/bin/bash
starts=$(dirname "$0")/starts
echo >>"$starts"
log=$(printf '%s\n' "$@" | sed -n 's/^file,id=log,path=//p')
[[ $(wc -l <"$starts") -gt $(cat "$(dirname "$0")/wanted") ]] || { echo 'Oops: int3: 0000 [#1]' >"$log"; exit 0; }
exec "$(PATH=${PATH#*:} command -v qemu-system-x86_64)" "$@"
SH
chmod +x false-starts/qemu-system-x86_64
echo 2 >false-starts/wanted
promise "a guest that crashes while booting is booted again" 3 \
  env PATH="$work/false-starts:$PATH" "$vm" run 6.12 --devices none -- bash -c 'echo once; exit 3'
holds "each such boot is told" test "$(grep -c 'the kernel crashed while booting, so once more' err)" -eq 2
holds "the command has run once" test "$(cat out)" = once
echo 9 >false-starts/wanted
promise "but not for ever" 125 env PATH="$work/false-starts:$PATH" "$vm" run 6.12 --devices none -- true
holds "and the last crash is the result" grep -q 'tools/vm: the kernel crashed while booting' err

promise "rxe of 6.1 carries RC traffic over the wire" 0 "$vm" run 6.1 -- "$here/traffic" rxe
promise "rxe and siw of 6.12 carry traffic over the wire" 0 "$vm" run 6.12 -- "$here/traffic" rxe siw
promise "a single processor that counts instructions boots too" 0 "$vm" run 6.12 --icount --devices rxe -- ibv_devinfo -d rxe0

echo "$failures failed"
[[ $failures -eq 0 ]]
