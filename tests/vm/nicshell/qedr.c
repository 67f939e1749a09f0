// SPDX-License-Identifier: GPL-2.0-only
// Marvell's qedr, RoCE or iWARP. Functions named are of hw/qedr/verbs.c.
#include <rdma/qedr-abi.h>

#include "nicshell.h"

#define CQE_SIZE 32
#define SQ_ELEMENTS 18  // QEDR_MAX_SQE_ELEMENTS_PER_SQE: 288 bytes of 16
#define RQ_ELEMENTS 4  // QEDR_MAX_RQE_ELEMENTS_PER_RQE
#define MAX_INLINE 256

static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_PAGE_SIZE_CAP] = {true, 0x7ffff000},
};

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct qedr_alloc_ucontext_resp answer = {.db_pa = 0, .db_size = PAGE_SIZE};

  answer.max_send_wr = answer.max_recv_wr = nic_cap(nic, NIC_CAP_MAX_QP_WR);
  answer.max_srq_wr = nic_cap(nic, NIC_CAP_MAX_SRQ_WR);
  answer.sges_per_send_wr = SQ_ELEMENTS;
  answer.sges_per_recv_wr = RQ_ELEMENTS;
  answer.sges_per_srq_wr = nic_cap(nic, NIC_CAP_MAX_SRQ_SGE);
  answer.max_cqes = nic_cap(nic, NIC_CAP_MAX_CQE);
  answer.wids_enabled = 1;
  answer.wid_count = 1;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct qedr_alloc_pd_uresp answer = {.pd_id = pd->number};

  return nic_answer(udata, &answer, sizeof(answer));
}

// Whatever fails after the bounds is EINVAL.
static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct qedr_create_cq_ureq asked = {};
  struct qedr_create_cq_uresp answer = {.icid = cq->number};
  u32 most = nic_cap(nic, NIC_CAP_MAX_CQE);

  if (attr->flags) return REFUSE(verdict, -EOPNOTSUPP, "qedr_create_cq");
  if ((int)attr->cqe > (int)most) return REFUSE(verdict, -EINVAL, "qedr_create_cq");
  // qedr_align_cq_entries
  cq->size = PAGE_ALIGN(((u64)attr->cqe + 1) * CQE_SIZE) / CQE_SIZE;
  cq->ib.cqe = min(cq->size, most);
  if (nic_ask(udata, &asked, sizeof(asked)) || !asked.len) return REFUSE(verdict, -EINVAL, "qedr_create_cq");
  if (nic_pin(nic, &cq->pins, asked.addr, asked.len)) return REFUSE(verdict, -EINVAL, "qedr_create_cq (memory)");
  return nic_answer(udata, &answer, sizeof(answer));
}

// qedr_check_srq_params: too many SGEs are only complained of
static int create_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata,
                      struct verdict* verdict) {
  struct qedr_create_srq_ureq asked = {};
  struct qedr_create_srq_uresp answer = {.srq_id = srq->number};

  if (attr->srq_type != IB_SRQT_BASIC && attr->srq_type != IB_SRQT_XRC)
    return REFUSE(verdict, -EOPNOTSUPP, "qedr_create_srq");
  if (attr->attr.max_wr > nic_cap(nic, NIC_CAP_MAX_SRQ_WR)) return REFUSE(verdict, -EINVAL, "qedr_check_srq_params");
  if (nic_ask(udata, &asked, sizeof(asked)) || nic_pin(nic, &srq->pins, asked.srq_addr, asked.srq_len) ||
      nic_pin(nic, &srq->pins, asked.prod_pair_addr, 8))
    return REFUSE(verdict, -EFAULT, "qedr_init_srq_user_params");
  // qedr_query_srq shows what the device can do
  srq->attr.max_wr = nic_cap(nic, NIC_CAP_MAX_SRQ_WR);
  srq->attr.max_sge = nic_cap(nic, NIC_CAP_MAX_SGE);
  srq->size = attr->attr.max_wr;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int modify_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_attr* attr, int mask,
                      struct verdict* verdict) {
  if ((mask & IB_SRQ_MAX_WR) || ((mask & IB_SRQ_LIMIT) && attr->srq_limit >= srq->size))
    return REFUSE(verdict, -EINVAL, "qedr_modify_srq");
  return 0;
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct qedr_create_qp_ureq asked = {};
  struct qedr_create_qp_uresp answer = {.qp_id = qp->ib.qp_num, .sq_icid = qp->ib.qp_num, .rq_icid = qp->ib.qp_num};
  const struct ib_qp_cap* cap = &attr->cap;
  u64 sges = nic_cap(nic, NIC_CAP_MAX_SGE);
  int error = 0;

  if (attr->create_flags) return REFUSE(verdict, -EOPNOTSUPP, "qedr_create_qp");
  if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_XRC_INI && attr->qp_type != IB_QPT_XRC_TGT)
    return REFUSE(verdict, -EOPNOTSUPP, "qedr_check_qp_attrs");
  if (!nic_is_roce(nic) && attr->qp_type != IB_QPT_RC) return -EOPNOTSUPP;  // the driver passes XRC on to firmware
  if (cap->max_send_wr > nic_cap(nic, NIC_CAP_MAX_QP_WR) ||
      cap->max_inline_data > nic_made(nic, NIC_MADE_INLINE_MAX, MAX_INLINE) || cap->max_send_sge > sges ||
      cap->max_recv_sge > sges)
    return REFUSE(verdict, -EINVAL, "qedr_check_qp_attrs");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "qedr_create_user_qp");
  if (asked.sq_len) error = nic_pin(nic, &qp->pins, asked.sq_addr, asked.sq_len);
  if (!error && asked.rq_len && !attr->srq) error = nic_pin(nic, &qp->pins, asked.rq_addr, asked.rq_len);
  if (error) return REFUSE(verdict, error, "qedr_create_user_qp");
  qp->cap = *cap;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : qp->state;

  if (mask & ~IB_QP_ATTR_STANDARD_BITS) return REFUSE(verdict, -EOPNOTSUPP, "qedr_modify_qp");
  if (nic_is_roce(nic) && !ib_modify_qp_is_ok(qp->state, next, qp->ib.qp_type, mask))
    return REFUSE(verdict, -EINVAL, "ib_modify_qp_is_ok");
  if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= 1)
    return REFUSE(verdict, -EINVAL, "qedr_modify_qp (pkey_index)");
  if ((mask & (IB_QP_AV | IB_QP_PATH_MTU)) && !nic_is_roce(nic))
    return REFUSE(verdict, -EINVAL, "qedr_modify_qp (iWARP)");
  if (mask & IB_QP_PATH_MTU) {
    if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)
      return REFUSE(verdict, -EINVAL, "qedr_modify_qp (path_mtu)");
    attr->path_mtu = min_t(int, attr->path_mtu, ib_mtu_int_to_enum(nic->model->active_mtu));
  }
  if (((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_INIT_RD_ATOM)) ||
      ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_RD_ATOM)))
    return REFUSE(verdict, -EINVAL, "qedr_modify_qp (rd_atomic)");
  qp->state = next;
  return 0;
}

// qedr_query_qp; the retry counts have three bits on their way to firmware (qed_roce_sp_modify_requester,
// net/ethernet/qlogic/qed/qed_roce.c)
static void query_qp(const struct nic* nic, const struct nic_qp* qp, struct ib_qp_attr* attr) {
  attr->path_mig_state = IB_MIG_MIGRATED;
  attr->pkey_index = 0;
  attr->qkey = 0;
  attr->port_num = 1;
  attr->retry_cnt &= 7;
  attr->rnr_retry &= 7;
  attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
  rdma_ah_set_ah_flags(&attr->ah_attr, IB_AH_GRH);
  rdma_ah_set_port_num(&attr->ah_attr, 1);
  rdma_ah_set_sl(&attr->ah_attr, 0);
  rdma_ah_set_path_bits(&attr->ah_attr, 0);
  rdma_ah_set_static_rate(&attr->ah_attr, 0);
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_QEDR,
    .uverbs_abi_ver = QEDR_ABI_VERSION,
    .create_srq = nic_create_srq,
    .destroy_srq = nic_destroy_srq,
    .modify_srq = nic_modify_srq,
    .query_srq = nic_query_srq,
};

// qedr_roce_dev_ops
static const struct ib_device_ops roce_ops = {
    .alloc_xrcd = nic_alloc_xrcd,
    .dealloc_xrcd = nic_dealloc_xrcd,
};

const struct nic_vendor nic_qedr = {
    .driver = "qedr",
    .parent_driver = "qede",
    .ops = &ops,
    .roce_ops = &roce_ops,
    .exhausted = {-EINVAL, NULL},  // firmware's refusal, whose errno no source gives
    .fallback = fallback,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .create_cq = create_cq,
    .create_srq = create_srq,
    .modify_srq = modify_srq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
};
