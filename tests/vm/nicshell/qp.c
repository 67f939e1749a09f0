// SPDX-License-Identifier: GPL-2.0-only
#include "nicshell.h"

int nic_create_qp(struct ib_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata) {
  struct nic* nic = nic_of(qp->device);
  struct nic_qp* ours = container_of(qp, struct nic_qp, ib);
  struct ib_qp_cap asked = attr->cap;
  struct verdict verdict = {};
  int error;

  ours->state = IB_QPS_RESET;
  ours->signal_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
  error = nic_take_number(nic, NIC_QPS, &qp->qp_num, &verdict);
  if (error) goto out;
  error = nic->vendor->create_qp(nic, ours, attr, udata, &verdict);
  if (error) {
    nic_unpin(&ours->pins);
    nic_return_number(nic, NIC_QPS, qp->qp_num);
  }
out:
  return nic_record(nic, "create_qp", error, &verdict,
                    "type %d, wr %u/%u, sge %u/%u, inline %u, reports %u/%u, %u/%u, %u%s", attr->qp_type,
                    asked.max_send_wr, asked.max_recv_wr, asked.max_send_sge, asked.max_recv_sge, asked.max_inline_data,
                    attr->cap.max_send_wr, attr->cap.max_recv_wr, attr->cap.max_send_sge, attr->cap.max_recv_sge,
                    attr->cap.max_inline_data, ours->details);
}

static void store(struct nic_qp* qp, const struct ib_qp_attr* attr, int mask) {
  struct ib_qp_attr* kept = &qp->attr;

  if (mask & IB_QP_ACCESS_FLAGS) kept->qp_access_flags = attr->qp_access_flags;
  if (mask & IB_QP_PKEY_INDEX) kept->pkey_index = attr->pkey_index;
  if (mask & IB_QP_PORT) kept->port_num = attr->port_num;
  if (mask & IB_QP_QKEY) kept->qkey = attr->qkey;
  if (mask & IB_QP_PATH_MTU) kept->path_mtu = attr->path_mtu;
  if (mask & IB_QP_TIMEOUT) kept->timeout = attr->timeout;
  if (mask & IB_QP_RETRY_CNT) kept->retry_cnt = attr->retry_cnt;
  if (mask & IB_QP_RNR_RETRY) kept->rnr_retry = attr->rnr_retry;
  if (mask & IB_QP_RQ_PSN) kept->rq_psn = attr->rq_psn;
  if (mask & IB_QP_SQ_PSN) kept->sq_psn = attr->sq_psn;
  if (mask & IB_QP_MAX_QP_RD_ATOMIC) kept->max_rd_atomic = attr->max_rd_atomic;
  if (mask & IB_QP_MAX_DEST_RD_ATOMIC) kept->max_dest_rd_atomic = attr->max_dest_rd_atomic;
  if (mask & IB_QP_MIN_RNR_TIMER) kept->min_rnr_timer = attr->min_rnr_timer;
  if (mask & IB_QP_DEST_QPN) kept->dest_qp_num = attr->dest_qp_num;
  if (mask & IB_QP_AV) {
    kept->ah_attr = attr->ah_attr;
    kept->ah_attr.grh.sgid_attr = NULL;  // the caller's reference
  }
}

int nic_modify_qp(struct ib_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata) {
  struct nic* nic = nic_of(qp->device);
  struct nic_qp* ours = container_of(qp, struct nic_qp, ib);
  enum ib_qp_state before = ours->state;
  struct verdict verdict = {};
  int error = nic->vendor->modify_qp(nic, ours, attr, mask, udata, &verdict);

  if (!error) {
    store(ours, attr, mask);
    if (ours->state == IB_QPS_RESET) memset(&ours->attr, 0, sizeof(ours->attr));
  }
  return nic_record(nic, "modify_qp", error, &verdict, "type %d, state %d to %d, mask %#x", qp->qp_type, before,
                    mask & IB_QP_STATE ? attr->qp_state : before, mask);
}

// What was given is what is shown; where the driver changed it before it stored it, its modify_qp has changed attr, and
// where it shows something else its query_qp does.
int nic_query_qp(struct ib_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_qp_init_attr* init) {
  struct nic_qp* ours = container_of(qp, struct nic_qp, ib);
  struct nic* nic = nic_of(qp->device);

  *attr = ours->attr;
  if (nic->vendor->query_qp)
    nic->vendor->query_qp(nic, ours, attr);
  else
    memset(&attr->ah_attr, 0, sizeof(attr->ah_attr));
  attr->qp_state = attr->cur_qp_state = ours->state;
  attr->cap = ours->cap;
  init->cap = ours->cap;
  init->qp_type = qp->qp_type;
  init->sq_sig_type = ours->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
  return nic_record(nic, "query_qp", 0, NULL, "state %d", ours->state);
}

int nic_destroy_qp(struct ib_qp* qp, struct ib_udata* udata) {
  nic_unpin(&container_of(qp, struct nic_qp, ib)->pins);
  nic_return_number(nic_of(qp->device), NIC_QPS, qp->qp_num);
  return 0;
}

int nic_attach_mcast(struct ib_qp* qp, union ib_gid* gid, u16 lid) {
  return nic_record(nic_of(qp->device), "attach_mcast", 0, NULL, "%pI6", gid->raw);
}
