// SPDX-License-Identifier: GPL-2.0-only
// The page of a card's registers that holds its clock, which the kernel driver lets the library map: two words in
// network order, the upper one first, renewed at each tick of the kernel's.
#include <linux/math64.h>
#include <linux/vmalloc.h>

#include "nicshell.h"

#define TIMER_KHZ 1000000  // the shell's own, where the model knows no frequency

static void tick(struct timer_list* timer) {
  struct nic* nic = container_of(timer, struct nic, clock_tick);
  u32 khz = nic_cap(nic, NIC_CAP_HCA_CORE_CLOCK_KHZ) ?: TIMER_KHZ;
  u64 cycles = mul_u64_u32_div(ktime_get_ns(), khz, 1000000);
  __be32* words = nic->clock;

  WRITE_ONCE(words[0], cpu_to_be32(upper_32_bits(cycles)));
  WRITE_ONCE(words[1], cpu_to_be32(lower_32_bits(cycles)));
  mod_timer(timer, jiffies + 1);
}

int nic_start_clock(struct nic* nic) {
  if (!nic->vendor->clock_page) return 0;
  nic->clock = vmalloc_user(PAGE_SIZE);
  if (!nic->clock) return -ENOMEM;
  timer_setup(&nic->clock_tick, tick, 0);
  tick(&nic->clock_tick);
  return 0;
}

void nic_stop_clock(struct nic* nic) {
  if (!nic->clock) return;
  timer_shutdown_sync(&nic->clock_tick);
  vfree(nic->clock);
}
