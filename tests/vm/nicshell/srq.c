// SPDX-License-Identifier: GPL-2.0-only
#include "nicshell.h"

int nic_create_srq(struct ib_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata) {
  struct nic* nic = nic_of(srq->device);
  struct nic_srq* ours = container_of(srq, struct nic_srq, ib);
  struct ib_srq_attr asked = attr->attr;
  struct verdict verdict = {};
  int error;

  error = nic_take_number(nic, NIC_SRQS, &ours->number, &verdict);
  if (error) goto out;
  error = nic->vendor->create_srq(nic, ours, attr, udata, &verdict);
  if (error) {
    nic_unpin(&ours->pins);
    nic_return_number(nic, NIC_SRQS, ours->number);
  } else {
    if (!ours->attr.max_wr) ours->attr = attr->attr;
    if (!ours->size) ours->size = ours->attr.max_wr;
  }
out:
  return nic_record(nic, "create_srq", error, &verdict, "wr %u, sge %u, type %d, reports %u and %u", asked.max_wr,
                    asked.max_sge, attr->srq_type, attr->attr.max_wr, attr->attr.max_sge);
}

int nic_modify_srq(struct ib_srq* srq, struct ib_srq_attr* attr, enum ib_srq_attr_mask mask, struct ib_udata* udata) {
  struct nic_srq* ours = container_of(srq, struct nic_srq, ib);
  struct verdict verdict = {};
  struct nic* nic = nic_of(srq->device);
  int error = nic->vendor->modify_srq(nic, ours, attr, mask, &verdict);

  if (!error && (mask & IB_SRQ_LIMIT)) ours->attr.srq_limit = attr->srq_limit;
  return nic_record(nic, "modify_srq", error, &verdict, "mask %#x, limit %u", mask, attr->srq_limit);
}

int nic_query_srq(struct ib_srq* srq, struct ib_srq_attr* attr) {
  *attr = container_of(srq, struct nic_srq, ib)->attr;
  return nic_record(nic_of(srq->device), "query_srq", 0, NULL, "wr %u, sge %u", attr->max_wr, attr->max_sge);
}

int nic_destroy_srq(struct ib_srq* srq, struct ib_udata* udata) {
  struct nic_srq* ours = container_of(srq, struct nic_srq, ib);

  nic_unpin(&ours->pins);
  nic_return_number(nic_of(srq->device), NIC_SRQS, ours->number);
  return 0;
}
