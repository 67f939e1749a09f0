#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# blocked.sh: what can't be tried here counts as blocked (exit code 77), and what is missing is said; never as passed.
# Only the last case boots the VM. Exit code 77: it can't run here.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# blocks TEXT REASON COMMAND...: exit code 77, and the last line is `skipped:` with REASON in it
blocks() {
  local text=$1 reason=$2 code=0
  shift 2
  "$@" >"$work/output" 2>&1 </dev/null || code=$?
  if [[ $code -eq 77 && $(tail -n 1 "$work/output") == "skipped: "*$reason* ]]; then
    echo "ok: $text: $(tail -n 1 "$work/output")"
  else
    echo "FAILED: $text: exit code $code"
    sed 's/^/  /' "$work/output"
    failures=$((failures + 1))
  fi
}

# tree NAME: prints a folder with a copy of these scripts in it, whose tools may be others
tree() {
  mkdir -p "$work/$1/tests/vm" "$work/$1/tools"
  cp -r "$here" "$work/$1/tests/vm/nicshell"
  echo "$work/$1"
}

# stub FILE: a script from standard input
stub() {
  mkdir -p "$(dirname "$1")"
  { echo '#!/usr/bin/env bash' && cat; } >"$1"
  chmod +x "$1"
}

# The archive knows no headers, and none are in the cache, which has an image.
version=6.12.1+deb12-amd64
mkdir -p "$work/cache/images/$version"
stub "$work/bin/apt-cache" <<<'exit 0'
blocks "a kernel without headers" "no linux-headers-$version" \
  env VERBENA_VM_CACHE="$work/cache" PATH="$work/bin:$PATH" "$here/in_vm" 60 true
mkdir -p "$work/cache/headers/$version/usr/src/linux-headers-$version"
blocks "headers of a kernel that aren't there" "no headers of $version" \
  env VERBENA_VM_CACHE="$work/cache" "$here/in_vm" 60 true
stub "$work/bin/python3" <<<'echo "skipped: python3 module yaml is not installed (python3-yaml)" >&2; exit 77'
stub "$(tree yaml)/tools/model_header" <"$work/bin/python3"
blocks "models that can't be read" python3-yaml "$work/yaml/tests/vm/nicshell/in_vm" 60 true

# fails TEXT COMMAND...: exit code 1
fails() {
  local text=$1 code=0
  shift
  "$@" >"$work/output" 2>&1 || code=$?
  if [[ $code -eq 1 ]]; then
    echo "ok: $text"
  else
    echo "FAILED: not so, exit code $code: $text"
    failures=$((failures + 1))
  fi
}

# The VM is a stub that passes: what is left to say is which drivers are missing.
list=$(tree drivers)
stub "$list/tests/vm/nicshell/make_module" <<<"touch '$work/nicshell.ko'; echo '$work/nicshell.ko'"
stub "$list/tools/vm" <<<'echo "table: here | agreed"'
echo "nowhere nosuch 0x1:0x2 rc" >"$list/tests/vm/nicshell/nics"
blocks "no user-space driver at all" "nowhere (libnosuch of ibverbs-providers)" "$list/tests/vm/nicshell/in_vm" 60 true
if compgen -G '/usr/lib/*/libibverbs/librxe-rdmav*.so' >/dev/null; then
  echo "here rxe 0x1:0x2 rc" >>"$list/tests/vm/nicshell/nics"
  blocks "one user-space driver of two" "nowhere (libnosuch of ibverbs-providers)" "$list/tests/vm/nicshell/in_vm" 60 true
  blocks "the same in a run of all, one by one" "nowhere (libnosuch of ibverbs-providers)" \
    env VERBENA_CHECK_FULL=1 "$list/tests/vm/nicshell/agreement.sh" "$work"
  stub "$list/tools/vm" <<<'exit 0'
  fails "a NIC without a result fails a run of all" env VERBENA_CHECK_FULL=1 "$list/tests/vm/nicshell/agreement.sh" "$work"
  stub "$list/tools/vm" <<<'exit 1'
  fails "a failure stays one, whatever else is blocked" "$list/tests/vm/nicshell/in_vm" 60 true
fi

# A module that is none, in the VM itself.
broken=$(tree broken)
ln -s "$root/tools/"{vm,vm.d} "$broken/tools/"
stub "$broken/tests/vm/nicshell/make_module" <<<"echo no module >'$work/nicshell.ko'; echo '$work/nicshell.ko'"
blocks "a module that won't load" "nothing could be tried in the VM: " "$broken/tests/vm/nicshell/in_vm" 60 true
if [[ $failures -eq 0 ]] && ! grep -q "the module nicshell.ko won't load" "$work/output"; then
  tail -n 1 "$work/output"
  exit 77
fi

echo "$failures failed"
[[ $failures -eq 0 ]]
