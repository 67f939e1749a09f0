// SPDX-License-Identifier: GPL-2.0-only
// Broadcom's bnxt_re, in the mode of fixed work request size, which is what a library that doesn't ask for another
// gets. Functions named are of hw/bnxt_re/ib_verbs.c.
#include <linux/log2.h>
#include <rdma/bnxt_re-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "nicshell.h"

#define CQE_SIZE 32           // struct cq_base
#define WQE_HEADER 32         // struct sq_send_hdr, struct rq_wqe_hdr
#define SGE_SIZE 16           // struct sq_sge
#define STATIC_WQE_SIZE 128   // bnxt_re_get_swqe_size of BNXT_STATIC_MAX_SGE
#define STATIC_MAX_SGE 6      // BNXT_STATIC_MAX_SGE
#define RESERVED_WRS 128      // BNXT_QPLIB_RESERVED_QP_WRS
#define PSN_SIZE 16           // struct sq_psn_search_ext, of P5 and P7
#define DOORBELL_OFFSET 1     // page of the doorbells in the mapping

static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, 65537},
    [NIC_CAP_MAX_QP_WR] = {true, 16384 - 1},
    [NIC_CAP_MAX_CQ] = {true, 65536},
    [NIC_CAP_MAX_CQE] = {true, 1048575},
    [NIC_CAP_MAX_MR] = {true, 262144},
    [NIC_CAP_MAX_MW] = {true, 262144},
    [NIC_CAP_MAX_AH] = {true, 131072},
    [NIC_CAP_MAX_SRQ] = {true, 8192},
    [NIC_CAP_MAX_SRQ_WR] = {true, 1048574},
    [NIC_CAP_MAX_SRQ_SGE] = {true, 6},
    [NIC_CAP_MAX_QP_RD_ATOM] = {true, 126},
    [NIC_CAP_MAX_QP_INIT_RD_ATOM] = {true, 126},
    [NIC_CAP_LOCAL_CA_ACK_DELAY] = {true, 16},
    // bnxt_re_query_device sets these whatever firmware says
    [NIC_CAP_DEVICE_CAP_FLAGS] = {true, IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_RC_RNR_NAK_GEN |
                                            IB_DEVICE_SHUTDOWN_PORT | IB_DEVICE_SYS_IMAGE_GUID |
                                            IB_DEVICE_RESIZE_MAX_WR | IB_DEVICE_PORT_ACTIVE_EVENT |
                                            IB_DEVICE_N_NOTIFY_CQ | IB_DEVICE_MEM_WINDOW |
                                            IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_MEM_MGT_EXTENSIONS},
};

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct bnxt_re_uctx_req asked = {};
  struct bnxt_re_uctx_resp answer = {.comp_mask = BNXT_RE_UCNTX_CMASK_HAVE_CCTX};

  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "bnxt_re_alloc_ucontext");
  answer.chip_id0 = nic->model->part_id;  // 57508 and 57608 have their chip number as PCI id
  answer.max_qp = nic_cap(nic, NIC_CAP_MAX_QP);
  answer.pg_size = PAGE_SIZE;
  answer.cqe_sz = CQE_SIZE;
  answer.max_cqd = nic_cap(nic, NIC_CAP_MAX_CQE);
  if (asked.comp_mask & BNXT_RE_COMP_MASK_REQ_UCNTX_POW2_SUPPORT) {
    answer.comp_mask |= BNXT_RE_UCNTX_CMASK_POW2_DISABLED;
    context->config = 1;
  }
  if (asked.comp_mask & BNXT_RE_COMP_MASK_REQ_UCNTX_VAR_WQE_SUPPORT) {
    answer.comp_mask |= BNXT_RE_UCNTX_CMASK_HAVE_MODE;
    answer.mode = BNXT_QPLIB_WQE_MODE_STATIC;
  }
  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct bnxt_re_pd_resp answer = {.pdid = pd->number, .dpi = 1, .dbr = DOORBELL_OFFSET << PAGE_SHIFT};

  return nic_answer(udata, &answer, sizeof(answer));
}

// bnxt_re_init_depth
static u32 init_depth(struct ib_udata* udata, u32 entries) {
  struct nic_context* context = rdma_udata_to_drv_context(udata, struct nic_context, ib);

  return context->config ? entries : roundup_pow_of_two(entries);
}

static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  u32 most = nic_cap(nic, NIC_CAP_MAX_CQE);
  struct bnxt_re_cq_req asked = {};
  struct bnxt_re_cq_resp answer = {.cqid = cq->number};
  int error;

  if (attr->flags) return REFUSE(verdict, -EOPNOTSUPP, "bnxt_re_create_cq");
  if ((int)attr->cqe < 1 || attr->cqe > most) return REFUSE(verdict, -EINVAL, "bnxt_re_create_cq");
  cq->size = min(init_depth(udata, attr->cqe + 1), most + 1);
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "bnxt_re_create_cq");
  error = nic_pin(nic, &cq->pins, asked.cq_va, (size_t)cq->size * CQE_SIZE);
  if (error) return REFUSE(verdict, error, "bnxt_re_create_cq");
  cq->ib.cqe = cq->size;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int resize_cq(struct nic* nic, struct nic_cq* cq, int entries, struct ib_udata* udata, struct verdict* verdict) {
  u32 most = nic_cap(nic, NIC_CAP_MAX_CQE), size;
  struct bnxt_re_resize_cq_req asked = {};
  int error;

  if (entries < 1 || entries > most) return REFUSE(verdict, -EINVAL, "bnxt_re_resize_cq");
  size = min(init_depth(udata, entries + 1), most + 1);
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "bnxt_re_resize_cq");
  nic_unpin(&cq->pins);
  error = nic_pin(nic, &cq->pins, asked.cq_va, (size_t)size * CQE_SIZE);
  if (error) return REFUSE(verdict, error, "bnxt_re_resize_cq");
  cq->ib.cqe = cq->size = size;
  return 0;
}

static int create_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata,
                      struct verdict* verdict) {
  u32 most = nic_cap(nic, NIC_CAP_MAX_SRQ_WR), depth;
  struct bnxt_re_srq_req asked = {};
  struct bnxt_re_srq_resp answer = {.srqid = srq->number};
  int error;

  if (attr->attr.max_wr >= most) return REFUSE(verdict, -EINVAL, "bnxt_re_create_srq");
  if (attr->srq_type != IB_SRQT_BASIC) return REFUSE(verdict, -EOPNOTSUPP, "bnxt_re_create_srq");
  depth = min(init_depth(udata, attr->attr.max_wr + 1), most + 1);
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "bnxt_re_init_user_srq");
  // bnxt_re_get_rwqe_size of the declared SGEs
  error = nic_pin(nic, &srq->pins, asked.srqva,
                  PAGE_ALIGN((size_t)depth * (WQE_HEADER + nic_cap(nic, NIC_CAP_MAX_SRQ_SGE) * SGE_SIZE)));
  if (error) return REFUSE(verdict, error, "bnxt_re_init_user_srq");
  srq->attr = attr->attr;
  srq->attr.max_wr = srq->size = depth;  // bnxt_re_query_srq shows the ring
  return nic_answer(udata, &answer, sizeof(answer));
}

// bnxt_re_modify_srq: one thing at a time
static int modify_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_attr* attr, int mask,
                      struct verdict* verdict) {
  if (mask != IB_SRQ_LIMIT || attr->srq_limit > srq->size) return REFUSE(verdict, -EINVAL, "bnxt_re_modify_srq");
  return 0;
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  u32 most = nic_cap(nic, NIC_CAP_MAX_QP_WR), sges = nic_cap(nic, NIC_CAP_MAX_SGE), depth;
  struct bnxt_re_qp_req asked = {};
  struct bnxt_re_qp_resp answer = {.qpid = qp->ib.qp_num};
  struct ib_qp_cap* cap = &attr->cap;
  size_t bytes;
  int error;

  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "bnxt_re_create_qp");
  if (cap->max_send_wr > most || cap->max_recv_wr > most || cap->max_send_sge > sges || cap->max_recv_sge > sges ||
      cap->max_inline_data > sges * 16)
    return REFUSE(verdict, -EINVAL, "bnxt_re_test_qp_limits");
  if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_UD)
    return REFUSE(verdict, -EOPNOTSUPP, "bnxt_re_init_qp_type");
  if (attr->create_flags) return REFUSE(verdict, -EOPNOTSUPP, "bnxt_re_init_qp_attr");
  qp->cap = *cap;
  // bnxt_re_setup_swqe_size: inline data fills the work request, where it is asked for at all
  if (cap->max_inline_data) qp->cap.max_inline_data = cap->max_inline_data = STATIC_WQE_SIZE - 32;
  qp->cap.max_send_sge = STATIC_MAX_SGE;
  // bnxt_re_init_sq_attr, bnxt_re_init_user_qp
  depth = min(init_depth(udata, cap->max_send_wr + RESERVED_WRS + 1), most + RESERVED_WRS + 1);
  qp->cap.max_send_wr = depth;
  bytes = (size_t)depth * STATIC_WQE_SIZE + (attr->qp_type == IB_QPT_RC ? (size_t)depth * PSN_SIZE : 0);
  error = nic_pin(nic, &qp->pins, asked.qpsva, PAGE_ALIGN(bytes));
  if (!error && !attr->srq) {
    depth = min(init_depth(udata, cap->max_recv_wr + 1), most + 1);
    qp->cap.max_recv_wr = depth;
    // bnxt_re_setup_rwqe_size: as many SGEs as the chip has, 13 on P7, where the library's ring holds 6
    error = nic_pin(nic, &qp->pins, asked.qprva, PAGE_ALIGN((size_t)depth * (WQE_HEADER + sges * SGE_SIZE)));
  }
  if (error) return REFUSE(verdict, error, "bnxt_re_init_user_qp");
  return nic_answer(udata, &answer, sizeof(answer));
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  if (mask & ~IB_QP_ATTR_STANDARD_BITS) return REFUSE(verdict, -EOPNOTSUPP, "bnxt_re_modify_qp");
  if ((mask & IB_QP_STATE) && !ib_modify_qp_is_ok(qp->state, attr->qp_state, qp->ib.qp_type, mask))
    return REFUSE(verdict, -EINVAL, "ib_modify_qp_is_ok");
  if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RTR && (mask & IB_QP_PATH_MTU) &&
      ib_mtu_enum_to_int(attr->path_mtu) > nic->model->active_mtu)
    return REFUSE(verdict, -EINVAL, "bnxt_re_modify_qp (path_mtu)");
  if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_INIT_RD_ATOM))
    return REFUSE(verdict, -EINVAL, "bnxt_re_modify_qp (max_dest_rd_atomic)");
  // The driver looks at none of these: firmware is given them. Whether it refuses them no source says; its refusals are
  // EIO (bnxt_qplib_rcfw_send_message, hw/bnxt_re/qplib_rcfw.c).
  if (((mask & IB_QP_PKEY_INDEX) && attr->pkey_index) || ((mask & IB_QP_TIMEOUT) && attr->timeout > 31) ||
      ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7) || ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7))
    return -EIO;
  // too many reads are cut without a word, and remote access is always on
  if (mask & IB_QP_MAX_QP_RD_ATOMIC)
    attr->max_rd_atomic = min_t(u64, attr->max_rd_atomic, nic_cap(nic, NIC_CAP_MAX_QP_RD_ATOM));
  if (mask & IB_QP_ACCESS_FLAGS)
    attr->qp_access_flags |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;
  if (mask & IB_QP_STATE) qp->state = attr->qp_state;
  return 0;
}

// bnxt_re_query_qp: the path has its GRH, and not its port
static void query_qp(const struct nic* nic, const struct nic_qp* qp, struct ib_qp_attr* attr) {
  if (qp->ib.qp_type == IB_QPT_UD) memset(&attr->ah_attr, 0, sizeof(attr->ah_attr));
  rdma_ah_set_ah_flags(&attr->ah_attr, IB_AH_GRH);
  rdma_ah_set_port_num(&attr->ah_attr, 0);
}

// The address handle's number goes into a page that is shared with the library; the shell leaves it 0.
static int create_ah(struct nic* nic, struct nic_ah* ah, struct ib_udata* udata, struct verdict* verdict) {
  return rdma_ah_get_ah_flags(&ah->attr) & IB_AH_GRH ? 0 : REFUSE(verdict, -EINVAL, "bnxt_re_create_ah");
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_BNXT_RE,
    .uverbs_abi_ver = BNXT_RE_ABI_VERSION,
    .create_ah = nic_create_user_ah,
    .create_srq = nic_create_srq,
    .create_user_ah = nic_create_user_ah,
    .destroy_ah = nic_destroy_ah,
    .destroy_srq = nic_destroy_srq,
    .modify_srq = nic_modify_srq,
    .query_ah = nic_query_ah,
    .query_srq = nic_query_srq,
    .resize_cq = nic_resize_cq,
};

const struct nic_vendor nic_bnxt_re = {
    .driver = "bnxt_re",
    .parent_driver = "bnxt_en",
    .ops = &ops,
    .exhausted = {-ENOMEM, NULL},  // firmware's refusal, whose errno no source gives
    .too_long = -ENOMEM,
    .fallback = fallback,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .create_cq = create_cq,
    .resize_cq = resize_cq,
    .create_srq = create_srq,
    .modify_srq = modify_srq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
    .create_ah = create_ah,
};
