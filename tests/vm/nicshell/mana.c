// SPDX-License-Identifier: GPL-2.0-only
// Microsoft's mana. Functions named are of hw/mana. libmana of rdma-core 44 makes CQs in memory of the caller's alone
// (manadv_set_context_attr), and of QPs raw packet ones alone, which the shell has not.
#include <rdma/mana-abi.h>

#include "nicshell.h"

#define CQE_SIZE 64  // COMP_ENTRY_SIZE

static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, 16384}, [NIC_CAP_MAX_QP_WR] = {true, 8192}, [NIC_CAP_MAX_CQE] = {true, 8192},
    [NIC_CAP_MAX_SGE] = {true, 30},   [NIC_CAP_MAX_SGE_RD] = {true, 15},  [NIC_CAP_MAX_CQ] = {true, 16384},
};

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  return 0;
}

// mana_ib_query_device
static int query_device(struct nic* nic, struct ib_device_attr* attr, struct ib_udata* udata) {
  if (!nic->model->caps[NIC_CAP_MAX_RES_RD_ATOM].known) attr->max_res_rd_atom = attr->max_qp_rd_atom * attr->max_qp;
  return 0;
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  return 0;
}

static int reg_mr(struct nic* nic, struct nic_mr* mr, u64 length, int access, struct ib_udata* udata,
                  struct verdict* verdict) {
  int served = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_OPTIONAL;

  return access & ~served ? REFUSE(verdict, -EINVAL, "mana_ib_reg_user_mr") : 0;
}

// mana_ib_create_cq leaves the reported depth unset.
static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct mana_ib_create_cq asked = {};
  struct mana_ib_create_cq_resp answer = {.cqid = cq->number};
  int error;

  if (udata->inlen < offsetof(struct mana_ib_create_cq, flags)) return REFUSE(verdict, -EINVAL, "mana_ib_create_cq");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "mana_ib_create_cq");
  if (!(asked.flags & MANA_IB_CREATE_RNIC_CQ) && attr->cqe > nic_cap(nic, NIC_CAP_MAX_QP_WR))
    return REFUSE(verdict, -EINVAL, "mana_ib_create_cq");
  error = nic_pin(nic, &cq->pins, asked.buf_addr, (size_t)attr->cqe * CQE_SIZE);
  if (error) return REFUSE(verdict, error, "mana_ib_create_queue");
  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  return -EOPNOTSUPP;
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  return -EOPNOTSUPP;
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_MANA,
    .uverbs_abi_ver = MANA_IB_UVERBS_ABI_VERSION,
};

const struct nic_vendor nic_mana = {
    .driver = "mana",
    .parent_driver = "mana",
    .ops = &ops,
    .exhausted = {-ENOMEM, NULL},
    .fallback = fallback,
    .query_device = query_device,
    .alloc_context = alloc_context,
    .alloc_pd = alloc_pd,
    .reg_mr = reg_mr,
    .create_cq = create_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
};
