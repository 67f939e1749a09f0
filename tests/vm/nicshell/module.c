// SPDX-License-Identifier: GPL-2.0-only
// Which NICs there are: `devices=e810-roce+hip09+connectx5` makes one for each name, of models/*.yaml.
#include <linux/etherdevice.h>
#include <linux/module.h>

#define NIC_MODELS_WANTED
#include "nicshell.h"

static char* devices = "";
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "models to make NICs of, separated by +");

#define MOST_NICS 32
static struct nic* nics[MOST_NICS];
static int nic_count;

static const struct nic_vendor* const vendors[] = {&nic_irdma, &nic_hns,  &nic_mlx5, &nic_bnxt_re, &nic_efa,
                                                   &nic_erdma, &nic_mana, &nic_qedr, &nic_cxgb4};

static const struct nic_vendor* vendor_named(const char* driver) {
  size_t i;

  for (i = 0; i < ARRAY_SIZE(vendors); i++)
    if (!strcmp(vendors[i]->driver, driver)) return vendors[i];
  return NULL;
}

// `connectx5@kernel-6.12` is a variant of connectx5; both are called connectx5.
static const struct nic_model* model_named(const char* name) {
  size_t i;

  for (i = 0; i < ARRAY_SIZE(nic_models); i++)
    if (!strcmp(nic_models[i].key, name)) return &nic_models[i];
  return NULL;
}

static int register_nic(struct nic* nic) {
  char name[IB_DEVICE_NAME_MAX];
  int same = 0, error = 0, i;

  for (i = 0; i < nic_count; i++) same += !strcmp(nics[i]->model->name, nic->model->name);
  if (same == 0)
    strscpy(name, nic->model->name, sizeof(name));
  else
    snprintf(name, sizeof(name), "%s_%d", nic->model->name, same);

  nic->ib.node_type = nic->model->transport == NIC_IWARP         ? RDMA_NODE_RNIC
                      : nic->model->transport == NIC_UNSPECIFIED ? RDMA_NODE_UNSPECIFIED
                                                                 : RDMA_NODE_IB_CA;
  nic->ib.phys_port_cnt = 1;
  nic->ib.num_comp_vectors = 4;
  nic->ib.dev.parent = nic->parent;
  nic->ib.node_guid = cpu_to_be64(ether_addr_to_u64(nic->ethernet->dev_addr));
  ib_set_device_ops(&nic->ib, nic->vendor->ops);
  if (nic->vendor->xrc_ops && nic_cap(nic, NIC_CAP_DEVICE_CAP_FLAGS) & IB_DEVICE_XRC)
    ib_set_device_ops(&nic->ib, nic->vendor->xrc_ops);
  if (nic->vendor->mw_ops && nic_cap(nic, NIC_CAP_MAX_MW)) ib_set_device_ops(&nic->ib, nic->vendor->mw_ops);
  if (nic->vendor->roce_ops && nic_is_roce(nic)) ib_set_device_ops(&nic->ib, nic->vendor->roce_ops);
  ib_set_device_ops(&nic->ib, &nic_base_ops);
  nic->ib.driver_def = nic->vendor->objects;
  if (nic->model->link_layer == NIC_ETHERNET) error = ib_device_set_netdev(&nic->ib, nic->ethernet, 1);
  if (!error) error = ib_register_device(&nic->ib, name, NULL);
  if (error) ib_device_set_netdev(&nic->ib, NULL, 1);
  return error;
}

static int add_nic(const char* name) {
  const struct nic_model* model = model_named(name);
  const struct nic_vendor* vendor = model ? vendor_named(model->driver) : NULL;
  struct nic* nic;
  int error, i;

  if (!model || !vendor) {
    pr_err("nicshell: there is no %s '%s'\n", model ? "shell for the driver of" : "model", name);
    return -EINVAL;
  }
  if (nic_count == MOST_NICS) return -ENOSPC;
  nic = ib_alloc_device(nic, ib);
  if (!nic) return -ENOMEM;
  nic->model = model;
  ida_init(&nic->keys);
  for (i = 0; i < NIC_KINDS; i++) ida_init(&nic->numbers[i]);
  nic->vendor = vendor;
  error = nic_add_ethernet(nic);
  if (error) goto no_ethernet;
  error = nic_add_parent(nic);
  if (error) goto no_parent;
  error = nic_start_clock(nic);
  if (error) goto no_clock;
  error = register_nic(nic);
  if (error) goto not_registered;
  nics[nic_count++] = nic;
  pr_info("nicshell: %s is %s of %s\n", dev_name(&nic->ib.dev), name, vendor->driver);
  return 0;

not_registered:
  nic_stop_clock(nic);
no_clock:
  nic_remove_parent(nic);
no_parent:
  nic_remove_ethernet(nic);
no_ethernet:
  ib_dealloc_device(&nic->ib);
  return error;
}

static void remove_nics(void) {
  while (nic_count > 0) {
    struct nic* nic = nics[--nic_count];

    ib_unregister_device(&nic->ib);
    nic_stop_clock(nic);
    nic_remove_parent(nic);
    nic_remove_ethernet(nic);
    ib_dealloc_device(&nic->ib);
  }
}

static int __init start(void) {
  char *names, *rest, *name;
  int error;

  error = nic_start_record();
  if (error) return error;
  rest = names = kstrdup(devices, GFP_KERNEL);
  if (!names) error = -ENOMEM;
  while (!error && (name = strsep(&rest, "+")))
    if (*name) error = add_nic(name);
  kfree(names);
  if (!error) return 0;
  remove_nics();
  nic_stop_record();
  return error;
}

static void __exit stop(void) {
  remove_nics();
  nic_stop_record();
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("control path of RDMA NICs, for the vendors' user-space drivers to run on");
