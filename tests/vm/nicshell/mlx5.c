// SPDX-License-Identifier: GPL-2.0-only
// NVIDIA's mlx5: ConnectX from Connect-IB on. Functions named are of hw/mlx5.
//
// The kernel driver and libmlx5 can share doorbell pages in two ways. Here it is the older one, pages handed out with
// the context (tot_bfregs); the library falls to it by itself. DevX is served with the module's parameter `devx`.
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "mlx5.h"

static bool devx;
module_param(devx, bool, 0444);
MODULE_PARM_DESC(devx, "mlx5: firmware serves DevX contexts (log_max_uctx)");

#define WQE_BLOCK_SHIFT 6   // MLX5_SEND_WQE_BB
#define DATA_SEGMENT 16     // struct mlx5_wqe_data_seg, mlx5_wqe_srq_next_seg
#define MAX_CQ_PERIOD 4095  // MLX5_MAX_CQ_PERIOD
#define VENDOR_OUI 0x02c9   // what firmware of NVIDIA's own boards answers (mlx5_query_vendor_id)
#define BFREGS 16           // MLX5_DEF_TOT_UUARS of rdma-core providers/mlx5
#define BFREG_SIZE 512
#define COMPRESSED_CQES 64  // the shell's own, as all that query_device says of CQEs

// Firmware's numbers that no source gives for a model: those of a ConnectX-5 (models/connectx5.yaml).
static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, 262144},
    [NIC_CAP_MAX_QP_WR] = {true, 8192},
    [NIC_CAP_MAX_SGE] = {true, 30},
    [NIC_CAP_MAX_CQ] = {true, 16777216},
    [NIC_CAP_MAX_CQE] = {true, 4194303},
    [NIC_CAP_MAX_MR] = {true, 16777216},
    [NIC_CAP_MAX_PD] = {true, 16777216},
    [NIC_CAP_MAX_QP_RD_ATOM] = {true, 16},
    [NIC_CAP_MAX_QP_INIT_RD_ATOM] = {true, 16},
    [NIC_CAP_MAX_RES_RD_ATOM] = {true, 4194304},
    [NIC_CAP_ATOMIC_CAP] = {true, IB_ATOMIC_HCA},
    [NIC_CAP_MAX_MW] = {true, 16777216},
    [NIC_CAP_MAX_MCAST_GRP] = {true, 2097152},
    [NIC_CAP_MAX_MCAST_QP_ATTACH] = {true, 240},
    [NIC_CAP_MAX_SRQ] = {true, 8388608},
    [NIC_CAP_MAX_SRQ_WR] = {true, 32767},
    [NIC_CAP_MAX_SRQ_SGE] = {true, 31},
    [NIC_CAP_MAX_PKEYS] = {true, 128},
    [NIC_CAP_LOCAL_CA_ACK_DELAY] = {true, 16},
    [NIC_CAP_HCA_CORE_CLOCK_KHZ] = {true, 156250},
    [NIC_CAP_COMPLETION_TIMESTAMP_MASK] = {true, 0x7fffffffffffffffull},
    [NIC_CAP_DEVICE_CAP_FLAGS] = {true, IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_PORT_ACTIVE_EVENT |
                                            IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_MEM_WINDOW |
                                            IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_MEM_MGT_EXTENSIONS |
                                            IB_DEVICE_XRC},
};

// 1 << log_max_qp_sz, log_max_cq_sz and log_max_srq_sz of firmware
u32 nic_mlx5_max_blocks(const struct nic* nic) {
  return nic_made(nic, NIC_MADE_SEND_RING_MAX, 32768 << WQE_BLOCK_SHIFT) >> WQE_BLOCK_SHIFT;
}
static u32 max_cq_ring(const struct nic* nic) {
  return nic_cap(nic, NIC_CAP_MAX_CQE) + 1;
}
static u32 max_srq_ring(const struct nic* nic) {
  return nic_cap(nic, NIC_CAP_MAX_SRQ_WR) + 1;
}
u32 nic_mlx5_max_send_wqe(const struct nic* nic) {
  return nic_made(nic, NIC_MADE_SEND_WQE_MAX, 1024);
}
u32 nic_mlx5_max_recv_wqe(const struct nic* nic) {
  return nic_made(nic, NIC_MADE_RECV_WQE_MAX, 512);
}

// mlx5_ib_query_device
static int query_device(struct nic* nic, struct ib_device_attr* attr, struct ib_udata* udata) {
  struct mlx5_ib_query_device_resp answer = {};

  if (nic->model->verbs_vendor == nic->model->pci_vendor) attr->vendor_id = VENDOR_OUI;
  attr->max_send_sge = (min(nic_mlx5_max_send_wqe(nic), 512u) - 32) / DATA_SEGMENT;
  attr->max_recv_sge = nic_mlx5_max_recv_wqe(nic) / DATA_SEGMENT;
  if (!attr->max_mw) attr->device_cap_flags &= ~(IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B);
  if (!udata || !udata->outlen) return 0;
  answer.response_length = min(udata->outlen, sizeof(answer));
  answer.cqe_comp_caps.max_num = COMPRESSED_CQES;
  answer.cqe_comp_caps.supported_format = MLX5_IB_CQE_RES_FORMAT_HASH | MLX5_IB_CQE_RES_FORMAT_CSUM;
  answer.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP | MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD |
                 MLX5_IB_QUERY_DEV_RESP_PACKET_BASED_CREDIT_MODE;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_context(struct nic* nic, struct nic_context* context, struct ib_udata* udata,
                         struct verdict* verdict) {
  struct mlx5_ib_alloc_ucontext_req_v2 asked = {};
  struct mlx5_ib_alloc_ucontext_resp answer = {};

  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "mlx5_ib_alloc_ucontext");
  if (asked.flags & ~MLX5_IB_ALLOC_UCTX_DEVX) return REFUSE(verdict, -EOPNOTSUPP, "mlx5_ib_alloc_ucontext");
  if (asked.flags & MLX5_IB_ALLOC_UCTX_DEVX) {
    if (!devx) return REFUSE(verdict, -EINVAL, "mlx5_ib_devx_create");  // the library tries again without
    context->config |= NIC_MLX5_DEVX;
  }
  answer.qp_tab_size = roundup_pow_of_two(nic_cap(nic, NIC_CAP_MAX_QP));
  answer.bf_reg_size = BFREG_SIZE;
  answer.tot_bfregs = BFREGS;
  answer.cache_line_size = cache_line_size();
  answer.max_sq_desc_sz = nic_mlx5_max_send_wqe(nic);
  answer.max_rq_desc_sz = nic_mlx5_max_recv_wqe(nic);
  answer.max_send_wqebb = nic_mlx5_max_blocks(nic);
  answer.max_recv_wr = nic_mlx5_max_blocks(nic);
  answer.max_srq_recv_wr = max_srq_ring(nic);
  answer.num_ports = 1;
  answer.cqe_version = min_t(u8, 1, asked.max_cqe_version);
  answer.log_uar_size = 12;  // MLX5_ADAPTER_PAGE_SHIFT
  answer.num_uars_per_page = 1;
  answer.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
  if (nic->model->link_layer == NIC_ETHERNET) answer.eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
  answer.comp_mask =
      MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_MKEY_UPDATE_TAG | MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
  answer.response_length = min(udata->outlen, sizeof(answer));
  return nic_answer(udata, &answer, sizeof(answer));
}

static int alloc_pd(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict) {
  struct mlx5_ib_alloc_pd_resp answer = {.pdn = pd->number};

  return nic_answer(udata, &answer, sizeof(answer));
}

static int create_cq(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct mlx5_ib_create_cq asked = {};
  struct mlx5_ib_create_cq_resp answer = {.cqn = cq->number};
  int error;

  if ((int)attr->cqe < 0 || attr->cqe > max_cq_ring(nic)) return REFUSE(verdict, -EINVAL, "mlx5_ib_create_cq");
  if (attr->flags & ~(IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN | IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION))
    return REFUSE(verdict, -EOPNOTSUPP, "check_cq_create_flags");
  cq->size = roundup_pow_of_two(attr->cqe + 1);
  if (cq->size > max_cq_ring(nic)) return REFUSE(verdict, -EINVAL, "mlx5_ib_create_cq");
  cq->ib.cqe = cq->size - 1;
  if (udata->inlen < offsetof(struct mlx5_ib_create_cq, flags)) return REFUSE(verdict, -EINVAL, "create_cq_user");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "create_cq_user");
  if (asked.flags & ~(MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD | MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX |
                      MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS) ||
      (asked.cqe_size != 64 && asked.cqe_size != 128) || asked.reserved0 || asked.reserved1)
    return REFUSE(verdict, -EINVAL, "create_cq_user");
  if (asked.cqe_comp_en == 1 && asked.cqe_comp_res_format != MLX5_IB_CQE_RES_FORMAT_HASH &&
      asked.cqe_comp_res_format != MLX5_IB_CQE_RES_FORMAT_CSUM)
    return REFUSE(verdict, asked.cqe_comp_res_format == MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX ? -EOPNOTSUPP : -EINVAL,
                  "mini_cqe_res_format_to_hw");
  if ((asked.flags & MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD) && asked.cqe_size != 128)
    return REFUSE(verdict, -EOPNOTSUPP, "create_cq_user");
  snprintf(cq->details, sizeof(cq->details), ", CQEs of %u bytes, compressed %u, driver flags %#x", asked.cqe_size,
           asked.cqe_comp_en, asked.flags);
  error = nic_pin(nic, &cq->pins, asked.buf_addr, (size_t)cq->size * asked.cqe_size);
  if (error) return REFUSE(verdict, error, "create_cq_user");
  return nic_answer(udata, &answer, sizeof(answer));
}

static int resize_cq(struct nic* nic, struct nic_cq* cq, int entries, struct ib_udata* udata, struct verdict* verdict) {
  struct mlx5_ib_resize_cq asked = {};
  u32 size;
  int error;

  if (entries < 1 || entries > max_cq_ring(nic)) return REFUSE(verdict, -EINVAL, "mlx5_ib_resize_cq");
  size = roundup_pow_of_two(entries + 1);
  if (size > max_cq_ring(nic) + 1) return REFUSE(verdict, -EINVAL, "mlx5_ib_resize_cq");
  if (size == cq->size) return 0;
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "resize_user");
  if (asked.reserved0 || asked.reserved1) return REFUSE(verdict, -EINVAL, "resize_user");
  nic_unpin(&cq->pins);
  error = nic_pin(nic, &cq->pins, asked.buf_addr, (size_t)size * asked.cqe_size);
  if (error) return REFUSE(verdict, error, "resize_user");
  cq->size = size;
  cq->ib.cqe = size - 1;
  return 0;
}

static int modify_cq(struct nic* nic, struct nic_cq* cq, u16 count, u16 period, struct verdict* verdict) {
  return period > MAX_CQ_PERIOD ? REFUSE(verdict, -EINVAL, "mlx5_ib_modify_cq") : 0;
}

static int create_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata,
                      struct verdict* verdict) {
  struct mlx5_ib_create_srq asked = {};
  struct mlx5_ib_create_srq_resp answer = {.srqn = srq->number};
  u32 entry, depth;
  int error;

  if (attr->srq_type != IB_SRQT_BASIC && attr->srq_type != IB_SRQT_XRC)
    return REFUSE(verdict, -EOPNOTSUPP, attr->srq_type == IB_SRQT_TM ? NULL : "mlx5_ib_create_srq");
  if (attr->attr.max_wr >= max_srq_ring(nic) || attr->attr.max_sge > nic_mlx5_max_recv_wqe(nic) / DATA_SEGMENT)
    return REFUSE(verdict, -EINVAL, "mlx5_ib_create_srq");
  depth = roundup_pow_of_two(attr->attr.max_wr + 1);
  entry = max(32ul, roundup_pow_of_two(DATA_SEGMENT * (attr->attr.max_sge + 1ul)));
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "create_srq_user");
  if (asked.reserved0 || asked.reserved1) return REFUSE(verdict, -EINVAL, "create_srq_user");
  error = nic_pin(nic, &srq->pins, asked.buf_addr, (size_t)depth * entry);
  if (error) return REFUSE(verdict, error, "create_srq_user");
  attr->attr.max_wr = depth - 1;
  return nic_answer(udata, &answer, sizeof(answer));
}

static int modify_srq(struct nic* nic, struct nic_srq* srq, struct ib_srq_attr* attr, int mask,
                      struct verdict* verdict) {
  if ((mask & IB_SRQ_MAX_WR) || ((mask & IB_SRQ_LIMIT) && attr->srq_limit > srq->attr.max_wr))
    return REFUSE(verdict, -EINVAL, "mlx5_ib_modify_srq");
  return 0;
}

// process_vendor_flags: which flags of the driver's own go with this type
static bool flags_fit(enum ib_qp_type type, u32 flags) {
  u32 known = MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE |
              MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_UAR_PAGE_INDEX;

  if (type == IB_QPT_RC) known |= MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE;
  return !(flags & ~known);
}

// create_user_qp, set_rq_size, set_user_buf_size: the library passes its rings, the kernel checks them
static int create_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                     struct verdict* verdict) {
  struct mlx5_ib_create_qp asked = {};
  struct mlx5_ib_create_qp_resp answer = {.bfreg_index = 0};
  bool has_receives =
      attr->qp_type != IB_QPT_XRC_INI && attr->qp_type != IB_QPT_XRC_TGT && !attr->srq && attr->cap.max_recv_wr;
  u64 bytes;
  int error;

  switch (attr->qp_type) {
    case IB_QPT_RC:
    case IB_QPT_UC:
    case IB_QPT_UD:
    case IB_QPT_XRC_INI:
    case IB_QPT_XRC_TGT:
      break;
    case IB_QPT_RAW_PACKET:
    case IB_QPT_DRIVER:
      return -EOPNOTSUPP;  // the card has them, the shell has not
    default:
      return REFUSE(verdict, -EOPNOTSUPP, "check_qp_type");
  }
  if (attr->create_flags & ~(IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_QP_CREATE_PCI_WRITE_END_PADDING))
    return REFUSE(verdict, -EOPNOTSUPP, "process_create_flags");
  if (udata->inlen < offsetof(struct mlx5_ib_create_qp, ece_options))
    return REFUSE(verdict, -EINVAL, "process_udata_size");
  if (nic_ask(udata, &asked, sizeof(asked))) return REFUSE(verdict, -EFAULT, "mlx5_ib_create_qp");
  snprintf(qp->details, sizeof(qp->details), ", driver flags %#x", asked.flags);
  if (!flags_fit(attr->qp_type, asked.flags)) return REFUSE(verdict, -EINVAL, "process_vendor_flags");
  if (attr->cap.max_recv_wr > nic_mlx5_max_blocks(nic)) return REFUSE(verdict, -EINVAL, "set_rq_size");
  if (!has_receives) attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
  if (has_receives ? asked.rq_wqe_shift > 30 : asked.rq_wqe_shift || asked.rq_wqe_count)
    return REFUSE(verdict, -EINVAL, "create_user_qp");
  if (asked.sq_wqe_count && !is_power_of_2(asked.sq_wqe_count)) return REFUSE(verdict, -EINVAL, "set_user_buf_size");
  if (asked.sq_wqe_count > nic_mlx5_max_blocks(nic)) return REFUSE(verdict, -EINVAL, "create_user_qp");
  bytes = ((u64)asked.rq_wqe_count << asked.rq_wqe_shift) + ((u64)asked.sq_wqe_count << WQE_BLOCK_SHIFT);
  if (bytes > INT_MAX) return REFUSE(verdict, -EINVAL, "set_user_buf_size");
  if (asked.buf_addr && bytes) {
    error = nic_pin(nic, &qp->pins, asked.buf_addr, bytes);
    if (error) return REFUSE(verdict, error, "_create_user_qp");
  }
  // mlx5_ib_query_qp: a user's send queue is the library's business
  qp->cap.max_recv_wr = asked.rq_wqe_count;
  qp->cap.max_recv_sge = has_receives ? (1u << asked.rq_wqe_shift) / DATA_SEGMENT : 0;
  return nic_answer(udata, &answer, sizeof(answer));
}

// optab of __mlx5_ib_modify_qp: the transitions that firmware has a command for
static bool has_command(enum ib_qp_state from, enum ib_qp_state to) {
  switch (to) {
    case IB_QPS_RESET:
    case IB_QPS_ERR:
      return true;
    case IB_QPS_INIT:
      return from == IB_QPS_RESET || from == IB_QPS_INIT;
    case IB_QPS_RTR:
      return from == IB_QPS_INIT;
    case IB_QPS_RTS:
      return from == IB_QPS_RTR || from == IB_QPS_RTS || from == IB_QPS_SQD || from == IB_QPS_SQE;
    default:
      return false;
  }
}

static int modify_qp(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                     struct verdict* verdict) {
  enum ib_qp_state now = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
  enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;

  if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT)) return REFUSE(verdict, -EOPNOTSUPP, "mlx5_ib_modify_qp");
  if (!ib_modify_qp_is_ok(now, next, qp->ib.qp_type, mask)) return REFUSE(verdict, -EINVAL, "ib_modify_qp_is_ok");
  if ((mask & IB_QP_PORT) && attr->port_num != 1) return REFUSE(verdict, -EINVAL, "mlx5_ib_modify_qp (port)");
  if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index >= nic_cap(nic, NIC_CAP_MAX_PKEYS))
    return REFUSE(verdict, -EINVAL, "mlx5_ib_modify_qp (pkey_index)");
  if (((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_INIT_RD_ATOM)) ||
      ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > nic_cap(nic, NIC_CAP_MAX_QP_RD_ATOM)))
    return REFUSE(verdict, -EINVAL, "validate_rd_atomic");
  if (now == IB_QPS_RESET && next == IB_QPS_RESET) return 0;
  if ((mask & IB_QP_PATH_MTU) && (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096))
    return REFUSE(verdict, -EINVAL, "__mlx5_ib_modify_qp (path_mtu)");
  if (!has_command(now, next)) return REFUSE(verdict, -EINVAL, "__mlx5_ib_modify_qp (optab)");
  // Firmware's part: a command names the state that it leads from, and another is "bad QP state" (cmd_status_to_err of
  // net/ethernet/mellanox/mlx5/core/cmd.c)
  if (now != qp->state && next != IB_QPS_RESET && next != IB_QPS_ERR)
    return REFUSE(verdict, -EINVAL, "firmware (MLX5_CMD_STAT_BAD_QP_STATE_ERR)");
  // kept as a power of two, and shown so
  if ((mask & IB_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic)
    attr->max_rd_atomic = roundup_pow_of_two(attr->max_rd_atomic);
  if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic)
    attr->max_dest_rd_atomic = roundup_pow_of_two(attr->max_dest_rd_atomic);
  qp->state = next;
  return 0;
}

// mlx5_ib_query_qp, to_rdma_ah_attr: read back from firmware's context, whose fields are as wide as they are
static void query_qp(const struct nic* nic, const struct nic_qp* qp, struct ib_qp_attr* attr) {
  struct rdma_ah_attr* path = &attr->ah_attr;

  attr->max_rd_atomic = max_t(u8, attr->max_rd_atomic, 1);
  // set_qpc_atomic_flags
  if (!attr->max_dest_rd_atomic) attr->qp_access_flags &= IB_ACCESS_REMOTE_WRITE;
  attr->qp_access_flags &= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;
  attr->max_dest_rd_atomic = max_t(u8, attr->max_dest_rd_atomic, 1);
  attr->retry_cnt &= 7;
  attr->rnr_retry &= 7;
  attr->min_rnr_timer &= 31;
  attr->timeout &= 31;
  if (qp->ib.qp_type == IB_QPT_UD && qp->state != IB_QPS_RESET) attr->path_mtu = IB_MTU_4096;
  if (qp->ib.qp_type == IB_QPT_UD || !attr->port_num) {
    memset(path, 0, sizeof(*path));
    return;
  }
  path->type = rdma_ah_find_type(qp->ib.device, attr->port_num);
  rdma_ah_set_port_num(path, attr->port_num);
  if (path->type != RDMA_AH_ATTR_TYPE_ROCE) return;
  rdma_ah_set_ah_flags(path, IB_AH_GRH);
  rdma_ah_set_sl(path, 0);  // it is in eth_prio, which isn't read
}

static int create_ah(struct nic* nic, struct nic_ah* ah, struct ib_udata* udata, struct verdict* verdict) {
  struct mlx5_ib_create_ah_resp answer = {.response_length = offsetofend(struct mlx5_ib_create_ah_resp, dmac)};

  if (ah->attr.type != RDMA_AH_ATTR_TYPE_ROCE) return 0;
  if (udata->outlen < answer.response_length) return REFUSE(verdict, -EINVAL, "mlx5_ib_create_ah");
  memcpy(answer.dmac, ah->attr.roce.dmac, ETH_ALEN);
  return nic_answer(udata, &answer, answer.response_length);
}

static const struct ib_device_ops ops = {
    .driver_id = RDMA_DRIVER_MLX5,
    .uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,
    .attach_mcast = nic_attach_mcast,
    .create_ah = nic_create_user_ah,
    .create_srq = nic_create_srq,
    .create_user_ah = nic_create_user_ah,
    .destroy_ah = nic_destroy_ah,
    .destroy_srq = nic_destroy_srq,
    .detach_mcast = nic_attach_mcast,
    .modify_cq = nic_modify_cq,
    .modify_srq = nic_modify_srq,
    .query_ah = nic_query_ah,
    .query_srq = nic_query_srq,
    .reg_user_mr_dmabuf = nic_reg_user_mr_dmabuf,
    .rereg_user_mr = nic_rereg_user_mr,
    .resize_cq = nic_resize_cq,
};

// mlx5_ib_dev_mw_ops
static const struct ib_device_ops mw_ops = {
    .alloc_mw = nic_alloc_mw,
    .dealloc_mw = nic_dealloc_mw,
};

const struct nic_vendor nic_mlx5 = {
    .driver = "mlx5",
    .parent_driver = "mlx5_core",
    .ops = &ops,
    .xrc_ops = &nic_xrc_ops,  // mlx5_ib_stage_caps_init
    .mw_ops = &mw_ops,
    .objects = nic_mlx5_objects,
    .exhausted = {-ENOMEM, NULL},  // firmware's refusal, whose errno no source gives
    .fallback = fallback,
    .query_device = query_device,
    .alloc_context = alloc_context,
    .clock_page = MLX5_IB_MMAP_CORE_CLOCK << 8,  // MLX5_IB_MMAP_CMD_SHIFT; the clock is the page's first
    .alloc_pd = alloc_pd,
    .create_cq = create_cq,
    .resize_cq = resize_cq,
    .modify_cq = modify_cq,
    .create_srq = create_srq,
    .modify_srq = modify_srq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
    .create_ah = create_ah,
};
