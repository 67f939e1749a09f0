// SPDX-License-Identifier: GPL-2.0-only
// A process's context, its protection domains, and the pages that it maps to ring doorbells on.
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "nicshell.h"

int nic_alloc_ucontext(struct ib_ucontext* context, struct ib_udata* udata) {
  struct nic* nic = nic_of(context->device);
  struct nic_context* ours = container_of(context, struct nic_context, ib);
  struct verdict verdict = {};
  int error;

  mutex_init(&ours->lock);
  INIT_LIST_HEAD(&ours->rings);
  error = nic->vendor->alloc_context(nic, ours, udata, &verdict);
  return nic_record(nic, "alloc_ucontext", error, &verdict, "asks %zu bytes, takes %zu", udata->inlen, udata->outlen);
}

void nic_dealloc_ucontext(struct ib_ucontext* context) {}

void nic_disassociate_ucontext(struct ib_ucontext* context) {}

// A mapping is memory of its own: doorbells fall into it, and a queue that the kernel driver would provide is empty in
// it. Forks share it, the last one to unmap frees it.
struct mapping {
  void* memory; /* NULL: the device's clock */
  refcount_t users;
};

static void mapping_open(struct vm_area_struct* area) {
  refcount_inc(&((struct mapping*)area->vm_private_data)->users);
}

static void mapping_close(struct vm_area_struct* area) {
  struct mapping* mapping = area->vm_private_data;

  if (!refcount_dec_and_test(&mapping->users)) return;
  vfree(mapping->memory);
  kfree(mapping);
}

static const struct vm_operations_struct mapping_ops = {.open = mapping_open, .close = mapping_close};

int nic_mmap(struct ib_ucontext* context, struct vm_area_struct* area) {
  struct nic* nic = nic_of(context->device);
  unsigned long size = area->vm_end - area->vm_start;
  unsigned long offset = area->vm_pgoff;
  struct mapping* mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
  int error = -ENOMEM;

  if (!mapping) goto out;
  refcount_set(&mapping->users, 1);
  if (nic->clock && offset == nic->vendor->clock_page) {
    error = remap_vmalloc_range(area, nic->clock, 0);
  } else {
    mapping->memory = vmalloc_user(size);
    if (!mapping->memory) goto no_memory;
    if (nic->vendor->fill_mapping) nic->vendor->fill_mapping(nic, offset, mapping->memory);
    error = remap_vmalloc_range(area, mapping->memory, 0);
  }
  if (error) goto not_mapped;
  area->vm_private_data = mapping;
  area->vm_ops = &mapping_ops;
  goto out;

not_mapped:
  vfree(mapping->memory);
no_memory:
  kfree(mapping);
out:
  return nic_record(nic, "mmap", error, &(struct verdict){}, "offset page %lu, %lu bytes", offset, size);
}

int nic_alloc_pd(struct ib_pd* pd, struct ib_udata* udata) {
  struct nic* nic = nic_of(pd->device);
  struct nic_pd* ours = container_of(pd, struct nic_pd, ib);
  struct verdict verdict = {};
  int error;

  error = nic_take_number(nic, NIC_PDS, &ours->number, &verdict);
  if (error) goto out;
  error = nic->vendor->alloc_pd(nic, ours, udata, &verdict);
  if (error) nic_return_number(nic, NIC_PDS, ours->number);
out:
  return nic_record(nic, "alloc_pd", error, &verdict, "number %u", ours->number);
}

int nic_dealloc_pd(struct ib_pd* pd, struct ib_udata* udata) {
  nic_return_number(nic_of(pd->device), NIC_PDS, container_of(pd, struct nic_pd, ib)->number);
  return 0;
}

int nic_alloc_xrcd(struct ib_xrcd* xrcd, struct ib_udata* udata) {
  return nic_record(nic_of(xrcd->device), "alloc_xrcd", 0, NULL, "XRC domain");
}

int nic_dealloc_xrcd(struct ib_xrcd* xrcd, struct ib_udata* udata) {
  return 0;
}
