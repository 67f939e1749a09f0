// SPDX-License-Identifier: GPL-2.0-only
#include <rdma/uverbs_ioctl.h>

#include "nicshell.h"

int nic_create_cq(struct ib_cq* cq, const struct ib_cq_init_attr* attr, struct uverbs_attr_bundle* attrs) {
  struct nic* nic = nic_of(cq->device);
  struct nic_cq* ours = container_of(cq, struct nic_cq, ib);
  struct verdict verdict = {};
  int error;

  error = nic_take_number(nic, NIC_CQS, &ours->number, &verdict);
  if (error) goto out;
  error = nic->vendor->create_cq(nic, ours, attr, &attrs->driver_udata, &verdict);
  if (error) {
    nic_unpin(&ours->pins);
    nic_return_number(nic, NIC_CQS, ours->number);
  }
out:
  return nic_record(nic, "create_cq", error, &verdict, "cqe %u, flags %#x, reports %d%s", attr->cqe, attr->flags,
                    error ? 0 : cq->cqe, ours->details);
}

int nic_destroy_cq(struct ib_cq* cq, struct ib_udata* udata) {
  struct nic_cq* ours = container_of(cq, struct nic_cq, ib);

  nic_unpin(&ours->pins);
  nic_return_number(nic_of(cq->device), NIC_CQS, ours->number);
  return 0;
}

int nic_resize_cq(struct ib_cq* cq, int entries, struct ib_udata* udata) {
  struct nic* nic = nic_of(cq->device);
  struct nic_cq* ours = container_of(cq, struct nic_cq, ib);
  struct verdict verdict = {};
  int error = nic->vendor->resize_cq(nic, ours, entries, udata, &verdict);

  return nic_record(nic, "resize_cq", error, &verdict, "cqe %d, reports %d", entries, cq->cqe);
}

int nic_modify_cq(struct ib_cq* cq, u16 count, u16 period) {
  struct nic* nic = nic_of(cq->device);
  struct nic_cq* ours = container_of(cq, struct nic_cq, ib);
  struct verdict verdict = {};
  int error = nic->vendor->modify_cq(nic, ours, count, period, &verdict);

  return nic_record(nic, "modify_cq", error, &verdict, "count %u, period %u", count, period);
}
