/* SPDX-License-Identifier: GPL-2.0-only */
/* A shell of an RDMA NIC: it answers the control path of one vendor's genuine user-space driver and moves no data.
 *
 * What a file of this folder refuses, it refuses where the vendor's kernel driver does, and names that function: all
 * function names in these files are of Linux 6.12's drivers/infiniband unless they say otherwise. What is refused by
 * `shell` is a limit of this equipment, and says nothing about a NIC.
 */
#ifndef NICSHELL_H
#define NICSHELL_H

#include <linux/idr.h>
#include <linux/netdevice.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "nic_models.h"

struct nic;
struct nic_vendor;

/* Why a call was refused. An error without a name is the shell's own. */
struct verdict {
  const char* by;
};

#define REFUSE(verdict, error, function) ((verdict)->by = (function), (error))

/* A buffer of the user's, pinned as the kernel driver would pin it. */
#define NIC_PINS 3
struct nic_pins {
  struct ib_umem* umem[NIC_PINS];
  int count;
};

struct nic_context {
  struct ib_ucontext ib;
  u64 config;
  struct mutex lock;
  struct list_head rings; /* irdma: memory registered to become a ring */
};

struct nic_pd {
  struct ib_pd ib;
  u32 number;
};

struct nic_mr {
  struct ib_mr ib;
  struct ib_umem* umem;
  struct nic_context* context;
  struct list_head ring; /* empty unless it is one */
  u64 start;
  int key;
  u16 ring_type;
  struct dma_buf* dmabuf; /* in place of umem */
};

struct nic_mw {
  struct ib_mw ib;
};

struct nic_ah {
  struct ib_ah ib;
  struct rdma_ah_attr attr;
};

#define NIC_DETAILS 80 /* what the vendor adds to a line of the record */

struct nic_cq {
  struct ib_cq ib;
  char details[NIC_DETAILS];
  u32 number;
  u32 size;
  struct nic_pins pins;
};

struct nic_srq {
  struct ib_srq ib;
  u32 number;
  struct ib_srq_attr attr; /* what query_srq shows; what was granted unless the vendor's creation sets it */
  u32 size;                /* what a limit is held against; 0: attr.max_wr */
  struct nic_pins pins;
};

struct nic_qp {
  struct ib_qp ib;
  char details[NIC_DETAILS];
  enum ib_qp_state state;
  struct ib_qp_cap cap; /* as the kernel driver keeps it, which query_qp shows */
  struct ib_qp_attr attr;
  int hardware_state; /* irdma's, which differs from that of verbs */
  bool signal_all;
  u64 flags;
  struct nic_pins pins;
};

struct nic_xrcd {
  struct ib_xrcd ib;
};

/* What has numbers of its own, each from 1 up to a cap */
enum nic_kind { NIC_PDS, NIC_CQS, NIC_QPS, NIC_SRQS, NIC_KINDS };

struct nic {
  struct ib_device ib;
  const struct nic_model* model;
  const struct nic_vendor* vendor;
  struct device* parent;
  struct kobject* parent_driver;
  struct net_device* ethernet;
  void* clock; /* its page; NULL: none to be mapped */
  struct timer_list clock_tick;
  struct ida numbers[NIC_KINDS];
  atomic_t used[NIC_KINDS];
  struct ida keys;
  atomic_t mrs; /* in use */
  atomic_t next_key;
};

/* What one vendor's kernel driver does, beyond what all do. Each returns 0 or a negative errno. */
struct nic_vendor {
  const char* driver; /* as identity.driver of the models */
  const char* parent_driver; /* that of the PCI function */
  const struct ib_device_ops* ops; /* what this driver has; the rest comes from nic_base_ops */
  const struct ib_device_ops* xrc_ops; /* what it has beyond that where device_cap_flags has XRC */
  const struct ib_device_ops* mw_ops;  /* and where the device counts memory windows */
  const struct ib_device_ops* roce_ops; /* and what it has on RoCE alone; NULL: nothing */
  const struct uapi_definition* objects; /* kinds of its own, beyond those of verbs */
  struct {
    int error;
    const char* by;
  } exhausted; /* when all numbers are taken */
  int too_long; /* errno for a region longer than max_mr_size; 0: EINVAL */
  const struct nic_figure* fallback; /* for caps that no source gives, by enum nic_cap; NULL: nic_fallback alone */

  int (*query_device)(struct nic* nic, struct ib_device_attr* attr, struct ib_udata* udata);
  int (*alloc_context)(struct nic* nic, struct nic_context* context, struct ib_udata* udata, struct verdict* verdict);
  /* Puts into a mapping what the library reads from it. */
  void (*fill_mapping)(struct nic* nic, unsigned long page, void* memory);
  unsigned long clock_page; /* where the clock is mapped; 0: it can't be */
  int (*alloc_pd)(struct nic* nic, struct nic_pd* pd, struct ib_udata* udata, struct verdict* verdict);
  int (*reg_mr)(struct nic* nic, struct nic_mr* mr, u64 length, int access, struct ib_udata* udata,
                struct verdict* verdict);
  int (*create_cq)(struct nic* nic, struct nic_cq* cq, const struct ib_cq_init_attr* attr, struct ib_udata* udata,
                   struct verdict* verdict);
  int (*resize_cq)(struct nic* nic, struct nic_cq* cq, int entries, struct ib_udata* udata, struct verdict* verdict);
  int (*modify_cq)(struct nic* nic, struct nic_cq* cq, u16 count, u16 period, struct verdict* verdict);
  int (*create_srq)(struct nic* nic, struct nic_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata,
                    struct verdict* verdict);
  int (*modify_srq)(struct nic* nic, struct nic_srq* srq, struct ib_srq_attr* attr, int mask, struct verdict* verdict);
  /* Leaves in attr->cap what the kernel reports, and in qp->cap what query_qp shows. */
  int (*create_qp)(struct nic* nic, struct nic_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata,
                   struct verdict* verdict);
  /* Checks, and sets qp->state; the attributes are stored by the caller afterwards. */
  int (*modify_qp)(struct nic* nic, struct nic_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata,
                   struct verdict* verdict);
  /* Makes of all that was given, in attr, what is shown; NULL: all but the path. */
  void (*query_qp)(const struct nic* nic, const struct nic_qp* qp, struct ib_qp_attr* attr);
  int (*create_ah)(struct nic* nic, struct nic_ah* ah, struct ib_udata* udata, struct verdict* verdict);
};

extern const struct nic_vendor nic_irdma, nic_hns, nic_mlx5, nic_bnxt_re, nic_efa, nic_erdma, nic_mana, nic_qedr,
    nic_cxgb4;
extern const struct ib_device_ops nic_base_ops, nic_xrc_ops;

static inline struct nic* nic_of(struct ib_device* device) {
  return container_of(device, struct nic, ib);
}

/* numbers.c: a number that is free, or what the vendor says where there is none */
int nic_take_number(struct nic* nic, enum nic_kind kind, u32* number, struct verdict* verdict);
void nic_return_number(struct nic* nic, enum nic_kind kind, u32 number);

/* device.c: a cap of the model, or what stands in for one that no source gives */
u64 nic_cap(const struct nic* nic, enum nic_cap cap);
u64 nic_made(const struct nic* nic, enum nic_made limit, u64 otherwise);
bool nic_is_roce(const struct nic* nic);
int nic_query_device(struct ib_device* device, struct ib_device_attr* attr, struct ib_udata* udata);

/* parent.c */
int nic_add_parent(struct nic* nic);
void nic_remove_parent(struct nic* nic);
int nic_add_ethernet(struct nic* nic);
void nic_remove_ethernet(struct nic* nic);

/* clock.c */
int nic_start_clock(struct nic* nic);
void nic_stop_clock(struct nic* nic);

/* record.c: one line for each call that reached the kernel driver's part */
int nic_start_record(void);
void nic_stop_record(void);
__printf(5, 6) int nic_record(const struct nic* nic, const char* verb, int result, const struct verdict* verdict,
                              const char* format, ...);

/* Answers as much as this rdma-core knows of. */
static inline int nic_answer(struct ib_udata* udata, const void* answer, size_t size) {
  return ib_copy_to_udata(udata, (void*)answer, min(size, udata->outlen));
}
static inline int nic_ask(struct ib_udata* udata, void* question, size_t size) {
  return ib_copy_from_udata(question, udata, min(size, udata->inlen));
}
/* For what is never looked up by its number: keys and address handles. */
static inline u32 nic_key(struct nic* nic) {
  return atomic_inc_return(&nic->next_key) & 0xffffff;
}

/* memory.c */
int nic_pin(struct nic* nic, struct nic_pins* pins, u64 address, size_t size);
void nic_unpin(struct nic_pins* pins);
struct ib_mr* nic_reg_user_mr(struct ib_pd* pd, u64 start, u64 length, u64 virt, int access, struct ib_udata* udata);
struct ib_mr* nic_rereg_user_mr(struct ib_mr* mr, int flags, u64 start, u64 length, u64 virt, int access,
                                struct ib_pd* pd, struct ib_udata* udata);
struct ib_mr* nic_reg_user_mr_dmabuf(struct ib_pd* pd, u64 offset, u64 length, u64 virt, int fd, int access,
                                     struct uverbs_attr_bundle* attrs);
int nic_alloc_mw(struct ib_mw* mw, struct ib_udata* udata);
int nic_dealloc_mw(struct ib_mw* mw);

/* The operations that every NIC has, named by nic_base_ops */
int nic_alloc_ucontext(struct ib_ucontext* context, struct ib_udata* udata);
void nic_dealloc_ucontext(struct ib_ucontext* context);
void nic_disassociate_ucontext(struct ib_ucontext* context);
int nic_mmap(struct ib_ucontext* context, struct vm_area_struct* area);
int nic_alloc_pd(struct ib_pd* pd, struct ib_udata* udata);
int nic_dealloc_pd(struct ib_pd* pd, struct ib_udata* udata);
int nic_dereg_mr(struct ib_mr* mr, struct ib_udata* udata);
int nic_create_cq(struct ib_cq* cq, const struct ib_cq_init_attr* attr, struct uverbs_attr_bundle* attrs);
int nic_destroy_cq(struct ib_cq* cq, struct ib_udata* udata);
int nic_create_qp(struct ib_qp* qp, struct ib_qp_init_attr* attr, struct ib_udata* udata);
int nic_modify_qp(struct ib_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_udata* udata);
int nic_query_qp(struct ib_qp* qp, struct ib_qp_attr* attr, int mask, struct ib_qp_init_attr* init);
int nic_destroy_qp(struct ib_qp* qp, struct ib_udata* udata);

/* What a vendor's table of operations names where its kernel driver has the operation. */
int nic_resize_cq(struct ib_cq* cq, int entries, struct ib_udata* udata);
int nic_modify_cq(struct ib_cq* cq, u16 count, u16 period);
int nic_create_srq(struct ib_srq* srq, struct ib_srq_init_attr* attr, struct ib_udata* udata);
int nic_modify_srq(struct ib_srq* srq, struct ib_srq_attr* attr, enum ib_srq_attr_mask mask, struct ib_udata* udata);
int nic_query_srq(struct ib_srq* srq, struct ib_srq_attr* attr);
int nic_destroy_srq(struct ib_srq* srq, struct ib_udata* udata);
int nic_create_user_ah(struct ib_ah* ah, struct rdma_ah_init_attr* attr, struct ib_udata* udata);
int nic_query_ah(struct ib_ah* ah, struct rdma_ah_attr* attr);
int nic_destroy_ah(struct ib_ah* ah, u32 flags);
int nic_attach_mcast(struct ib_qp* qp, union ib_gid* gid, u16 lid);
int nic_alloc_xrcd(struct ib_xrcd* xrcd, struct ib_udata* udata);
int nic_dealloc_xrcd(struct ib_xrcd* xrcd, struct ib_udata* udata);

#endif
