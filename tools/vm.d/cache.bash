# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# The cache: an entry is a folder or file that exists only when it is whole.

cache=${VERBENA_VM_CACHE:-${XDG_CACHE_HOME:-/var/cache}/verbena/vm}

# with_lock NAME COMMAND...: one process at a time makes the entry that NAME stands for
with_lock() {
  local name=$1
  shift
  case $cache in
    /*[[:space:]]*) missing "the cache's path must be free of spaces, kernel builds can't take them: $cache" ;;
    /*) ;;
    *) missing "the cache's path must be absolute: $cache" ;;
  esac
  mkdir -p "$cache/locks" 2>/dev/null || true
  [[ -w $cache/locks ]] ||
    missing "can't write to the cache $cache: run as root, or name another folder in VERBENA_VM_CACHE"
  (
    exec {lock}>"$cache/locks/${name//\//_}"
    flock "$lock"
    "$@"
  )
}

# cached ENTRY MAKER ARG...: prints the entry's path; when it isn't there, 'MAKER DRAFT ARG...' fills an empty folder DRAFT,
# which is then renamed to the entry
cached() {
  local entry=$cache/$1
  if [[ ! -e $entry ]]; then
    with_lock "$1" make_entry "$entry" "${@:2}" >&2
  fi
  printf '%s\n' "$entry"
}

make_entry() {
  local entry=$1 maker=$2
  shift 2
  [[ ! -e $entry ]] || return 0 # another run made it while this one waited for the lock
  mkdir -p "$(dirname "$entry")" "$cache/drafts"
  local draft
  draft=$(mktemp -d "$cache/drafts/XXXXXX")
  # shellcheck disable=SC2064 # the path of now is meant
  trap "rm -rf '$draft'" EXIT
  mkdir "$draft/entry"
  "$maker" "$draft/entry" "$@"
  sync -f "$draft"
  mv -T "$draft/entry" "$entry"
}
