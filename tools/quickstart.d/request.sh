# SPDX-License-Identifier: Apache-2.0 OR MIT
# shellcheck shell=bash
# What quickstart asks of each device, and the table of what came of it. To be sourced.
# shellcheck disable=SC2034  # whoever sources it uses them
qp=rc,send_wr=64..100000,recv_wr=4096,send_sge=40,recv_sge=16,inline=2000
cq=65536

# table FILE...: of what `verbena explain --create` printed behind lines `== DEVICE KERNEL`.
table() {
  echo
  echo "Asked of each device: --qp $qp --cq $cq"
  echo
  printf '%-10s %-24s %-16s %12s %10s %10s\n' device kernel field asked granted returned
  cat "$@" | awk '
    $1 == "==" { device = $2; kernel = $3; next }
    $1 ~ /^(max_send_wr|max_recv_wr|max_send_sge|max_recv_sge|max_inline_data|cqe)$/ && $2 ~ /^[0-9]+(\.\.[0-9]+)?$/ {
      printf "%-10s %-24s %-16s %12s %10s %10s\n", device, kernel, $1, $2, $3, $5
    }'
}
