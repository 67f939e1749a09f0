# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Debian's kernel packages: which there are, and fetching them without installing.

# need COMMAND PACKAGE [COMMAND PACKAGE]...: ends with the names of all packages that are missing
need() {
  local lacking=()
  while [[ $# -gt 0 ]]; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null || lacking+=("$2")
    shift 2
  done
  [[ ${#lacking[@]} -eq 0 ]] ||
    missing "missing here: ${lacking[*]}; install with: apt-get install --no-install-recommends ${lacking[*]}"
}

check_kernel_name() {
  [[ $1 =~ ^[0-9]+\.[0-9]+$ || $1 =~ ^[0-9]+\.[0-9]+\.[0-9]+[-+][a-z0-9+-]*amd64$ ]] ||
    usage_error "'$1' is neither a kernel series (6.1, 6.12) nor a packaged version (6.1.0-57-amd64)"
}

# versions_of KERNEL: standard in, one name a line; standard out, those that are plain amd64 images of it, newest first
versions_of() {
  local pattern
  case $1 in
    *amd64) pattern=${1//./\\.} pattern=${pattern//+/\\+} ;;
    *) pattern="${1//./\\.}\\.[0-9]+([-+][0-9]+|\\+deb[0-9]+)-amd64" ;;
  esac
  { grep -Ex "$pattern" || true; } | sort -rV
}

packaged_versions() { apt-cache pkgnames linux-image- 2>/dev/null | sed 's/^linux-image-//' | versions_of "$1"; }

apt_quiet() { apt-get -q -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 "$@" >&2; }

# refresh_lists: brings apt's lists up to date, at most once in a run
refresh_lists() {
  [[ ! -e $scratch/lists-are-fresh ]] || return 0
  touch "$scratch/lists-are-fresh"
  progress "updating the package lists"
  apt_quiet update 2>/dev/null || say "apt-get update failed: using the lists that are here"
}

# fetch_packages FOLDER NAME...: downloads into FOLDER; false when one can't be had
fetch_packages() {
  local folder=$1
  shift
  (cd "$folder" && apt_quiet download "$@") 2>"$folder/apt-errors" && return
  refresh_lists
  (cd "$folder" && apt_quiet download "$@") 2>"$folder/apt-errors"
}
