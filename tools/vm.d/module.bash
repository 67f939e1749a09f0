# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Kernel modules from source, against unpacked headers: siw, which Debian doesn't build, and any folder named by the caller.

# Debian's configuration leaves siw out of both series (CONFIG_RDMA_SIW is not set); 6.12 has it built here, 6.1 goes without.
series_has_siw() { [[ $1 == 6.12.* ]]; }

# siw_module VERSION: prints the path of siw.ko
siw_module() {
  local entry
  entry=$(cached "siw/$1" make_siw "$1")
  echo "$entry/siw.ko"
}

make_siw() {
  local draft=$1 version=$2 work
  work=$(dirname "$draft")
  mkdir "$work/source"
  siw_source "$version" "$work" | xz -dc -T0 |
    tar -x -C "$work/source" --strip-components=1 --wildcards '*/drivers/infiniband/sw/siw'
  make_module "$work/built" "$version" "$work/source/drivers/infiniband/sw/siw" CONFIG_RDMA_SIW=m
  cp "$work/built/siw.ko" "$draft/"
}

# siw_source VERSION WORK: the tarball of linux-source, installed or else downloaded, on standard output
siw_source() {
  local series tarball
  series=$(cut -d. -f1,2 <<<"$1")
  tarball=/usr/src/linux-source-$series.tar.xz
  if [[ -e $tarball ]]; then
    cat "$tarball"
    return
  fi
  progress "downloading linux-source-$series"
  fetch_packages "$2" "linux-source-$series" || missing "siw needs the kernel's source, and linux-source-$series can't be downloaded"
  dpkg-deb --fsys-tarfile "$2"/linux-source-"$series"_*.deb | tar -xO "./usr/src/linux-source-$series.tar.xz"
}

# headers_of VERSION: prints the folder to build modules against
headers_of() {
  local entry
  entry=$(cached "headers/$1" make_headers "$1")
  echo "$entry/usr/src/linux-headers-$1"
}

make_headers() {
  local draft=$1 version=$2 packages names package kbuild
  packages=$(dirname "$draft")
  # The kbuild package of 6.1 carries the series in its name, that of 6.12 the version: the headers' dependencies say which.
  mapfile -t names < <(apt-cache depends "linux-headers-$version" 2>/dev/null |
    awk '/Depends: (linux-kbuild-|linux-headers-.*-common)/ { print $NF }' | sort -u)
  [[ ${#names[@]} -eq 2 ]] || missing "the package archive has no linux-headers-$version"
  progress "downloading linux-headers-$version"
  fetch_packages "$packages" "linux-headers-$version" "${names[@]}" || missing "linux-headers-$version can't be downloaded"
  for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$draft"; done
  # The installed place is written into the makefile; the rest of the links are relative.
  kbuild=$cache/headers/$version
  sed -i "s|^include /usr/src/|include $kbuild/usr/src/|" "$draft/usr/src/linux-headers-$version/Makefile"
  # With a vmlinux there the build would add BTF, which needs pahole and serves nobody here.
  rm -rf "${draft:?}"/{lib,usr/share,"usr/src/linux-headers-$version/vmlinux"}
}

# make_module BUILT VERSION SOURCE [VAR=VALUE]...: copies SOURCE to BUILT and builds it there
make_module() {
  local built=$1 version=$2 source=$3 headers
  shift 3
  need make make gcc-12 gcc-12
  headers=$(headers_of "$version")
  [[ -e $headers/Makefile ]] || missing "no headers of $version in $headers; remove that folder, and they are fetched anew"
  progress "building $(basename "$source") for $version"
  mkdir "$built"
  (cd "$source" && git_free_files) | tar -C "$source" -c --null -T - | tar -x -C "$built"
  if ! make -s -j"$(nproc)" -C "$headers" M="$built" "$@" modules >"$built/build.log" 2>&1; then
    cat "$built/build.log" >&2
    fail 1 "building $source against $version failed"
  fi
}

# git_free_files: what a module is built from, without what an earlier build in the folder left
git_free_files() {
  find . -type f ! -name '*.o' ! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' ! -name '.*' ! -name Module.symvers \
    ! -name modules.order -print0 | LC_ALL=C sort -z
}

# build_module VERSION FOLDER [VAR=VALUE]...: prints the path of each .ko, building only what was never built before
build_module() {
  local version=$1 folder hash entry
  folder=$(realpath "$2")
  shift 2
  hash=$( (cd "$folder" && git_free_files | xargs -0 -r sha256sum && printf '%s\n' "$version" "$@") | sha256sum | head -c 16)
  entry=$(cached "modules/$version/$hash" make_build "$version" "$folder" "$@")
  find "$entry" -name '*.ko' | sort
}

make_build() {
  local draft=$1 version=$2 folder=$3
  shift 3
  make_module "$(dirname "$draft")/built" "$version" "$folder" "$@"
  (cd "$(dirname "$draft")/built" && find . -name '*.ko' -print0 | tar -c --null -T -) | tar -x -C "$draft"
  [[ -n $(find "$draft" -name '*.ko') ]] || fail 1 "building $folder made no .ko: does its Makefile name obj-m?"
}
