#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# source_rules.sh RULE: rules that hold for every tracked file. Prints file:line of each breach.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
  echo "skipped: not a git checkout, so it isn't known which files belong to the project"
  exit 77
fi

# breaches PATTERN PATHSPEC...: fails and prints where an extended regular expression matches.
breaches() {
  local pattern=$1
  shift
  ! git grep -nIE "$pattern" -- "$@"
}

# Every file says its licence in its first lines; those that can't are listed with theirs in REUSE.toml.
rule_spdx() {
  local failed=0 file licence listed
  mapfile -t listed < <(sed -n 's/^ *"\(.*\)",\{0,1\}$/\1/p' REUSE.toml)
  while read -r file; do
    [ -f "$file" ] || continue
    for pattern in "${listed[@]}"; do
      # shellcheck disable=SC2053  # a pattern
      [[ $file == $pattern ]] && continue 2
    done
    licence=$(head -n 3 "$file" | sed -n 's/.*SPDX-License-Identifier: *\([A-Za-z0-9. -]*[A-Za-z0-9.]\).*/\1/p' | head -n 1)
    case $file in
      tests/vm/nicshell/*) wanted='GPL-2.0-only' ;;
      quirks/*.yaml | models/*.yaml | conformance/*.yaml) wanted='CC0-1.0' ;;
      *) wanted='Apache-2.0 OR MIT' ;;
    esac
    if [ "$licence" != "$wanted" ]; then
      echo "$file: licence is '${licence:-not given}', should be '$wanted'"
      failed=1
    fi
  done < <(git ls-files)
  return $failed
}

# What a vendor's device is called is known to backends and tables alone.
rule_vendor_ids() {
  breaches '0x(15b3|8086|19e5|02c9|14e4|1d0f|1077)\b' core conformance emulator tools ':!conformance/expectations'
}

# The page size is asked of the system: 4096 next to the word page is a guess.
rule_page_size() {
  local hits
  hits=$(git grep -nIiE -C1 '\b(4096|0x1000|4'"'"'096)(u|ul|ull|)\b' -- '*.cpp' '*.hpp' '*.h' '*.c' '*.cc' ':!tests/build' |
    awk 'function look() { if (literal && page) printf "%s", chunk; chunk = ""; literal = page = 0 }
         /^--$/ { look(); next }
         { chunk = chunk $0 "\n"; line = $0; sub(/^[^:]*[0-9]+[:-]/, "", line); line = tolower(line)
           if (line ~ /(^|[^0-9a-z])(4096|0x1000|4.096)(u|ul|ull)?([^0-9a-z]|$)/) literal = 1
           if (line ~ /page/) page = 1 }
         END { look() }') || true
  [ -z "$hits" ] || { printf '%s\n' "$hits"; return 1; }
}

# A file is named after its one idea. Notes to oneself and paths of one machine stay out.
rule_names() {
  local failed=0
  if git ls-files | grep -E '(^|[/_.-])(utils?|helpers?|common|managers?|misc)([/_.-]|$)'; then
    echo 'the files above are named after no idea'
    failed=1
  fi
  breaches '\b(TODO|FIXME|XXX|HACK)\b' ':!tests/build/source_rules.sh' || failed=1
  breaches '(^|[^A-Za-z0-9_.$}*~-])/(home|root|work|Users)/[A-Za-z0-9]' ':!tests/build/source_rules.sh' || failed=1
  return $failed
}

# The library tells its log sink; it prints nothing and ends nothing.
rule_prints() {
  breaches '(^|[^A-Za-z0-9_])(std::(cout|cerr|clog)\b|(f|v|vf)?printf *\(|f?puts *\(|perror *\(|(std::|[^A-Za-z0-9_:])(abort|exit|terminate) *\()' \
    'core/*.cpp' 'core/*.hpp' 'core/*.h' 'backends/*.cpp' 'backends/*.hpp' 'emulator/engine/*.cpp' 'emulator/engine/*.hpp'
}

# One direction: no vendor library in the core, no yaml-cpp outside the two loaders, neither it nor fmt in a public
# header, no exception thrown by one. The engine of the emulator judges the others, so it knows none of them.
rule_layers() {
  local failed=0
  breaches '#include *[<"](infiniband/(mlx5|efa|hns|irdma|mlx4|mana)[a-z0-9_]*dv\.h|backends/[a-z0-9]+/)' core/include || failed=1
  breaches '#include *[<"](yaml-cpp|fmt)/' core/include 'backends/*.hpp' ':!backends/sentence.hpp' || failed=1
  breaches '^[^/]*\bthrow\b' core/include || failed=1
  breaches '\bgetenv *\(' backends || failed=1
  breaches '#include *[<"](verbena/|backends/|yaml-cpp/|fmt/)|\b(throw|getenv)\b *[(A-Za-z]' \
    'emulator/engine/*.hpp' 'emulator/engine/*.cpp' || failed=1
  return $failed
}

# Every exported verb goes through the Verbs table, so that a device may be emulated or faked. Inline verbs go through the
# context's own operations, and may be called anywhere.
rule_verbs_table() {
  local hits
  hits=$(git grep -nE '(^|[^A-Za-z0-9_"`])(ibv|rdma)_[a-z0-9_]+\(' -- core/src backends ':!core/src/verbs' |
    grep -vE '^[^:]+:[0-9]+: *(//|\*)' |
    grep -vE '\b(ibv_(post_(send|recv|srq_recv)|poll_cq|req_notify_cq|wr_[a-z_]+|qp_to_qp_ex|cq_ex_to_cq)|rdma_core_version)\(') || true
  [ -z "$hits" ] || { printf '%s\n' "$hits"; return 1; }
}

case ${1:-} in
  spdx | vendor_ids | page_size | names | prints | layers | verbs_table) "rule_$1" ;;
  *) echo "usage: $0 spdx|vendor_ids|page_size|names|prints|layers|verbs_table"; exit 2 ;;
esac
