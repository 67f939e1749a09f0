// SPDX-License-Identifier: GPL-2.0-only
#include "nicshell.h"

static const enum nic_cap limits[NIC_KINDS] = {
    [NIC_PDS] = NIC_CAP_MAX_PD, [NIC_CQS] = NIC_CAP_MAX_CQ, [NIC_QPS] = NIC_CAP_MAX_QP, [NIC_SRQS] = NIC_CAP_MAX_SRQ};

// QPNs 0 and 1 belong to the protocol.
int nic_take_number(struct nic* nic, enum nic_kind kind, u32* number, struct verdict* verdict) {
  u64 limit = min_t(u64, nic_cap(nic, limits[kind]), 0xffffff);
  int taken;

  if (atomic_inc_return(&nic->used[kind]) > limit) {
    taken = nic->vendor->exhausted.error;
    verdict->by = nic->vendor->exhausted.by;
  } else {
    taken = ida_alloc_range(&nic->numbers[kind], 2, limit + 1, GFP_KERNEL);
  }
  if (taken < 0) {
    atomic_dec(&nic->used[kind]);
    return taken;
  }
  *number = taken;
  return 0;
}

void nic_return_number(struct nic* nic, enum nic_kind kind, u32 number) {
  ida_free(&nic->numbers[kind], number);
  atomic_dec(&nic->used[kind]);
}
