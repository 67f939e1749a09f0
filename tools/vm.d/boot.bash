# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# tools/vm run: boots the guest, hands its output on, and says how it ended.

run_command() {
  local kernel=${1:-} version siw devices='' icount='' timeout=300 out='' memory=4096 log='' modules=() environment=() command=()
  [[ -n $kernel ]] || usage_error "run: name a kernel series, such as 6.12"
  check_kernel_name "$kernel"
  shift
  parse_run_options "$@"
  make_scratch
  need qemu-system-x86_64 qemu-system-x86 rdma iproute2 modprobe kmod
  version=$(cached_or_newest_image "$kernel")
  check_devices
  share=$scratch/share
  mkdir "$share"
  cp "$parts/guest/start" "$parts/guest/devices" "$share/"
  case $devices in
    siw | both)
      siw=$(siw_module "$version")
      cp "$siw" "$share/siw.ko"
      ;;
  esac
  write_spec >"$share/spec"
  boot_until_booted
  conclude
}

# boot_until_booted: QEMU's emulation of a processor now and then runs an instruction that the kernel has just patched
# (Oops: int3, within the first seconds), or loses the timer that the kernel waits for. Neither says anything of the
# command, which has not begun, so the guest is booted again; each such boot is told, and its kernel log kept.
readonly boots_at_most=3 boot_seconds=120
boot_until_booted() {
  local number again
  for ((number = 1; number <= boots_at_most; number++)); do
    detail "booting $version"
    rm -f "$share/status" "$scratch"/{kernel.log,stdout,stderr}
    boot
    touch "$share/status" "$scratch/kernel.log"
    [[ $number -lt $boots_at_most ]] && ! grep -q '^ready ' "$share/status" || return 0
    if crashed; then
      again="the kernel crashed while booting"
    elif [[ $waited -eq $boot_seconds ]]; then
      again="the kernel did not boot within $waited s"
    else
      return 0
    fi
    say "boot $number of at most $boots_at_most: $again, so once more (kernel log: $(keep_log))"
  done
}

crashed() { grep -qE 'Kernel panic|Oops:|BUG: ' "$scratch/kernel.log"; }

parse_run_options() {
  while [[ $# -gt 0 ]]; do
    case $1 in
      --devices | --timeout | --env | --out | --module | --memory | --log)
        [[ $# -ge 2 ]] || usage_error "$1 wants a value"
        set_run_option "$1" "$2"
        shift
        ;;
      --icount) icount=yes ;;
      -v | --verbose) verbose=yes ;;
      -h | --help) help && exit ;;
      --)
        shift
        break
        ;;
      -*) usage_error "run: unknown option '$1'" ;;
      *) break ;;
    esac
    shift
  done
  command=("$@")
  [[ ${#command[@]} -gt 0 ]] || usage_error "run: give the command that the guest is to run"
}

set_run_option() {
  local name=$1 value=$2
  case $name in
    --devices)
      [[ $value =~ ^(rxe|siw|both|none)$ ]] || usage_error "--devices wants rxe, siw, both or none, not '$value'"
      devices=$value
      ;;
    --timeout)
      [[ $value =~ ^[1-9][0-9]{0,6}$ ]] || usage_error "--timeout wants whole seconds above 0, not '$value'"
      timeout=$value
      ;;
    --env)
      [[ $value =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || usage_error "--env wants NAME=VALUE, not '$value'"
      environment+=("$value")
      ;;
    --out)
      mkdir -p "$value" 2>/dev/null || usage_error "--out: can't make the folder '$value'"
      out=$(realpath "$value")
      ;;
    --module)
      [[ -f ${value%%,*} ]] || usage_error "--module: no such file: ${value%%,*}"
      modules+=("$value")
      ;;
    --memory)
      [[ $value =~ ^[1-9][0-9]{2,5}$ ]] || usage_error "--memory wants MiB, at least 100, not '$value'"
      memory=$value
      ;;
    --log) log=$value ;;
  esac
}

check_devices() {
  if [[ -z $devices ]]; then
    devices=both
    series_has_siw "$version" || devices=rxe
  fi
  case $devices in
    siw | both) series_has_siw "$version" || usage_error "$version has no siw: Debian's configuration leaves it out, and it is built here for 6.12 only; use --devices rxe" ;;
  esac
  case $PWD/ in
    /run/* | /proc/* | /sys/* | /dev/*) usage_error "the guest doesn't see $PWD of this machine: start from another folder" ;;
  esac
}

# write_spec: what guest/start needs to know, as bash
write_spec() {
  local directory=$PWD has_out=$out driver_modules=() dependencies=() guest_modules=() module file name number=0
  case $devices in rxe | both) driver_modules+=(crc32_generic rdma_rxe) ;; esac
  case $devices in siw | both) driver_modules+=(crc32c_generic libcrc32c ib_uverbs iw_cm) ;; esac
  for module in ${modules[@]+"${modules[@]}"}; do
    file=${module%%,*}
    name=$number-$(basename "$file")
    number=$((number + 1))
    cp "$file" "$share/$name"
    guest_modules+=("/run/verbena-vm/$name$(sed -e 's/^[^,]*//' -e 's/,/ /g' <<<"$module")")
    mapfile -t -O ${#dependencies[@]} dependencies < <(modinfo -F depends "$file" | tr ',' '\n' | sed '/^$/d')
  done
  environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb
    ${environment[@]+"${environment[@]}"})
  modules=(${guest_modules[@]+"${guest_modules[@]}"})
  declare -p devices directory has_out driver_modules dependencies modules environment command | sed 's/^declare -[^ ]* /&/'
}

# shellcheck disable=SC2054 # QEMU's options have commas
boot() {
  local image=$cache/images/$version initrd machine qemu_code=0 qemu
  initrd=$(initrd_of "$version")
  mkfifo "$scratch/stdout" "$scratch/stderr"
  cat "$scratch/stdout" &
  local stdout=$!
  cat "$scratch/stderr" >&2 &
  local stderr=$!
  machine=(-accel tcg,thread=multi -smp 2)
  [[ -z $icount ]] || machine=(-accel tcg,thread=single -icount shift=0,sleep=off -smp 1)
  machine+=(-machine q35 -cpu max -m "$memory" -nodefaults -no-user-config -display none -no-reboot)
  machine+=(-kernel "$image/vmlinuz" -initrd "$initrd")
  machine+=(-append "console=ttyS0 quiet oops=panic panic=-1 mitigations=off random.trust_cpu=on no_timer_check")
  machine+=(-chardev "file,id=log,path=$scratch/kernel.log" -serial chardev:log)
  machine+=(-device virtio-serial-pci)
  machine+=(-chardev "file,id=stdout,path=$scratch/stdout" -device virtserialport,nr=1,chardev=stdout)
  machine+=(-chardev "file,id=stderr,path=$scratch/stderr" -device virtserialport,nr=2,chardev=stderr)
  share_folder host / readonly=on,multidevs=remap
  share_folder run "$share" multidevs=remap
  share_folder modules "$image/lib/modules/$version" readonly=on
  [[ -z $out ]] || share_folder out "$out" multidevs=remap
  # The kernel ends it when this process is killed; timeout hands signals on to it.
  setpriv --pdeathsig TERM timeout --kill-after=5 "$timeout" qemu-system-x86_64 "${machine[@]}" \
    </dev/null >"$scratch/qemu-errors" 2>&1 &
  qemu=$!
  # shellcheck disable=SC2064 # the numbers of now are meant
  trap "kill $qemu $stdout $stderr 2>/dev/null || true; wait; rm -rf '$scratch'" EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  waited=$timeout
  if [[ $timeout -gt $boot_seconds ]] && ! first_process_runs $qemu; then
    waited=$boot_seconds
    kill $qemu 2>/dev/null || true
    wait $qemu || true
    qemu_code=124
  else
    wait $qemu || qemu_code=$?
  fi
  : <>"$scratch/stdout" <>"$scratch/stderr" # frees a reader that no writer ever came to
  wait $stdout $stderr || true
  trap 'rm -rf "$scratch"' EXIT
  ended=$qemu_code
}

# first_process_runs PID: false when the guest did not get there in time; true as well when the emulator ended before
first_process_runs() {
  local since=$SECONDS
  while [[ ! -s $share/status ]] && kill -0 "$1" 2>/dev/null; do
    [[ $((SECONDS - since)) -lt $boot_seconds ]] || return 1
    sleep 0.5
  done
}

# share_folder TAG FOLDER OPTIONS: a comma in a path is written twice for QEMU
share_folder() { machine+=(-virtfs "local,path=${2//,/,,},mount_tag=$1,security_model=none,$3"); }

# conclude: ends with the command's exit code, or says why there is none
conclude() {
  local words=()
  [[ -z $verbose ]] || sed 's/^/tools\/vm: guest: /' "$share/status" >&2
  [[ -z $log ]] || cp "$scratch/kernel.log" "$log"
  read -r -a words < <(grep '^exit ' "$share/status") || true
  [[ ${#words[@]} -eq 0 ]] || exit "${words[1]}"
  local stage
  stage=$(tail -n 1 "$share/status" | cut -d' ' -f1)
  if crashed; then
    no_result "$exit_no_result" "the kernel crashed ${stage:+after it was }${stage:-while booting}"
  elif [[ $ended -eq 124 || $ended -eq 137 ]]; then
    no_result "$exit_timeout" "ended after $waited s: $(hung_stage "$stage")"
  elif grep -q '^module-refused ' "$share/status"; then
    cat "$share/setup-errors" >&2
    no_result "$exit_missing" "the module $(refused_module) won't load on $version: $(tail -n 1 "$share/setup-errors")"
  elif [[ $stage == gave-up ]]; then
    cat "$share/setup-errors" >&2
    no_result "$exit_no_result" "the devices did not come up"
  elif [[ $ended -ne 0 ]]; then
    cat "$scratch/qemu-errors" >&2
    no_result "$exit_no_result" "the emulator failed with exit code $ended"
  fi
  no_result "$exit_no_result" "the guest stopped without a result"
}

# as the caller named it: the guest's copy is /run/verbena-vm/NUMBER-NAME
refused_module() { sed -n 's|^module-refused /run/verbena-vm/[0-9]*-\([^ ]*\) .*|\1|p' "$share/status"; }

hung_stage() {
  case $1 in
    '') echo "the kernel did not finish booting" ;;
    booted) echo "the devices did not come up" ;;
    ready) echo "the command was still running" ;;
    *) echo "the command had ended, the guest did not" ;;
  esac
}

# keep_log: copies the kernel's log into the cache, and prints where
keep_log() {
  local kept
  kept=$cache/logs/$(date +%Y%m%d-%H%M%S)-$version-$$.log
  mkdir -p "$cache/logs"
  cp "$scratch/kernel.log" "$kept"
  find "$cache/logs" -name '*.log' -printf '%T@ %p\n' | sort -rn | tail -n +21 | cut -d' ' -f2- | xargs -r -d '\n' rm -f
  echo "$kept"
}

# no_result CODE TEXT: with the kernel log's tail, the whole of it kept
no_result() {
  local kept=$log
  [[ -n $kept ]] || kept=$(keep_log)
  tail -n 30 "$scratch/kernel.log" | tr -d '\r' | sed 's/^/kernel: /' >&2
  say "$2 (kernel log: $kept)"
  exit "$1"
}
