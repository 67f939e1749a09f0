// SPDX-License-Identifier: GPL-2.0-only
// Chelsio's cxgb4, iWARP. Functions named are of hw/cxgb4. Rings are the kernel's, which the library maps; its tables
// of queues are as large as the ranges in the status page.
#include <linux/log2.h>
#include <rdma/cxgb4-abi.h>

#include "nicshell.h"

#define STATUS_OFFSET 0x100  // page of the mapping that is the status page; rings start behind it
#define RING_OFFSET 1
#define QUEUES 8192           // of each kind, in the status page
#define SQ_ENTRY 320          // union t4_wr, T4_SQ_NUM_BYTES
#define RQ_ENTRY 128          // union t4_recv_wr, T4_RQ_NUM_BYTES
#define CQ_ENTRY 64           // struct t4_cqe
#define STATUS_ENTRIES 1  // t4_eq_status_entries, with status pages of 64 bytes, as max_qp_wr of the model has it
#define MAX_SEND_INLINE 280   // T4_MAX_SEND_INLINE
#define MAX_RECV_SGE 4        // T4_MAX_RECV_SGE

// struct t4_dev_status_page, hw/cxgb4/t4.h
struct status_page {
  u8 db_off, write_cmpl_supported;
  u16 pad2;
  u32 pad3;
  u64 qp_start, qp_size, cq_start, cq_size;
};

static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, QUEUES - 2},
    [NIC_CAP_MAX_CQ] = {true, QUEUES - 2},
    [NIC_CAP_MAX_SRQ] = {true, 1024},
    [NIC_CAP_MAX_QP_RD_ATOM] = {true, 32},
    [NIC_CAP_MAX_QP_INIT_RD_ATOM] = {true, 32},
    [NIC_CAP_MAX_RES_RD_ATOM] = {true, 32768},  // max_ird_adapter, of firmware
};

// c4iw_alloc (hw/cxgb4/device.c): the declared depth is the receive queue's most; a send queue may
// be as long as the hardware's longest queue
static u32 max_receives(const struct nic* nic) {
  return nic_cap(nic, NIC_CAP_MAX_QP_WR);
}
#define MAX_QUEUE 65520  // t4_max_eq_size, t4_max_iq_size
#define MAX_SENDS (MAX_QUEUE - STATUS_ENTRIES - 1)

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct c4iw_alloc_ucontext_resp answer = {.status_page_key = (u64)STATUS_OFFSET << PAGE_SHIFT,
                                            .status_page_size = PAGE_SIZE};

  return nic_answer(udata, &answer, sizeof(answer) - sizeof(answer.reserved));
}

static void fill_mapping(struct nic* nic, unsigned long page, void* memory) {
  struct status_page* status = memory;

  if (page != STATUS_OFFSET) return;
  status->qp_size = status->cq_size = QUEUES;
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct c4iw_alloc_pd_resp answer = {.pdid = pd->number};

  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct c4iw_create_cq_resp answer = {.cqid = cq->number, .flags = C4IW_64B_CQE};
  u32 entries;

  if (attr->flags) return REFUSE(verdict, -EOPNOTSUPP, "c4iw_create_cq");
  if ((int)attr->cqe < 1 || attr->cqe > nic_cap(nic, NIC_CAP_MAX_CQE))
    return REFUSE(verdict, -EINVAL, "c4iw_create_cq");
  entries = roundup(attr->cqe + 2, 16);
  cq->size = max_t(u32, min_t(u32, entries * 2, MAX_QUEUE), 64);
  answer.memsize = PAGE_ALIGN((u64)cq->size * CQ_ENTRY);
  answer.size = cq->size - 1;
  answer.key = RING_OFFSET << PAGE_SHIFT;
  answer.gts_key = (RING_OFFSET + 1) << PAGE_SHIFT;
  cq->ib.cqe = entries - 2;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata,
                      struct verdict* verdict) {
  struct c4iw_create_srq_resp answer = {.srqid = srq->number};

  if (attr->srq_type != IB_SRQT_BASIC) return REFUSE(verdict, -EOPNOTSUPP, "c4iw_create_srq");
  if (attr->attr.max_wr > max_receives(nic) || attr->attr.max_sge > MAX_RECV_SGE)
    return REFUSE(verdict, -E2BIG, "c4iw_create_srq");
  answer.srq_size = roundup_pow_of_two(max(attr->attr.max_wr + 1, 16u));
  answer.srq_memsize = PAGE_ALIGN((u64)(answer.srq_size + STATUS_ENTRIES) * RQ_ENTRY);
  answer.srq_key = RING_OFFSET << PAGE_SHIFT;
  answer.srq_db_gts_key = (RING_OFFSET + 1) << PAGE_SHIFT;
  attr->attr.max_wr = answer.srq_size - 1;
  return nic_answer(udata, &answer, sizeof(answer));
}

// c4iw_modify_srq: a limit of a user's is taken and has no effect
static int modify_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_attr* attr, int mask,
                      struct verdict* verdict) {
  return mask & IB_SRQ_MAX_WR ? REFUSE(verdict, -EINVAL, "c4iw_modify_srq") : 0;
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct c4iw_create_qp_resp answer = {.sqid = qp->ib.qp_num, .rqid = qp->ib.qp_num};

  if (attr->qp_type != IB_QPT_RC || attr->create_flags) return REFUSE(verdict, -EOPNOTSUPP, "c4iw_create_qp");
  if (attr->cap.max_inline_data > nic_made(nic, NIC_MADE_INLINE_MAX, MAX_SEND_INLINE))
    return REFUSE(verdict, -EINVAL, "c4iw_create_qp");
  if ((!attr->srq && attr->cap.max_recv_wr > max_receives(nic)) || attr->cap.max_send_wr > MAX_SENDS)
    return REFUSE(verdict, -E2BIG, "c4iw_create_qp");
  answer.sq_size = max(attr->cap.max_send_wr + 1, 8u);
  answer.rq_size = attr->srq ? 0 : max(attr->cap.max_recv_wr + 1, 8u);
  answer.sq_memsize = PAGE_ALIGN((u64)(answer.sq_size + STATUS_ENTRIES) * SQ_ENTRY + 16 * sizeof(u64));
  answer.rq_memsize = PAGE_ALIGN((u64)(answer.rq_size + STATUS_ENTRIES) * RQ_ENTRY);
  answer.sq_key = RING_OFFSET << PAGE_SHIFT;
  answer.sq_db_gts_key = (RING_OFFSET + 1) << PAGE_SHIFT;
  answer.rq_key = (RING_OFFSET + 2) << PAGE_SHIFT;
  answer.rq_db_gts_key = (RING_OFFSET + 3) << PAGE_SHIFT;
  attr->cap.max_recv_wr = answer.rq_size - 1;
  attr->cap.max_send_wr = answer.sq_size - 1;
  attr->cap.max_inline_data = MAX_SEND_INLINE;
  qp->cap = attr->cap;
  return nic_answer(udata, &answer, sizeof(answer));
}

// c4iw_ib_modify_qp: RTR is passed over, PSNs are refused but on T4, RTS wants the connection manager
static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  if (mask & ~IB_QP_ATTR_STANDARD_BITS) return REFUSE(verdict, -EOPNOTSUPP, "c4iw_ib_modify_qp");
  if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_RTR) mask &= ~IB_QP_STATE;
  if (mask & (IB_QP_SQ_PSN | IB_QP_RQ_PSN)) return REFUSE(verdict, -EINVAL, "c4iw_ib_modify_qp");
  if (!(mask & IB_QP_STATE)) return 0;
  if (attr->qp_state == IB_QPS_RTS) return REFUSE(verdict, -EINVAL, "c4iw_modify_qp (no LLP handle)");
  qp->state = attr->qp_state;
  return 0;
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_CXGB4,
    .uverbs_abi_ver = C4IW_UVERBS_ABI_VERSION,
    .create_srq = nic_create_srq,
    .destroy_srq = nic_destroy_srq,
    .modify_srq = nic_modify_srq,
};

const struct nic_vendor nic_cxgb4 = {
    .driver = "cxgb4",
    .parent_driver = "cxgb4",
    .ops = &ops,
    .exhausted = {-ENOMEM, "c4iw_get_qpid and its like"},
    .fallback = fallback,
    .fill_mapping = fill_mapping,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .create_cq = create_cq,
    .create_srq = create_srq,
    .modify_srq = modify_srq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
};
