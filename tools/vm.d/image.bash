# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# A kernel image in the cache: images/VERSION holds vmlinuz, config and lib/modules/VERSION; initrds/ what boots it.

# Modules that the initramfs loads; what a kernel has built in is skipped.
readonly boot_modules=(virtio_pci virtio_console 9p 9pnet_virtio overlay)
# Parts of the kernel package's modules that a guest without hardware can use; the rest is nine tenths of it.
readonly kept_modules=(arch block crypto fs kernel lib mm net/{9p,core,ipv4,ipv6,netfilter,sched,sunrpc,rds}
  drivers/{char,infiniband/{core,sw,ulp},net,virtio})
readonly unused_modules=(drivers/net/{ethernet,wireless,usb,can,fddi,ieee802154,phy,wan,wwan,hamradio,arcnet,mdio,pcs})
readonly cannot_download=75

cached_versions() {
  [[ ! -d $cache/images ]] || find "$cache/images" -mindepth 1 -maxdepth 1 -printf '%f\n' | versions_of "$1"
}

# cached_or_newest_image KERNEL: prints the newest cached version of it, and only if there is none asks for packages
cached_or_newest_image() {
  local versions
  versions=$(cached_versions "$1")
  if [[ -n $versions ]]; then
    head -n 1 <<<"$versions"
  else
    newest_image "$1"
  fi
}

# newest_image KERNEL: brings the newest version that can be had into the cache and prints it
newest_image() {
  local kernel=$1 version versions code
  need qemu-system-x86_64 qemu-system-x86 cpio cpio depmod kmod xz xz-utils apt-get apt dpkg-deb dpkg
  versions=$(packaged_versions "$kernel")
  if [[ -z $versions ]]; then
    refresh_lists
    versions=$(packaged_versions "$kernel")
  fi
  for version in $versions; do
    set +e
    (
      set -e
      cached "images/$version" make_image "$version" >/dev/null
    )
    code=$?
    set -e
    case $code in
      0) echo "$version" && return ;;
      "$cannot_download") say "linux-image-$version can't be downloaded: trying an older one" ;;
      *) exit $code ;;
    esac
  done
  version=$(cached_versions "$kernel" | head -n 1)
  [[ -n $version ]] || missing "no kernel image of $kernel: none is cached, and none could be downloaded from the package archive"
  say "using the cached $version: nothing newer can be downloaded"
  echo "$version"
}

make_image() {
  local draft=$1 version=$2 work whole part
  work=$(dirname "$draft")
  progress "downloading linux-image-$version"
  fetch_packages "$work" "linux-image-$version" || exit $cannot_download
  progress "unpacking linux-image-$version"
  mkdir "$work/package"
  dpkg-deb --fsys-tarfile "$work"/linux-image-*.deb | tar -x -C "$work/package" --exclude='./usr/share'
  mv "$work/package/boot/vmlinuz-$version" "$draft/vmlinuz"
  mv "$work/package/boot/config-$version" "$draft/config"
  whole=$work/package/lib/modules/$version
  [[ -d $whole ]] || whole=$work/package/usr/lib/modules/$version
  for part in "${unused_modules[@]}"; do rm -rf "${whole:?}/kernel/$part"; done
  local kept=$draft/lib/modules/$version
  mkdir -p "$kept"
  mv "$whole"/modules.* "$kept/"
  for part in "${kept_modules[@]}"; do
    [[ -d $whole/kernel/$part ]] || continue
    mkdir -p "$(dirname "$kept/kernel/$part")"
    mv "$whole/kernel/$part" "$kept/kernel/$part"
  done
  # The guest is slow: what can be unpacked here is.
  find "$kept" -name '*.ko.xz' -print0 | xargs -0 -r -n 16 -P "$(nproc)" xz -d
  depmod -b "$draft" "$version"
}

# module_files ROOT VERSION MODULE...: the files to load, in order, each once
module_files() {
  local root=$1 version=$2 module
  shift 2
  for module in "$@"; do
    modprobe -d "$root" -S "$version" --show-depends "$module" |
      awk '$1 == "insmod" { print $2 }'
  done | awk '!seen[$0]++'
}

# initrd_of VERSION: prints the path of an initramfs that boots this version with the init of now
initrd_of() {
  local version=$1 hash
  hash=$(sha256sum "$parts/guest/init" "$parts/image.bash" | sha256sum | head -c 16)
  cached "initrds/$version-$hash" make_initrd "$version"
}

make_initrd() {
  local draft=$1 version=$2 root=$cache/images/$2 tree number=10 file busybox
  busybox=$(static_busybox)
  tree=$(dirname "$draft")/tree
  mkdir -p "$tree"/{bin,modules,proc,sys,dev,lower,upper,new}
  cp "$busybox" "$tree/bin/busybox"
  cp "$parts/guest/init" "$tree/init"
  chmod 755 "$tree/init"
  while read -r file; do
    cp "$file" "$tree/modules/$number-$(basename "$file")"
    number=$((number + 1))
  done < <(module_files "$root" "$version" "${boot_modules[@]}")
  # Not compressed: reading it is quicker than an emulated processor unpacks it.
  rmdir "$draft"
  (cd "$tree" && find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --quiet -R 0:0) >"$draft"
}

static_busybox() {
  local file
  file=$(command -v busybox) || missing "missing here: busybox-static; install with: apt-get install --no-install-recommends busybox-static"
  # ldd fails on a static program
  ! ldd "$file" >/dev/null 2>&1 || missing "$file needs shared libraries; install busybox-static in its place"
  echo "$file"
}
