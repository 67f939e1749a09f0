# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# How tools/vm speaks: everything of its own goes to stderr, progress only to a terminal.

readonly exit_usage=2 exit_missing=77 exit_timeout=124 exit_no_result=125
verbose=

say() { printf 'tools/vm: %s\n' "$*" >&2; }

progress() { [[ ! -t 2 && -z $verbose ]] || say "${verbose:+[$(elapsed)] }$*"; }

# detail TEXT: with --verbose only, after the seconds since the start
detail() { [[ -z $verbose ]] || say "[$(elapsed)] $*"; }

elapsed() {
  local us=$((${EPOCHREALTIME/./} - started_us))
  printf '%d.%03d' $((us / 1000000)) $((us / 1000 % 1000))
}
started_us=${EPOCHREALTIME/./}

fail() {
  local code=$1
  shift
  say "$@"
  exit "$code"
}

usage_error() { fail $exit_usage "$* (tools/vm --help has examples)"; }
missing() { fail $exit_missing "$@"; }
