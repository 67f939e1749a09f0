// SPDX-License-Identifier: GPL-2.0-only
#include "nicshell.h"

int nic_create_user_ah(struct ib_ah* ah, struct rdma_ah_init_attr* attr, struct ib_udata* udata) {
  struct nic* nic = nic_of(ah->device);
  struct nic_ah* ours = container_of(ah, struct nic_ah, ib);
  struct verdict verdict = {};
  int error;

  ours->attr = *attr->ah_attr;
  error = nic->vendor->create_ah(nic, ours, udata, &verdict);
  return nic_record(nic, "create_ah", error, &verdict, "GID index %d, destination %pI6", attr->ah_attr->grh.sgid_index,
                    attr->ah_attr->grh.dgid.raw);
}

int nic_query_ah(struct ib_ah* ah, struct rdma_ah_attr* attr) {
  *attr = container_of(ah, struct nic_ah, ib)->attr;
  return 0;
}

int nic_destroy_ah(struct ib_ah* ah, u32 flags) {
  return 0;
}
