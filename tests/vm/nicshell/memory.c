// SPDX-License-Identifier: GPL-2.0-only
// Memory regions and windows, and the pinning of rings. Pages are pinned by the core (ib_umem_get), so that the limit
// on locked memory counts as it does with a card.
#include <linux/dma-buf.h>

#include "nicshell.h"

MODULE_IMPORT_NS(DMA_BUF);

int nic_pin(struct nic* nic, struct nic_pins* pins, u64 address, size_t size) {
  struct ib_umem* umem;

  if (pins->count == NIC_PINS) return -ENOSPC;
  umem = ib_umem_get(&nic->ib, address, size, IB_ACCESS_LOCAL_WRITE);
  if (IS_ERR(umem)) return PTR_ERR(umem);
  pins->umem[pins->count++] = umem;
  return 0;
}

void nic_unpin(struct nic_pins* pins) {
  while (pins->count > 0) ib_umem_release(pins->umem[--pins->count]);
}

struct ib_mr* nic_reg_user_mr(struct ib_pd* pd, u64 start, u64 length, u64 virt, int access, struct ib_udata* udata) {
  struct nic* nic = nic_of(pd->device);
  struct nic_mr* mr = kzalloc(sizeof(*mr), GFP_KERNEL);
  struct verdict verdict = {};
  int error = -ENOMEM;

  if (!mr) goto out;
  INIT_LIST_HEAD(&mr->ring);
  mr->start = start;
  mr->ib.device = pd->device;
  mr->ib.pd = pd;
  if (start + length < start || PAGE_ALIGN(start + length) < start + length) {
    error = REFUSE(&verdict, -EINVAL, "ib_umem_get");
    goto failed;
  }
  if (length > nic_cap(nic, NIC_CAP_MAX_MR_SIZE)) {
    error = REFUSE(&verdict, nic->vendor->too_long ?: -EINVAL, "reg_user_mr (max_mr_size)");
    goto failed;
  }
  mr->umem = ib_umem_get(pd->device, start, length, access);
  if (IS_ERR(mr->umem)) {
    error = REFUSE(&verdict, PTR_ERR(mr->umem), "ib_umem_get");
    goto failed;
  }
  mr->key = ida_alloc_range(&nic->keys, 1, 0xffffff, GFP_KERNEL); /* the least that is free: libcxgb4 has a table */
  if (mr->key < 0) {
    error = mr->key;
    goto no_key;
  }
  mr->ib.lkey = mr->ib.rkey = mr->key << 8;
  mr->ib.length = length;
  mr->ib.iova = virt;
  error = nic->vendor->reg_mr ? nic->vendor->reg_mr(nic, mr, length, access, udata, &verdict) : 0;
  if (!error) {
    atomic_inc(&nic->mrs);
    goto out;
  }
  ida_free(&nic->keys, mr->key);
no_key:
  ib_umem_release(mr->umem);
failed:
  kfree(mr);
out:
  nic_record(nic, "reg_mr", error, &verdict, "%llu bytes, access %#x", length, access);
  return error ? ERR_PTR(error) : &mr->ib;
}

// ib_umem_dmabuf_get, without the attachment: no card reads the buffer. The core has checked offset, iova and access.
struct ib_mr* nic_reg_user_mr_dmabuf(struct ib_pd* pd, u64 offset, u64 length, u64 virt, int fd, int access,
                                     struct uverbs_attr_bundle* attrs) {
  struct nic* nic = nic_of(pd->device);
  struct nic_mr* mr = kzalloc(sizeof(*mr), GFP_KERNEL);
  struct verdict verdict = {};
  int error = -ENOMEM;
  u64 end;

  if (!mr) goto out;
  INIT_LIST_HEAD(&mr->ring);
  mr->dmabuf = dma_buf_get(fd);
  if (IS_ERR(mr->dmabuf)) {
    error = REFUSE(&verdict, PTR_ERR(mr->dmabuf), "ib_umem_dmabuf_get");
    goto failed;
  }
  if (check_add_overflow(offset, length, &end) || mr->dmabuf->size < end) {
    error = REFUSE(&verdict, -EINVAL, "ib_umem_dmabuf_get (size)");
    goto no_key;
  }
  mr->key = ida_alloc_range(&nic->keys, 1, 0xffffff, GFP_KERNEL);
  if (mr->key < 0) {
    error = mr->key;
    goto no_key;
  }
  mr->ib.device = pd->device;
  mr->ib.pd = pd;
  mr->ib.lkey = mr->ib.rkey = mr->key << 8;
  mr->ib.length = length;
  mr->ib.iova = virt;
  atomic_inc(&nic->mrs);
  error = 0;
  goto out;

no_key:
  dma_buf_put(mr->dmabuf);
failed:
  kfree(mr);
out:
  nic_record(nic, "reg_dmabuf_mr", error, &verdict, "%llu bytes at %llu, access %#x", length, offset, access);
  return error ? ERR_PTR(error) : &mr->ib;
}

// Only what needs no new pages: another PD, other permissions. Another place is EOPNOTSUPP by the shell.
struct ib_mr* nic_rereg_user_mr(struct ib_mr* mr, int flags, u64 start, u64 length, u64 virt, int access,
                                struct ib_pd* pd, struct ib_udata* udata) {
  struct nic_mr* ours = container_of(mr, struct nic_mr, ib);
  struct verdict verdict = {};
  int error = 0;

  if (flags & IB_MR_REREG_TRANS)
    error = -EOPNOTSUPP;
  else if ((flags & IB_MR_REREG_ACCESS) && ib_access_writable(access) && ours->umem && !ours->umem->writable)
    error = REFUSE(&verdict, -EACCES, "rereg_user_mr (pinned for reading)");
  nic_record(nic_of(mr->device), "rereg_mr", error, &verdict, "flags %#x, access %#x", flags, access);
  return ERR_PTR(error);
}

int nic_dereg_mr(struct ib_mr* mr, struct ib_udata* udata) {
  struct nic_mr* ours = container_of(mr, struct nic_mr, ib);

  if (ours->context) {
    mutex_lock(&ours->context->lock);
    list_del_init(&ours->ring);
    mutex_unlock(&ours->context->lock);
  }
  atomic_dec(&nic_of(mr->device)->mrs);
  ida_free(&nic_of(mr->device)->keys, ours->key);
  ib_umem_release(ours->umem);
  if (ours->dmabuf) dma_buf_put(ours->dmabuf);
  kfree(ours);
  return 0;
}

int nic_alloc_mw(struct ib_mw* mw, struct ib_udata* udata) {
  struct nic* nic = nic_of(mw->device);

  mw->rkey = nic_key(nic) << 8;
  return nic_record(nic, "alloc_mw", 0, NULL, "type %d", mw->type);
}

int nic_dealloc_mw(struct ib_mw* mw) {
  return 0;
}
