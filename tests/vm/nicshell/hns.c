// SPDX-License-Identifier: GPL-2.0-only
// HiSilicon's hns: HIP08 and HIP09, told apart by the PCI revision. Functions named are of hw/hns.
#include <linux/log2.h>
#include <rdma/hns-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "nicshell.h"

#define REVISION_HIP09 0x30
#define MIN_CQES 64          // HNS_ROCE_MIN_CQE_NUM, hns_roce_device.h
#define MIN_WQES 64          // HNS_ROCE_V2_MIN_WQE_NUM of rdma-core providers/hns; in the kernel firmware's number
#define MAX_SQ_DESC_SHIFT 6  // HNS_ROCE_V2_MAX_SQ_DESC_SZ, 64 bytes, set_default_caps of 6.1
#define MIN_SQ_SHIFT 6       // HNS_ROCE_IB_MIN_SQ_STRIDE
#define SGE_IN_WQE 2         // HNS_ROCE_SGE_IN_WQE
#define SGE_SHIFT 4          // HNS_ROCE_SGE_SHIFT
#define HW_PAGE_SHIFT 12     // HNS_HW_PAGE_SHIFT
#define MAX_PERIOD_HIP08 65  // HNS_ROCE_MAX_CQ_PERIOD_HIP08
#define QP_FLAGS (HNS_ROCE_QP_CAP_RQ_RECORD_DB | HNS_ROCE_QP_CAP_SQ_RECORD_DB)
#define TIMEOUT_TAKEN BIT_ULL(32)  // the shell's own, beside QP_FLAGS: the context holds a timeout
#define TIMEOUT_OFFSET_HIP08 10    // HNS_ROCE_V2_QP_ACK_TIMEOUT_OFS_HIP08
#define RNR_TIMER_HIP08 1          // HNS_ROCE_RNR_TIMER_10NS

static bool is_hip09(const struct nic* nic) {
  return nic->model->pci_revision.value >= REVISION_HIP09;
}

// to_hr_hem_entries_size
static size_t entries_size(u32 count, u32 shift) {
  return ALIGN((size_t)count << shift, 1 << HW_PAGE_SHIFT);
}

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct hns_roce_ib_alloc_ucontext asked = {};
  struct hns_roce_ib_alloc_ucontext_resp answer = {};

  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "hns_roce_alloc_ucontext");
  answer.qp_tab_size = nic_cap(nic, NIC_CAP_MAX_QP);
  answer.srq_tab_size = nic_cap(nic, NIC_CAP_MAX_SRQ);
  answer.cqe_size = is_hip09(nic) ? 64 : 32;  // HNS_ROCE_V3_CQE_SIZE, HNS_ROCE_V2_CQE_SIZE
  // A library that doesn't ask for extended SGEs to carry inline data (before rdma-core 46) gets none.
  if (is_hip09(nic)) context->config = asked.config & HNS_ROCE_EXSGE_FLAGS;
  if (context->config) {
    answer.config = HNS_ROCE_RSP_EXSGE_FLAGS;
    answer.max_inline_data = nic_made(nic, NIC_MADE_INLINE_MAX, 0);
  }
  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct hns_roce_ib_alloc_pd_resp answer = {.pdn = pd->number};

  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct hns_roce_ib_create_cq asked = {};
  struct hns_roce_ib_create_cq_resp answer = {.cqn = cq->number, .cap_flags = HNS_ROCE_CQ_FLAG_RECORD_DB};
  u32 cqe_size = 32;
  int error;

  if (attr->flags) return REFUSE(verdict, -EOPNOTSUPP, "hns_roce_create_cq");
  if (!attr->cqe || attr->cqe > nic_cap(nic, NIC_CAP_MAX_CQE)) return REFUSE(verdict, -EINVAL, "verify_cq_create_attr");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "get_cq_ucmd");
  // set_cq_param: what is reported is an index, one less than the depth
  cq->size = roundup_pow_of_two(max_t(u32, attr->cqe, MIN_CQES));
  cq->ib.cqe = cq->size - 1;
  if (udata->inlen >= offsetofend(struct hns_roce_ib_create_cq, cqe_size)) cqe_size = asked.cqe_size;
  if (cqe_size != 32 && cqe_size != 64) return REFUSE(verdict, -EINVAL, "set_cqe_size");
  error = nic_pin(nic, &cq->pins, asked.buf_addr, entries_size(cq->size, ilog2(cqe_size)));
  if (error) return REFUSE(verdict, error, "alloc_cq_buf");
  return nic_answer(udata, &answer, sizeof(answer));
}

// hns_roce_v2_modify_cq: HIP08 takes a longer period for its longest
static int modify_cq(struct nic* nic, struct nic_cq* cq, u16 count, u16 period, struct verdict* verdict) {
  return 0;
}

// proc_rq_sge, proc_srq_sge: on HIP08 the library has added an SGE of the hardware's own
static u32 most_receive_sges(const struct nic* nic, u64 cap) {
  return is_hip09(nic) ? cap : roundup_pow_of_two(cap + 1);
}

static int create_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata,
                      struct verdict* verdict) {
  struct hns_roce_ib_create_srq asked = {};
  struct hns_roce_ib_create_srq_resp answer = {.srqn = srq->number};
  u32 depth, sges;
  int error;

  if (attr->attr.max_wr > nic_cap(nic, NIC_CAP_MAX_SRQ_WR) || !attr->attr.max_sge ||
      attr->attr.max_sge > most_receive_sges(nic, nic_cap(nic, NIC_CAP_MAX_SRQ_SGE)))
    return REFUSE(verdict, -EINVAL, "set_srq_basic_param");
  depth = roundup_pow_of_two(max(attr->attr.max_wr, 1u));
  sges = roundup_pow_of_two(attr->attr.max_sge);
  attr->attr.max_wr = depth;
  attr->attr.max_sge = sges;
  attr->attr.srq_limit = 0;
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "alloc_srq_buf");
  error = nic_pin(nic, &srq->pins, asked.que_addr, entries_size(depth, 2));  // HNS_ROCE_IDX_QUE_ENTRY_SZ
  if (!error) error = nic_pin(nic, &srq->pins, asked.buf_addr, entries_size(depth, SGE_SHIFT + ilog2(sges)));
  if (error) return REFUSE(verdict, error, "alloc_srq_buf");
  return nic_answer(udata, &answer, sizeof(answer));
}

static int modify_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_attr* attr, int mask,
                      struct verdict* verdict) {
  if (mask & IB_SRQ_MAX_WR) return REFUSE(verdict, -EOPNOTSUPP, "hns_roce_v2_modify_srq");
  if ((mask & IB_SRQ_LIMIT) && attr->srq_limit > srq->attr.max_wr)
    return REFUSE(verdict, -EINVAL, "hns_roce_v2_modify_srq");
  return 0;
}

// set_rq_size
static int size_receive_queue(struct nic* nic, struct ib_qp_init_attr* attr, size_t* bytes, struct verdict* verdict) {
  struct ib_qp_cap* cap = &attr->cap;

  *bytes = 0;
  if (attr->qp_type == IB_QPT_XRC_INI || attr->qp_type == IB_QPT_XRC_TGT || attr->srq || !cap->max_recv_wr) {
    cap->max_recv_wr = cap->max_recv_sge = 0;
    return 0;
  }
  if (cap->max_recv_wr > nic_cap(nic, NIC_CAP_MAX_QP_WR) ||
      cap->max_recv_sge > most_receive_sges(nic, nic_cap(nic, NIC_CAP_MAX_SGE)))
    return REFUSE(verdict, -EINVAL, "set_rq_size");
  cap->max_recv_wr = roundup_pow_of_two(max_t(u32, cap->max_recv_wr, MIN_WQES));
  if (cap->max_recv_wr > nic_cap(nic, NIC_CAP_MAX_QP_WR)) return REFUSE(verdict, -EINVAL, "set_rq_size");
  cap->max_recv_sge = roundup_pow_of_two(max(cap->max_recv_sge, 1u));
  *bytes = entries_size(cap->max_recv_wr, SGE_SHIFT + ilog2(cap->max_recv_sge));
  return 0;
}

// set_user_sq_size, set_ext_sge_param, update_inline_data. Inline data is cut to the device's most, without a word.
static int size_send_queue(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, bool extended,
                           const struct hns_roce_ib_create_qp* asked, size_t* bytes, struct verdict* verdict) {
  struct ib_qp_cap* cap = &attr->cap;
  bool ud = attr->qp_type == IB_QPT_UD;
  u32 in_wqe = ud ? 0 : SGE_IN_WQE;
  u64 depth = 1ull << min_t(u8, asked->log_sq_bb_count, 63);
  u32 outside, of_inline = 0, per_wqe;

  if (depth > nic_cap(nic, NIC_CAP_MAX_QP_WR)) return REFUSE(verdict, -EINVAL, "set_user_sq_size");
  if (asked->log_sq_stride > MAX_SQ_DESC_SHIFT || asked->log_sq_stride < MIN_SQ_SHIFT ||
      cap->max_send_sge > nic_cap(nic, NIC_CAP_MAX_SGE))
    return REFUSE(verdict, -EINVAL, "check_sq_size_with_integrity");
  if (cap->max_inline_data)
    cap->max_inline_data = min_t(u32, roundup_pow_of_two(cap->max_inline_data), nic_made(nic, NIC_MADE_INLINE_MAX, 0));
  outside = cap->max_send_sge > in_wqe ? cap->max_send_sge - in_wqe : ud ? 1 : 0;
  per_wqe = outside;
  qp->cap = *cap;
  if (extended) {
    if (cap->max_inline_data) of_inline = roundup_pow_of_two(cap->max_inline_data) >> SGE_SHIFT;
    if (!ud && of_inline <= SGE_IN_WQE) of_inline = 0;
    per_wqe = max(outside, of_inline);
    if (per_wqe) per_wqe = roundup_pow_of_two(per_wqe);
    qp->cap.max_send_sge = max(1u, per_wqe + in_wqe);
    cap->max_inline_data = max(cap->max_inline_data, (ud ? per_wqe : max_t(u32, SGE_IN_WQE, per_wqe)) << SGE_SHIFT);
  } else {
    qp->cap.max_send_sge = max(1u, cap->max_send_sge);
  }
  qp->cap.max_send_sge = min_t(u32, qp->cap.max_send_sge, nic_cap(nic, NIC_CAP_MAX_SGE));
  *bytes = entries_size(depth, asked->log_sq_stride);
  if (per_wqe)
    *bytes +=
        entries_size(max_t(u32, roundup_pow_of_two(depth * per_wqe), 1 << (HW_PAGE_SHIFT - SGE_SHIFT)), SGE_SHIFT);
  qp->cap.max_send_wr = depth;
  qp->cap.max_inline_data = cap->max_inline_data;
  return 0;
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct nic_context* context = rdma_udata_to_drv_context(udata, struct nic_context, ib);
  struct hns_roce_ib_create_qp asked = {};
  struct hns_roce_ib_create_qp_resp answer = {};
  size_t send_bytes, receive_bytes;
  int error;

  if (attr->qp_type == IB_QPT_UD ? !is_hip09(nic)
      : attr->qp_type == IB_QPT_XRC_INI || attr->qp_type == IB_QPT_XRC_TGT
          ? !(nic_cap(nic, NIC_CAP_DEVICE_CAP_FLAGS) & IB_DEVICE_XRC)
          : attr->qp_type != IB_QPT_RC)
    return REFUSE(verdict, -EOPNOTSUPP, "check_qp_type");
  if (attr->create_flags) return REFUSE(verdict, -EOPNOTSUPP, "hns_roce_create_qp_common");
  error = size_receive_queue(nic, attr, &receive_bytes, verdict);
  if (error) return error;
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "set_qp_param");
  error = size_send_queue(nic, qp, attr, context && context->config, &asked, &send_bytes, verdict);
  if (error) return error;
  qp->cap.max_recv_wr = attr->cap.max_recv_wr;
  qp->cap.max_recv_sge = attr->cap.max_recv_sge;
  error = nic_pin(nic, &qp->pins, asked.buf_addr, send_bytes + receive_bytes);
  if (error) return REFUSE(verdict, error, "alloc_qp_buf");
  if (asked.sdb_addr) answer.cap_flags |= HNS_ROCE_QP_CAP_SQ_RECORD_DB;
  if (asked.db_addr && attr->cap.max_recv_wr) answer.cap_flags |= HNS_ROCE_QP_CAP_RQ_RECORD_DB;
  qp->flags = answer.cap_flags;
  return nic_answer(udata, &answer, sizeof(answer));
}

// check_qp_state: SQD and SQE lead nowhere
static bool state_served(enum ib_qp_state from, enum ib_qp_state to) {
  switch (from) {
    case IB_QPS_RESET:
      return to == IB_QPS_RESET || to == IB_QPS_INIT;
    case IB_QPS_INIT:
      return to == IB_QPS_RESET || to == IB_QPS_INIT || to == IB_QPS_RTR || to == IB_QPS_ERR;
    case IB_QPS_RTR:
    case IB_QPS_RTS:
      return to == IB_QPS_RESET || to == IB_QPS_RTS || to == IB_QPS_ERR;
    case IB_QPS_ERR:
      return to == IB_QPS_RESET || to == IB_QPS_ERR;
    default:
      return false;
  }
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
  struct hns_roce_ib_modify_qp_resp answer = {};

  if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != qp->state)
    return REFUSE(verdict, -EINVAL, "hns_roce_modify_qp (current state)");
  if ((mask & IB_QP_STATE) && next == IB_QPS_ERR && !(qp->flags & HNS_ROCE_QP_CAP_SQ_RECORD_DB))
    return REFUSE(verdict, -EINVAL, "hns_roce_modify_qp (flush without a record doorbell)");
  if (!ib_modify_qp_is_ok(qp->state, next, qp->ib.qp_type, mask)) return REFUSE(verdict, -EINVAL, "ib_modify_qp_is_ok");
  if (((mask & IB_QP_PORT) && attr->port_num != 1) || ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= 1) ||
      ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_INIT_RD_ATOM)) ||
      ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_RD_ATOM)))
    return REFUSE(verdict, -EINVAL, "hns_roce_check_qp_attr");
  if ((mask & IB_QP_PATH_MTU) &&
      (attr->path_mtu < IB_MTU_256 || attr->path_mtu > ib_mtu_int_to_enum(nic->model->active_mtu)))
    return REFUSE(verdict, -EINVAL, "check_mtu_validate");
  if (!state_served(qp->state, next)) return REFUSE(verdict, -EINVAL, "check_qp_state");
  if (qp->state == IB_QPS_INIT && next == IB_QPS_RTR && (mask & IB_QP_ALT_PATH))
    return REFUSE(verdict, -EINVAL, "modify_qp_init_to_rtr");
  if (qp->state == IB_QPS_RTR && next == IB_QPS_RTS && (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE)))
    return REFUSE(verdict, -EINVAL, "modify_qp_rtr_to_rts");
  // check_qp_timeout_cfg_range drops a timeout that is too long and says so to the kernel log alone
  if (mask & IB_QP_TIMEOUT) {
    if (attr->timeout > (is_hip09(nic) ? 31 : 20))
      attr->timeout = qp->attr.timeout;
    else
      qp->flags |= TIMEOUT_TAKEN;
  }
  // hns_roce_v2_set_opt_fields takes code 1 for whatever RNR timer
  if ((mask & IB_QP_MIN_RNR_TIMER) && !is_hip09(nic)) attr->min_rnr_timer = RNR_TIMER_HIP08;
  if (next == IB_QPS_RESET) qp->flags &= ~TIMEOUT_TAKEN;
  qp->state = next;
  return udata && udata->outlen ? nic_answer(udata, &answer, sizeof(answer)) : 0;
}

// hns_roce_v2_query_qp: read back from the device's context, whose fields are as wide as they are
static void query_qp(const struct nic* nic, const struct nic_qp* qp, struct ib_qp_attr* attr) {
  if (qp->state == IB_QPS_RESET) return;
  attr->path_mig_state = IB_MIG_ARMED;
  attr->pkey_index = 0;
  if (qp->ib.qp_type == IB_QPT_UD) {
    memset(&attr->ah_attr, 0, sizeof(attr->ah_attr));
  } else {
    attr->qkey = 0;
    attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
    rdma_ah_set_port_num(&attr->ah_attr, attr->port_num);
    rdma_ah_set_ah_flags(&attr->ah_attr, IB_AH_GRH);
  }
  // set_access_flags
  if (!attr->max_dest_rd_atomic) attr->qp_access_flags &= IB_ACCESS_REMOTE_WRITE;
  attr->qp_access_flags &= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;
  attr->max_rd_atomic = roundup_pow_of_two(max_t(u32, attr->max_rd_atomic, 1));
  attr->max_dest_rd_atomic = roundup_pow_of_two(max_t(u32, attr->max_dest_rd_atomic, 1));
  attr->retry_cnt &= 7;
  attr->rnr_retry &= 7;
  attr->min_rnr_timer &= 31;
  if (!is_hip09(nic) && !(qp->flags & TIMEOUT_TAKEN)) attr->timeout = -TIMEOUT_OFFSET_HIP08;  // get_qp_timeout_attr
}

static int create_ah(struct nic* nic, struct nic_ah* ah, struct ib_udata* udata, struct verdict* verdict) {
  struct hns_roce_ib_create_ah_resp answer = {};

  if (!is_hip09(nic)) return REFUSE(verdict, -EOPNOTSUPP, "hns_roce_create_ah");
  memcpy(answer.dmac, ah->attr.roce.dmac, ETH_ALEN);
  return nic_answer(udata, &answer, sizeof(answer));
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_HNS,
    .uverbs_abi_ver = 1,
    .uverbs_no_driver_id_binding = 1,
    .create_ah = nic_create_user_ah,
    .create_srq = nic_create_srq,
    .create_user_ah = nic_create_user_ah,
    .destroy_ah = nic_destroy_ah,
    .destroy_srq = nic_destroy_srq,
    .modify_cq = nic_modify_cq,
    .modify_srq = nic_modify_srq,
    .query_ah = nic_query_ah,
    .query_srq = nic_query_srq,
    .rereg_user_mr = nic_rereg_user_mr,
};

const struct nic_vendor nic_hns = {
    .driver = "hns",
    .parent_driver = "hns3",
    .ops = &ops,
    .xrc_ops = &nic_xrc_ops,  // hns_roce_register_device
    .exhausted = {-ENOMEM, "alloc_qpn and its like"},
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .create_cq = create_cq,
    .modify_cq = modify_cq,
    .create_srq = create_srq,
    .modify_srq = modify_srq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
    .create_ah = create_ah,
};
