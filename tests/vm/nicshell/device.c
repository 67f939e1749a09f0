// SPDX-License-Identifier: GPL-2.0-only
// What a NIC says of itself, from its model.
#include <linux/etherdevice.h>
#include <rdma/ib_addr.h>

#include "nicshell.h"

// Firmware decides these, and a model that has no source for them says so. A NIC has to say something, so this is the
// shell's own answer: it tells nothing of the card. Zero for the rest.
static const struct nic_figure fallback[NIC_CAP_COUNT] = {
    [NIC_CAP_MAX_QP] = {true, 65536},
    [NIC_CAP_MAX_CQ] = {true, 65536},
    [NIC_CAP_MAX_MR] = {true, 65536},
    [NIC_CAP_MAX_PD] = {true, 32768},
    [NIC_CAP_MAX_MW] = {true, 65536},
    [NIC_CAP_MAX_AH] = {true, 65536},
    [NIC_CAP_MAX_QP_WR] = {true, 8192},
    [NIC_CAP_MAX_CQE] = {true, 65535},
    [NIC_CAP_MAX_SGE] = {true, 4},
    [NIC_CAP_MAX_SGE_RD] = {true, 1},
    [NIC_CAP_MAX_QP_RD_ATOM] = {true, 16},
    [NIC_CAP_MAX_QP_INIT_RD_ATOM] = {true, 16},
    [NIC_CAP_MAX_PKEYS] = {true, 1},
    [NIC_CAP_MAX_MR_SIZE] = {true, 1ull << 40},
    [NIC_CAP_PAGE_SIZE_CAP] = {true, PAGE_SIZE},
};

u64 nic_cap(const struct nic* nic, enum nic_cap cap) {
  if (nic->model->caps[cap].known) return nic->model->caps[cap].value;
  if (nic->vendor->fallback && nic->vendor->fallback[cap].known) return nic->vendor->fallback[cap].value;
  return fallback[cap].value;
}

u64 nic_made(const struct nic* nic, enum nic_made limit, u64 otherwise) {
  return nic->model->made[limit].known ? nic->model->made[limit].value : otherwise;
}

bool nic_is_roce(const struct nic* nic) {
  return nic->model->transport == NIC_ROCE;
}

int nic_query_device(struct ib_device* device, struct ib_device_attr* attr, struct ib_udata* udata) {
  struct nic* nic = nic_of(device);

  memset(attr, 0, sizeof(*attr));
  attr->vendor_id = nic->model->verbs_vendor;
  attr->vendor_part_id = nic->model->verbs_part_id;
  attr->hw_ver = nic->model->hw_ver.known ? nic->model->hw_ver.value : 0;
  attr->sys_image_guid = device->node_guid;
  attr->fw_ver = nic->model->firmware_word;
  attr->device_cap_flags = nic_cap(nic, NIC_CAP_DEVICE_CAP_FLAGS);
  attr->max_mr_size = nic_cap(nic, NIC_CAP_MAX_MR_SIZE);
  attr->page_size_cap = nic_cap(nic, NIC_CAP_PAGE_SIZE_CAP);
  attr->max_qp = nic_cap(nic, NIC_CAP_MAX_QP);
  attr->max_qp_wr = nic_cap(nic, NIC_CAP_MAX_QP_WR);
  attr->max_send_sge = nic_made(nic, NIC_MADE_SEND_SGE_MAX, nic_cap(nic, NIC_CAP_MAX_SGE));
  attr->max_recv_sge = nic_made(nic, NIC_MADE_RECV_SGE_MAX, nic_cap(nic, NIC_CAP_MAX_SGE));
  attr->max_sge_rd = nic_cap(nic, NIC_CAP_MAX_SGE_RD);
  attr->max_cq = nic_cap(nic, NIC_CAP_MAX_CQ);
  attr->max_cqe = nic_cap(nic, NIC_CAP_MAX_CQE);
  attr->max_mr = nic_cap(nic, NIC_CAP_MAX_MR);
  attr->max_pd = nic_cap(nic, NIC_CAP_MAX_PD);
  attr->max_qp_rd_atom = nic_cap(nic, NIC_CAP_MAX_QP_RD_ATOM);
  attr->max_qp_init_rd_atom = nic_cap(nic, NIC_CAP_MAX_QP_INIT_RD_ATOM);
  attr->max_res_rd_atom = nic_cap(nic, NIC_CAP_MAX_RES_RD_ATOM);
  attr->atomic_cap = nic_cap(nic, NIC_CAP_ATOMIC_CAP);
  attr->masked_atomic_cap = IB_ATOMIC_NONE;
  attr->max_mw = nic_cap(nic, NIC_CAP_MAX_MW);
  attr->max_mcast_grp = nic_cap(nic, NIC_CAP_MAX_MCAST_GRP);
  attr->max_mcast_qp_attach = nic_cap(nic, NIC_CAP_MAX_MCAST_QP_ATTACH);
  attr->max_ah = nic_cap(nic, NIC_CAP_MAX_AH);
  attr->max_srq = nic_cap(nic, NIC_CAP_MAX_SRQ);
  attr->max_srq_wr = nic_cap(nic, NIC_CAP_MAX_SRQ_WR);
  attr->max_srq_sge = nic_cap(nic, NIC_CAP_MAX_SRQ_SGE);
  attr->max_pkeys = nic_cap(nic, NIC_CAP_MAX_PKEYS);
  attr->local_ca_ack_delay = nic_cap(nic, NIC_CAP_LOCAL_CA_ACK_DELAY);
  attr->timestamp_mask = nic_cap(nic, NIC_CAP_COMPLETION_TIMESTAMP_MASK);
  attr->hca_core_clock = nic_cap(nic, NIC_CAP_HCA_CORE_CLOCK_KHZ);
  attr->cq_caps.max_cq_moderation_count = nic_cap(nic, NIC_CAP_MAX_CQ_COUNT);
  attr->cq_caps.max_cq_moderation_period = nic_cap(nic, NIC_CAP_MAX_CQ_PERIOD);
  return nic->vendor->query_device ? nic->vendor->query_device(nic, attr, udata) : 0;
}

static enum ib_mtu mtu_of(u32 bytes) {
  return ib_mtu_int_to_enum(bytes ?: 1024);
}

static int query_port(struct ib_device* device, u32 port, struct ib_port_attr* attr) {
  const struct nic_model* model = nic_of(device)->model;

  attr->state = IB_PORT_ACTIVE;
  attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
  attr->max_mtu = mtu_of(model->max_mtu);
  attr->active_mtu = mtu_of(model->active_mtu);
  attr->gid_tbl_len = model->gid_tbl_len.known ? model->gid_tbl_len.value : 16;
  attr->pkey_tbl_len = model->pkey_tbl_len.known ? model->pkey_tbl_len.value : 1;
  attr->max_msg_sz = model->max_msg_sz.known ? model->max_msg_sz.value : 0x40000000;
  attr->lid = model->lid;
  attr->ip_gids = nic_is_roce(nic_of(device));
  attr->active_width = IB_WIDTH_4X;
  attr->active_speed = IB_SPEED_EDR;
  return 0;
}

// Without post_send and its like the core takes the NIC for one that serves user space alone, and none of the kernel's
// own users comes to it; so MAD and CM are left out.
static int port_immutable(struct ib_device* device, u32 port, struct ib_port_immutable* immutable) {
  struct nic* nic = nic_of(device);
  struct ib_port_attr attr = {};

  query_port(device, port, &attr);
  immutable->gid_tbl_len = attr.gid_tbl_len;
  immutable->pkey_tbl_len = attr.pkey_tbl_len;
  if (nic_is_roce(nic)) {
    if (nic->model->gid_types & NIC_ROCE_V1) immutable->core_cap_flags |= RDMA_CORE_CAP_PROT_ROCE;
    if (nic->model->gid_types & NIC_ROCE_V2) immutable->core_cap_flags |= RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
    immutable->core_cap_flags |= RDMA_CORE_CAP_AF_IB | RDMA_CORE_CAP_ETH_AH;
  } else if (nic->model->transport == NIC_IWARP) {
    immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IWARP;
  } else if (nic->model->transport == NIC_UNSPECIFIED) {
    immutable->core_cap_flags = 0; // as efa_get_port_immutable
  } else {
    immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB | RDMA_CORE_CAP_AF_IB;
  }
  return 0;
}

static enum rdma_link_layer link_layer(struct ib_device* device, u32 port) {
  switch (nic_of(device)->model->link_layer) {
    case NIC_ETHERNET:
      return IB_LINK_LAYER_ETHERNET;
    case NIC_INFINIBAND:
      return IB_LINK_LAYER_INFINIBAND;
    default:
      return IB_LINK_LAYER_UNSPECIFIED;
  }
}

static int query_pkey(struct ib_device* device, u32 port, u16 index, u16* pkey) {
  struct ib_port_attr attr = {};

  query_port(device, port, &attr);
  if (index >= attr.pkey_tbl_len) return -EINVAL;
  *pkey = index == 0 ? 0xffff : 0; /* no partition but the default */
  return 0;
}

// Asked where the core keeps no table from the interface's addresses: the interface's own number, as irdma_query_gid.
static int query_gid(struct ib_device* device, u32 port, int index, union ib_gid* gid) {
  memset(gid, 0, sizeof(*gid));
  ether_addr_copy(gid->raw, nic_of(device)->ethernet->dev_addr);
  return 0;
}

static int add_gid(const struct ib_gid_attr* attr, void** context) {
  return 0;
}

static int del_gid(const struct ib_gid_attr* attr, void** context) {
  return 0;
}

static void firmware_text(struct ib_device* device, char* text) {
  snprintf(text, IB_FW_VERSION_NAME_MAX, "%s", nic_of(device)->model->firmware);
}

static ssize_t hw_rev_show(struct device* device, struct device_attribute* attribute, char* text) {
  struct nic* nic = rdma_device_to_drv_device(device, struct nic, ib);

  return sysfs_emit(text, "0x%llx\n", nic->model->hw_ver.value);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device* device, struct device_attribute* attribute, char* text) {
  struct nic* nic = rdma_device_to_drv_device(device, struct nic, ib);

  return sysfs_emit(text, "%s\n", nic->model->title);
}
static DEVICE_ATTR_RO(hca_type);

static struct attribute* attributes[] = {&dev_attr_hw_rev.attr, &dev_attr_hca_type.attr, NULL};
static const struct attribute_group group = {.attrs = attributes};

const struct ib_device_ops nic_base_ops = {
    .owner = THIS_MODULE,
    .device_group = &group,
    .add_gid = add_gid,
    .alloc_pd = nic_alloc_pd,
    .alloc_ucontext = nic_alloc_ucontext,
    .create_cq = nic_create_cq,
    .create_qp = nic_create_qp,
    .dealloc_pd = nic_dealloc_pd,
    .dealloc_ucontext = nic_dealloc_ucontext,
    .del_gid = del_gid,
    .dereg_mr = nic_dereg_mr,
    .destroy_cq = nic_destroy_cq,
    .destroy_qp = nic_destroy_qp,
    .disassociate_ucontext = nic_disassociate_ucontext,
    .get_dev_fw_str = firmware_text,
    .get_link_layer = link_layer,
    .get_port_immutable = port_immutable,
    .mmap = nic_mmap,
    .modify_qp = nic_modify_qp,
    .query_device = nic_query_device,
    .query_gid = query_gid,
    .query_pkey = query_pkey,
    .query_port = query_port,
    .query_qp = nic_query_qp,
    .reg_user_mr = nic_reg_user_mr,
    INIT_RDMA_OBJ_SIZE(ib_ah, nic_ah, ib),
    INIT_RDMA_OBJ_SIZE(ib_cq, nic_cq, ib),
    INIT_RDMA_OBJ_SIZE(ib_mw, nic_mw, ib),
    INIT_RDMA_OBJ_SIZE(ib_pd, nic_pd, ib),
    INIT_RDMA_OBJ_SIZE(ib_qp, nic_qp, ib),
    INIT_RDMA_OBJ_SIZE(ib_srq, nic_srq, ib),
    INIT_RDMA_OBJ_SIZE(ib_ucontext, nic_context, ib),
    INIT_RDMA_OBJ_SIZE(ib_xrcd, nic_xrcd, ib),
};

const struct ib_device_ops nic_xrc_ops = {
    .alloc_xrcd = nic_alloc_xrcd,
    .dealloc_xrcd = nic_dealloc_xrcd,
};
