// SPDX-License-Identifier: GPL-2.0-only
// Intel's irdma: X722 (GEN1), E810 with RoCE v2 or iWARP (GEN2). Functions named are of hw/irdma/verbs.c unless a file
// is given.
#include <linux/math.h>
#include <rdma/irdma-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "nicshell.h"

#define GEN_1 1
#define GEN_2 2
#define MIN_CQ_SIZE 4         // IRDMA_MIN_CQ_SIZE, hw/irdma/user.h
#define FEATURE_RTS_AE 1      // BIT(0) and BIT(1) of hw/irdma/user.h; icrdma_init_hw sets both, i40iw_init_hw none
#define FEATURE_CQ_RESIZE 2
#define CAP_WRITE_WITH_IMM 1  // qp_caps, hw/irdma/user.h
#define CAP_SEND_WITH_IMM 2
#define CAP_ROCE 4
#define CAP_PUSH_MODE 8
#define RING_PAGE_SHIFT 12    // IRDMA_HW_PAGE_SHIFT

// The hardware's states, IRDMA_QP_STATE_* of hw/irdma/defs.h
enum {
  STATE_INVALID,
  STATE_IDLE,
  STATE_RTS,
  STATE_CLOSING,
  STATE_SQD = STATE_CLOSING,
  STATE_RTR,
  STATE_TERMINATE,
  STATE_ERROR
};

// X722's functions are 0x37cc to 0x37d9 (rdma-core providers/irdma/umain.c hca_table); the others are ice's.
static int generation(const struct nic* nic) {
  return nic->model->part_id >> 4 == 0x37c || nic->model->part_id >> 4 == 0x37d ? GEN_1 : GEN_2;
}

static u32 features(const struct nic* nic) {
  return generation(nic) == GEN_1 ? 0 : FEATURE_RTS_AE | FEATURE_CQ_RESIZE;
}

// irdma_query_device: what is left, not what there is. As many groups as queue pairs: irdma_initialize_hw_rsrc
// (hw/irdma/hw.c).
static int query_device(struct nic* nic, struct ib_device_attr* attr, struct ib_udata* udata) {
  if (!nic->model->caps[NIC_CAP_MAX_MCAST_GRP].known) attr->max_mcast_grp = attr->max_qp;
  attr->max_qp -= atomic_read(&nic->used[NIC_QPS]);
  attr->max_cq -= atomic_read(&nic->used[NIC_CQS]);
  attr->max_mr -= atomic_read(&nic->mrs);
  attr->max_pd -= atomic_read(&nic->used[NIC_PDS]);
  return 0;
}

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct irdma_alloc_ucontext_req asked = {};
  struct irdma_alloc_ucontext_resp answer = {};
  bool gen_1 = generation(nic) == GEN_1;

  if (udata->inlen < offsetofend(struct irdma_alloc_ucontext_req, rsvd8) ||
      udata->outlen < offsetofend(struct irdma_alloc_ucontext_resp, rsvd))
    return REFUSE(verdict, -EINVAL, "irdma_alloc_ucontext");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EINVAL, "irdma_alloc_ucontext");
  if (asked.userspace_ver < 4 || asked.userspace_ver > IRDMA_ABI_VER)
    return REFUSE(verdict, -EINVAL, "irdma_alloc_ucontext (version)");
  context->config = asked.comp_mask & IRDMA_ALLOC_UCTX_USE_RAW_ATTR;

  answer.max_pds = nic_cap(nic, NIC_CAP_MAX_PD);
  answer.max_qps = nic_cap(nic, NIC_CAP_MAX_QP);
  answer.kernel_ver = IRDMA_ABI_VER;
  answer.feature_flags = features(nic);
  answer.max_hw_wq_frags = nic_cap(nic, NIC_CAP_MAX_SGE);
  answer.max_hw_read_sges = nic_cap(nic, NIC_CAP_MAX_SGE_RD);
  answer.max_hw_inline = nic_made(nic, NIC_MADE_INLINE_MAX, 0);
  answer.max_hw_rq_quanta = nic_made(nic, NIC_MADE_RECV_RING_MAX, 0);
  answer.max_hw_wq_quanta = nic_made(nic, NIC_MADE_SEND_RING_MAX, 0);
  answer.max_hw_sq_chunk = gen_1 ? 2 : 8;  // I40IW_MAX_QUANTA_PER_WR, IRDMA_MAX_QUANTA_PER_WR
  answer.max_hw_cq_size = nic_cap(nic, NIC_CAP_MAX_CQE) + 1;
  answer.min_hw_cq_size = MIN_CQ_SIZE;
  answer.hw_rev = gen_1 ? GEN_1 : GEN_2;
  answer.min_hw_wq_size = gen_1 ? 4 : 8;  // I40IW_MIN_WQ_SIZE, ICRDMA_MIN_WQ_SIZE
  answer.comp_mask = IRDMA_ALLOC_UCTX_USE_RAW_ATTR | IRDMA_ALLOC_UCTX_MIN_HW_WQ_SIZE;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct irdma_alloc_pd_resp answer = {.pd_id = pd->number};

  if (udata->outlen < offsetofend(struct irdma_alloc_pd_resp, rsvd)) return REFUSE(verdict, -EINVAL, "irdma_alloc_pd");
  return nic_answer(udata, &answer, sizeof(answer));
}

// irdma_reg_user_mr: memory for a ring is put on a list of the context, from which creation takes it by its address.
static int reg_mr(struct nic* nic, struct nic_mr* mr, u64 length, int access, struct ib_udata* udata,
                  struct verdict* verdict) {
  struct nic_context* context = rdma_udata_to_drv_context(udata, struct nic_context, ib);
  struct irdma_mem_reg_req asked = {};
  u32 pages;

  if (udata->inlen < offsetofend(struct irdma_mem_reg_req, sq_pages) || nic_ask(udata, &asked, sizeof(asked)))
    return REFUSE(verdict, -EINVAL, "irdma_reg_user_mr");
  switch (asked.reg_type) {
    case IRDMA_MEMREG_TYPE_MEM:
      if (atomic_read(&nic->mrs) < nic_cap(nic, NIC_CAP_MAX_MR)) return 0;
      return REFUSE(verdict, -ENOMEM, "irdma_create_stag");
    case IRDMA_MEMREG_TYPE_QP:
      if (!nic_is_roce(nic) && ib_umem_offset(mr->umem)) return REFUSE(verdict, -EINVAL, "irdma_reg_user_mr_type_qp");
      pages = asked.sq_pages + asked.rq_pages + 1;
      break;
    case IRDMA_MEMREG_TYPE_CQ:
      pages = asked.cq_pages + (features(nic) & FEATURE_CQ_RESIZE ? 0 : 1);
      break;
    default:
      return REFUSE(verdict, -EINVAL, "irdma_reg_user_mr (type)");
  }
  if (pages > DIV_ROUND_UP(ib_umem_offset(mr->umem) + length, 1 << RING_PAGE_SHIFT))
    return REFUSE(verdict, -EINVAL, "irdma_reg_user_mr (pages)");
  mr->ring_type = asked.reg_type;
  mr->context = context;
  mutex_lock(&context->lock);
  list_add_tail(&mr->ring, &context->rings);
  mutex_unlock(&context->lock);
  return 0;
}

// irdma_get_pbl: found once, a ring is off the list
static bool take_ring(struct ib_udata* udata, u64 address, u16 type) {
  struct nic_context* context = rdma_udata_to_drv_context(udata, struct nic_context, ib);
  struct nic_mr* mr;
  bool found = false;

  mutex_lock(&context->lock);
  list_for_each_entry(mr, &context->rings, ring) {
    if (mr->start != address || mr->ring_type != type) continue;
    list_del_init(&mr->ring);
    found = true;
    break;
  }
  mutex_unlock(&context->lock);
  return found;
}

// cq_validate_flags
static int check_cq_flags(struct nic* nic, u32 flags) {
  if (generation(nic) > GEN_1) flags &= ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
  return flags ? -EOPNOTSUPP : 0;
}

// irdma_create_cq bounds nothing that comes from user space: what it is passed is libirdma's number of hardware slots.
static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct irdma_create_cq_req asked = {};
  struct irdma_create_cq_resp answer = {};

  if (check_cq_flags(nic, attr->flags)) return REFUSE(verdict, -EOPNOTSUPP, "cq_validate_flags");
  if (udata->inlen < offsetofend(struct irdma_create_cq_req, user_cq_buf) ||
      udata->outlen < offsetofend(struct irdma_create_cq_resp, cq_size))
    return REFUSE(verdict, -EINVAL, "irdma_create_cq");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "irdma_create_cq");
  if (!take_ring(udata, asked.user_cq_buf, IRDMA_MEMREG_TYPE_CQ)) return REFUSE(verdict, -EPROTO, "irdma_create_cq");
  if ((features(nic) & FEATURE_CQ_RESIZE) && !take_ring(udata, asked.user_shadow_area, IRDMA_MEMREG_TYPE_CQ))
    return REFUSE(verdict, -EPROTO, "irdma_create_cq (shadow area)");
  cq->size = max_t(u32, attr->cqe, MIN_CQ_SIZE);
  cq->ib.cqe = cq->size;
  answer.cq_id = cq->number;
  answer.cq_size = cq->size;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int resize_cq(struct nic* nic, struct nic_cq* cq, int entries, struct ib_udata* udata, struct verdict* verdict) {
  struct irdma_resize_cq_req asked = {};
  u32 size = max(entries, MIN_CQ_SIZE);

  if (!(features(nic) & FEATURE_CQ_RESIZE)) return REFUSE(verdict, -EOPNOTSUPP, "irdma_resize_cq");
  if (udata->inlen < offsetofend(struct irdma_resize_cq_req, user_cq_buffer))
    return REFUSE(verdict, -EINVAL, "irdma_resize_cq");
  if (entries > nic_cap(nic, NIC_CAP_MAX_CQE) + 1) return REFUSE(verdict, -EINVAL, "irdma_resize_cq (max_cqe)");
  if (size == cq->size - 1) return 0;
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EINVAL, "irdma_resize_cq");
  if (!take_ring(udata, asked.user_cq_buffer, IRDMA_MEMREG_TYPE_CQ)) return REFUSE(verdict, -ENOMEM, "irdma_resize_cq");
  cq->size = size;
  cq->ib.cqe = size - 1;
  return 0;
}

// irdma_validate_qp_attrs: what libirdma passes as depth is the ring's quanta, rounded up to work requests' size
static int validate_qp(struct nic* nic, const struct ib_qp_init_attr* attr) {
  if (attr->create_flags) return -EOPNOTSUPP;
  if (attr->cap.max_inline_data > nic_made(nic, NIC_MADE_INLINE_MAX, 0) ||
      attr->cap.max_send_sge > nic_cap(nic, NIC_CAP_MAX_SGE) ||
      attr->cap.max_recv_sge > nic_cap(nic, NIC_CAP_MAX_SGE) ||
      attr->cap.max_send_wr > nic_made(nic, NIC_MADE_SEND_RING_MAX, 0) ||
      attr->cap.max_recv_wr > nic_made(nic, NIC_MADE_RECV_RING_MAX, 0))
    return -EINVAL;
  if (attr->qp_type == IB_QPT_RC) return 0;
  return nic_is_roce(nic) && attr->qp_type == IB_QPT_UD ? 0 : -EOPNOTSUPP;
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct nic_context* context = rdma_udata_to_drv_context(udata, struct nic_context, ib);
  struct irdma_create_qp_req asked = {};
  struct irdma_create_qp_resp answer = {};
  int error = validate_qp(nic, attr);

  if (error) return REFUSE(verdict, error, "irdma_validate_qp_attrs");
  if (udata->inlen < offsetofend(struct irdma_create_qp_req, user_compl_ctx) ||
      udata->outlen < offsetofend(struct irdma_create_qp_resp, rsvd))
    return REFUSE(verdict, -EINVAL, "irdma_create_qp");
  if (context->config) return -EOPNOTSUPP;  // raw attributes, of newer libraries: the shell does not work them out
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "irdma_setup_umode_qp");
  if (!take_ring(udata, asked.user_wqe_bufs, IRDMA_MEMREG_TYPE_QP))
    return REFUSE(verdict, -ENODATA, "irdma_setup_umode_qp");

  qp->cap = attr->cap;
  qp->hardware_state = STATE_INVALID;
  if (!nic_is_roce(nic))
    answer.qp_caps = CAP_WRITE_WITH_IMM;
  else if (attr->qp_type == IB_QPT_RC)
    answer.qp_caps = CAP_SEND_WITH_IMM | CAP_WRITE_WITH_IMM | CAP_ROCE;
  else
    answer.qp_caps = CAP_SEND_WITH_IMM | CAP_ROCE;
  if (generation(nic) > GEN_1) answer.qp_caps |= CAP_PUSH_MODE;
  answer.lsmm = !nic_is_roce(nic);
  answer.actual_sq_size = attr->cap.max_send_wr;
  answer.actual_rq_size = attr->cap.max_recv_wr;
  answer.qp_id = qp->ib.qp_num;
  return nic_answer(udata, &answer, sizeof(answer));
}

// irdma_modify_qp_roce: RESET is the hardware's ERROR, from which no INIT leads back
static int modify_roce(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct verdict* verdict) {
  static const char by[] = "irdma_modify_qp_roce";
  int next = qp->hardware_state;

  if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index > 0) return REFUSE(verdict, -EINVAL, "irdma_query_pkey");
  if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_INIT_RD_ATOM))
    return REFUSE(verdict, -EINVAL, "irdma_modify_qp_roce (max_hw_ord)");
  if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_RD_ATOM))
    return REFUSE(verdict, -EINVAL, "irdma_modify_qp_roce (max_hw_ird)");
  // permissions are only ever turned on
  if (mask & IB_QP_ACCESS_FLAGS) attr->qp_access_flags |= qp->attr.qp_access_flags;
  if (!(mask & IB_QP_STATE)) return 0;
  if (!ib_modify_qp_is_ok(qp->state, attr->qp_state, qp->ib.qp_type, mask))
    return REFUSE(verdict, -EINVAL, "ib_modify_qp_is_ok");
  switch (attr->qp_state) {
    case IB_QPS_INIT:
      if (qp->hardware_state > STATE_IDLE) return REFUSE(verdict, -EINVAL, by);
      next = STATE_IDLE;
      break;
    case IB_QPS_RTR:
      if (qp->hardware_state > STATE_IDLE) return REFUSE(verdict, -EINVAL, by);
      next = STATE_RTR;
      break;
    case IB_QPS_RTS:
      if (qp->state < IB_QPS_RTR || qp->state == IB_QPS_ERR) return REFUSE(verdict, -EINVAL, by);
      next = STATE_RTS;
      break;
    case IB_QPS_SQD:
      if (qp->hardware_state == STATE_SQD) return 0;
      if (qp->hardware_state != STATE_RTS) return REFUSE(verdict, -EINVAL, by);
      next = STATE_SQD;
      break;
    default:
      next = STATE_ERROR;
  }
  qp->hardware_state = next;
  qp->state = attr->qp_state;
  return 0;
}

// irdma_modify_qp: no table is asked, and RTS wants what only the connection manager gives
static int modify_iwarp(struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct verdict* verdict) {
  static const char by[] = "irdma_modify_qp";

  if (!(mask & IB_QP_STATE)) return 0;
  switch (attr->qp_state) {
    case IB_QPS_INIT:
    case IB_QPS_RTR:
      if (qp->hardware_state > STATE_IDLE) return REFUSE(verdict, -EINVAL, by);
      qp->hardware_state = STATE_IDLE;
      break;
    case IB_QPS_RTS:
      return REFUSE(verdict, -EINVAL, "irdma_modify_qp (no cm_id)");
    case IB_QPS_SQD:
      if (qp->hardware_state == STATE_CLOSING || qp->hardware_state < STATE_RTS) return 0;
      return REFUSE(verdict, -EINVAL, by);
    case IB_QPS_SQE:
      if (qp->hardware_state >= STATE_TERMINATE) return REFUSE(verdict, -EINVAL, by);
      qp->hardware_state = STATE_TERMINATE;
      break;
    case IB_QPS_ERR:
    case IB_QPS_RESET:
      qp->hardware_state = STATE_ERROR;
      break;
    default:
      return REFUSE(verdict, -EINVAL, by);
  }
  qp->state = attr->qp_state;
  return 0;
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct irdma_modify_qp_resp answer = {};
  int error;

  if (mask & ~IB_QP_ATTR_STANDARD_BITS) return REFUSE(verdict, -EOPNOTSUPP, "irdma_modify_qp");
  error = nic_is_roce(nic) ? modify_roce(nic, qp, attr, mask, verdict) : modify_iwarp(qp, attr, mask, verdict);
  if (error || !udata || !udata->outlen || generation(nic) == GEN_1) return error;
  return nic_answer(udata, &answer, sizeof(answer));  // no push page: push_valid is 0
}

static int create_ah(struct nic* nic, struct nic_ah* ah, struct ib_udata* udata, struct verdict* verdict) {
  struct irdma_create_ah_resp answer = {.ah_id = nic_key(nic)};

  if (udata->outlen < offsetofend(struct irdma_create_ah_resp, rsvd))
    return REFUSE(verdict, -EINVAL, "irdma_create_user_ah");
  return nic_answer(udata, &answer, sizeof(answer));
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_IRDMA,
    .uverbs_abi_ver = IRDMA_ABI_VER,
    .alloc_mw = nic_alloc_mw,
    .dealloc_mw = nic_dealloc_mw,
    .rereg_user_mr = nic_rereg_user_mr,
    .resize_cq = nic_resize_cq,
};

// irdma_roce_dev_ops
static const struct ib_device_ops roce_ops = {
    .attach_mcast = nic_attach_mcast,
    .create_ah = nic_create_user_ah,
    .create_user_ah = nic_create_user_ah,
    .destroy_ah = nic_destroy_ah,
    .detach_mcast = nic_attach_mcast,
    .query_ah = nic_query_ah,
};

const struct nic_vendor nic_irdma = {
    .driver = "irdma",
    .parent_driver = "ice",
    .ops = &ops,
    .roce_ops = &roce_ops,
    .exhausted = {-EOVERFLOW, "irdma_alloc_rsrc"},
    .query_device = query_device,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .reg_mr = reg_mr,
    .create_cq = create_cq,
    .resize_cq = resize_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .create_ah = create_ah,
};
