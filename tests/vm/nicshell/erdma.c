// SPDX-License-Identifier: GPL-2.0-only
// Alibaba's erdma, iWARP. Functions named are of hw/erdma/erdma_verbs.c.
#include <linux/log2.h>
#include <rdma/erdma-abi.h>

#include "nicshell.h"

#define WQEBB_PER_SQE 4   // ERDMA_MAX_WQEBB_PER_SQE
#define SQEBB_SHIFT 5
#define RQE_SIZE 32
#define HW_PAGE_SIZE (1 << 12)  // ERDMA_HW_PAGE_SIZE

static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, 131071},          [NIC_CAP_MAX_QP_WR] = {true, 8192}, [NIC_CAP_MAX_CQ] = {true, 262143},
    [NIC_CAP_MAX_CQE] = {true, 1048576},        [NIC_CAP_MAX_MR] = {true, 131072},  [NIC_CAP_MAX_MW] = {true, 131072},
    [NIC_CAP_MAX_MR_SIZE] = {true, 1ull << 37},
};

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct erdma_uresp_alloc_ctx answer = {
      .dev_id = nic->model->part_id, .sdb = 0, .rdb = PAGE_SIZE, .cdb = 2 * PAGE_SIZE};

  if (udata->outlen < sizeof(answer)) return REFUSE(verdict, -EINVAL, "erdma_alloc_ucontext");
  return nic_answer(udata, &answer, sizeof(answer));
}

// erdma_query_device
static int query_device(struct nic* nic, struct ib_device_attr* attr, struct ib_udata* udata) {
  if (!nic->model->caps[NIC_CAP_MAX_RES_RD_ATOM].known)
    attr->max_res_rd_atom = (attr->max_qp + 1) * attr->max_qp_init_rd_atom;
  return 0;
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  return 0;
}

static int reg_mr(struct nic* nic, struct nic_mr* mr, u64 length, int access, struct ib_udata* udata,
                  struct verdict* verdict) {
  return length ? 0 : REFUSE(verdict, -EINVAL, "erdma_reg_user_mr");
}

// What the library makes of any refusal is EIO.
static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct erdma_ureq_create_cq asked = {};
  struct erdma_uresp_create_cq answer = {.cq_id = cq->number};
  int error;

  if (attr->cqe > nic_cap(nic, NIC_CAP_MAX_CQE)) return REFUSE(verdict, -EINVAL, "erdma_create_cq");
  answer.num_cqe = cq->ib.cqe = cq->size = roundup_pow_of_two(attr->cqe);
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "erdma_create_cq");
  error = nic_pin(nic, &cq->pins, asked.qbuf_va, asked.qbuf_len);
  if (error) return REFUSE(verdict, error, "erdma_init_user_cq");
  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct erdma_ureq_create_qp asked = {};
  struct erdma_uresp_create_qp answer = {.qp_id = qp->ib.qp_num};
  const struct ib_qp_cap* cap = &attr->cap;
  u32 sends;
  int error;

  if (cap->max_send_wr > nic_made(nic, NIC_MADE_SEND_MAX, 8192) ||
      cap->max_recv_wr > nic_made(nic, NIC_MADE_RECV_MAX, nic_cap(nic, NIC_CAP_MAX_QP_WR)) ||
      cap->max_send_sge > nic_made(nic, NIC_MADE_SEND_SGE_MAX, 6) ||
      cap->max_recv_sge > nic_made(nic, NIC_MADE_RECV_SGE_MAX, 1) ||
      cap->max_inline_data > nic_made(nic, NIC_MADE_INLINE_MAX, 96) || !cap->max_send_wr || !cap->max_recv_wr)
    return REFUSE(verdict, -EINVAL, "erdma_qp_validate_cap");
  if (attr->qp_type != IB_QPT_RC || attr->srq) return REFUSE(verdict, -EOPNOTSUPP, "erdma_qp_validate_attr");
  answer.num_sqe = roundup_pow_of_two(cap->max_send_wr * WQEBB_PER_SQE);
  answer.num_rqe = roundup_pow_of_two(cap->max_recv_wr);
  sends = ALIGN(answer.num_sqe << SQEBB_SHIFT, HW_PAGE_SIZE);
  answer.rq_offset = sends;
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "erdma_create_qp");
  if (asked.qbuf_len < sends + answer.num_rqe * RQE_SIZE) return REFUSE(verdict, -EINVAL, "init_user_qp");
  error = nic_pin(nic, &qp->pins, asked.qbuf_va, sends + answer.num_rqe * RQE_SIZE);
  if (error) return REFUSE(verdict, error, "init_user_qp");
  qp->cap = *cap;
  qp->state = IB_QPS_INIT;  // what erdma_query_qp shows of an idle one
  return nic_answer(udata, &answer, sizeof(answer));
}

// erdma_modify_qp, erdma_modify_qp_state_iwarp (hw/erdma/erdma_qp.c): no table is asked. Without a connection from the
// connection manager there is no way to RTS, and what is not served is passed over with success.
static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  if (mask & ~IB_QP_ATTR_STANDARD_BITS) return REFUSE(verdict, -EOPNOTSUPP, "erdma_check_qp_attrs");
  if ((mask & IB_QP_PORT) && attr->port_num != 1) return REFUSE(verdict, -EINVAL, "erdma_check_qp_attrs");
  if (!(mask & IB_QP_STATE)) return 0;
  if (attr->qp_state == IB_QPS_RTS && qp->state != IB_QPS_ERR)
    return REFUSE(verdict, -EINVAL, "erdma_modify_qp_state_to_rts");
  if (attr->qp_state == IB_QPS_ERR) qp->state = IB_QPS_ERR;
  return 0;
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_ERDMA,
    .uverbs_abi_ver = ERDMA_ABI_VERSION,
};

const struct nic_vendor nic_erdma = {
    .driver = "erdma",
    .parent_driver = "erdma",
    .ops = &ops,
    .exhausted = {-ENOMEM, "erdma_create_qp"},
    .fallback = fallback,
    .query_device = query_device,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .reg_mr = reg_mr,
    .create_cq = create_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
};
