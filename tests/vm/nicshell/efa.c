// SPDX-License-Identifier: GPL-2.0-only
// Amazon's efa. Functions named are of hw/efa/efa_verbs.c. Rings are the kernel's, which the library maps.
#include <linux/log2.h>
#include <rdma/efa-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "nicshell.h"

// Firmware's numbers, for which there is no source: the shell's own.
#define SUB_CQS 2
#define MAX_LLQ_SIZE (1 << 18)
#define MIN_SQ_WR 4
#define SEND_SGES 2
#define RECV_SGES 3
#define CQE_SIZE 16     // struct efa_io_rx_cdesc
#define EX_CQE_SIZE 32  // struct efa_io_rx_cdesc_ex
#define RX_DESC_SIZE 16 // struct efa_io_rx_desc

static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, 256},        [NIC_CAP_MAX_QP_WR] = {true, 4096},
    [NIC_CAP_MAX_SGE] = {true, RECV_SGES}, [NIC_CAP_MAX_SGE_RD] = {true, 1},
    [NIC_CAP_MAX_CQ] = {true, 512},        [NIC_CAP_MAX_CQE] = {true, 32768},
    [NIC_CAP_MAX_MR] = {true, 262144},     [NIC_CAP_MAX_PD] = {true, 256},
    [NIC_CAP_MAX_AH] = {true, 8192},       [NIC_CAP_MAX_MR_SIZE] = {true, 1ull << 40},
};

static int query_device(struct nic* nic, struct ib_device_attr* attr, struct ib_udata* udata) {
  struct efa_ibv_ex_query_device_resp answer = {.max_sq_wr = attr->max_qp_wr,
                                                .max_rq_wr = attr->max_qp_wr,
                                                .max_sq_sge = SEND_SGES,
                                                .max_rq_sge = RECV_SGES,
                                                .max_rdma_size = 1 << 30};

  attr->max_send_sge = SEND_SGES;
  attr->max_recv_sge = RECV_SGES;
  answer.device_caps = EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID | EFA_QUERY_DEVICE_CAPS_RDMA_READ |
                       EFA_QUERY_DEVICE_CAPS_RDMA_WRITE | EFA_QUERY_DEVICE_CAPS_RNR_RETRY |
                       EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS;
  return udata && udata->outlen ? nic_answer(udata, &answer, sizeof(answer)) : 0;
}

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct efa_ibv_alloc_ucontext_resp answer = {
      .cmds_supp_udata_mask = EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE | EFA_USER_CMDS_SUPP_UDATA_CREATE_AH,
      .sub_cqs_per_cq = SUB_CQS,
      .inline_buf_size = nic_made(nic, NIC_MADE_INLINE_MAX, 32),
      .max_llq_size = MAX_LLQ_SIZE,
      .min_sq_wr = MIN_SQ_WR};

  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct efa_ibv_alloc_pd_resp answer = {.pdn = pd->number};

  return nic_answer(udata, &answer, sizeof(answer));
}

// efa_alloc_mr: what else than local writes, remote reads and remote writes is asked for is refused, unless it is
// optional
static int check_access(int access, struct verdict* verdict) {
  int served = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_OPTIONAL;

  return access & ~served ? REFUSE(verdict, -EOPNOTSUPP, "efa_alloc_mr") : 0;
}

static int reg_mr(struct nic* nic, struct nic_mr* mr, u64 length, int access, struct ib_udata* udata,
                  struct verdict* verdict) {
  return check_access(access, verdict);
}

// efa_reg_user_mr_dmabuf
static struct ib_mr* reg_dmabuf_mr(struct ib_pd* pd, u64 offset, u64 length, u64 virt, int fd, int access,
                                   struct uverbs_attr_bundle* attrs) {
  struct verdict verdict = {};
  int error = check_access(access, &verdict);

  if (!error) return nic_reg_user_mr_dmabuf(pd, offset, length, virt, fd, access, attrs);
  nic_record(nic_of(pd->device), "reg_dmabuf_mr", error, &verdict, "access %#x", access);
  return ERR_PTR(error);
}

static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct efa_ibv_create_cq asked = {};
  struct efa_ibv_create_cq_resp answer = {.cq_idx = cq->number};

  if (attr->flags) return REFUSE(verdict, -EOPNOTSUPP, "efa_create_cq");
  if ((int)attr->cqe < 1 || attr->cqe > nic_cap(nic, NIC_CAP_MAX_CQE)) return REFUSE(verdict, -EINVAL, "efa_create_cq");
  if (udata->inlen < offsetofend(struct efa_ibv_create_cq, num_sub_cqs) || nic_ask(udata, &asked, sizeof(asked)))
    return REFUSE(verdict, -EINVAL, "efa_create_cq");
  if (asked.comp_mask || asked.num_sub_cqs != SUB_CQS ||
      (asked.cq_entry_size != EX_CQE_SIZE &&
       (asked.cq_entry_size != CQE_SIZE || (asked.flags & EFA_CREATE_CQ_WITH_SGID))))
    return REFUSE(verdict, -EINVAL, "efa_create_cq");
  cq->ib.cqe = cq->size = attr->cqe;
  answer.q_mmap_size = PAGE_ALIGN((u64)asked.cq_entry_size * cq->size * asked.num_sub_cqs);
  answer.comp_mask = EFA_CREATE_CQ_RESP_DB_OFF;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct efa_ibv_create_qp asked = {};
  struct efa_ibv_create_qp_resp answer = {};
  u32 most = nic_cap(nic, NIC_CAP_MAX_QP_WR);

  if (attr->cap.max_send_wr > most || attr->cap.max_recv_wr > most || attr->cap.max_send_sge > SEND_SGES ||
      attr->cap.max_recv_sge > RECV_SGES || attr->cap.max_inline_data > nic_made(nic, NIC_MADE_INLINE_MAX, 32))
    return REFUSE(verdict, -EINVAL, "efa_qp_validate_cap");
  if ((attr->qp_type != IB_QPT_DRIVER && attr->qp_type != IB_QPT_UD) || attr->srq || attr->create_flags)
    return REFUSE(verdict, -EOPNOTSUPP, "efa_qp_validate_attr");
  if (udata->inlen < offsetofend(struct efa_ibv_create_qp, driver_qp_type) || nic_ask(udata, &asked, sizeof(asked)) ||
      asked.comp_mask)
    return REFUSE(verdict, -EINVAL, "efa_create_qp");
  if (asked.flags || (attr->qp_type == IB_QPT_DRIVER && asked.driver_qp_type != EFA_QP_DRIVER_TYPE_SRD))
    return REFUSE(verdict, -EOPNOTSUPP, "efa_create_qp");
  // The declared depth counts descriptors, one for each SGE (rdma-core f4176cd71). Neither this kernel driver nor
  // libraries before rdma-core 63 look; it is left to firmware, whose errno no source gives.
  if (asked.rq_ring_size / RX_DESC_SIZE > most) return REFUSE(verdict, -EINVAL, NULL);
  qp->cap = attr->cap;
  answer.rq_mmap_size = PAGE_ALIGN(asked.rq_ring_size);
  return nic_answer(udata, &answer, sizeof(answer));
}

// srd_qp_state_table
static bool srd_served(enum ib_qp_state from, enum ib_qp_state to, int mask) {
  int required = 0, optional = 0;

  if (to == IB_QPS_RESET || (to == IB_QPS_ERR && from != IB_QPS_RESET)) return mask == IB_QP_STATE;
  if (from == IB_QPS_RESET && to == IB_QPS_INIT)
    required = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
  else if (from == IB_QPS_INIT && to == IB_QPS_INIT)
    optional = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
  else if (from == IB_QPS_INIT && to == IB_QPS_RTR)
    optional = IB_QP_PKEY_INDEX | IB_QP_QKEY;
  else if (from == IB_QPS_RTR && to == IB_QPS_RTS) {
    required = IB_QP_SQ_PSN;
    optional = IB_QP_CUR_STATE | IB_QP_QKEY | IB_QP_RNR_RETRY;
  } else if ((from == IB_QPS_RTS || from == IB_QPS_SQD || from == IB_QPS_SQE) && to == IB_QPS_RTS) {
    optional = IB_QP_CUR_STATE | IB_QP_QKEY;
  } else if (from == IB_QPS_RTS && to == IB_QPS_SQD) {
    optional = IB_QP_EN_SQD_ASYNC_NOTIFY;
  } else if (from == IB_QPS_SQD && to == IB_QPS_SQD) {
    optional = IB_QP_PKEY_INDEX | IB_QP_QKEY;
  } else {
    return false;
  }
  return (mask & required) == required && !(mask & ~(required | optional | IB_QP_STATE));
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  enum ib_qp_state now = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
  enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;
  int served = IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY |
               IB_QP_SQ_PSN | IB_QP_RNR_RETRY;

  if (mask & ~served) return REFUSE(verdict, -EOPNOTSUPP, "efa_modify_qp_validate");
  if (qp->ib.qp_type == IB_QPT_DRIVER ? !srd_served(now, next, mask) : !ib_modify_qp_is_ok(now, next, IB_QPT_UD, mask))
    return REFUSE(verdict, -EINVAL, "efa_modify_qp_validate");
  if (((mask & IB_QP_PORT) && attr->port_num != 1) || ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index))
    return REFUSE(verdict, -EOPNOTSUPP, "efa_modify_qp_validate");
  qp->state = next;
  return 0;
}

static int create_ah(struct nic* nic, struct nic_ah* ah, struct ib_udata* udata, struct verdict* verdict) {
  struct efa_ibv_create_ah_resp answer = {.efa_address_handle = nic_key(nic)};

  return nic_answer(udata, &answer, sizeof(answer));
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_EFA,
    .uverbs_abi_ver = EFA_UVERBS_ABI_VERSION,
    .create_user_ah = nic_create_user_ah,
    .destroy_ah = nic_destroy_ah,
    .reg_user_mr_dmabuf = reg_dmabuf_mr,
};

const struct nic_vendor nic_efa = {
    .driver = "efa",
    .parent_driver = "efa",
    .ops = &ops,
    .exhausted = {-ENOMEM, NULL},  // firmware's refusal, whose errno no source gives
    .fallback = fallback,
    .query_device = query_device,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .reg_mr = reg_mr,
    .create_cq = create_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .create_ah = create_ah,
};
