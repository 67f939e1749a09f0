// SPDX-License-Identifier: GPL-2.0-only
// What a NIC hangs on: a parent that shows a PCI function's identity in sysfs, and an Ethernet interface that drops
// what it is given, from which the core makes the GIDs.
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>

#include "nicshell.h"

static const struct nic_model* model_of(struct device* device) {
  return ((struct nic*)dev_get_drvdata(device))->model;
}

static ssize_t vendor_show(struct device* device, struct device_attribute* attribute, char* text) {
  return sysfs_emit(text, "0x%04x\n", model_of(device)->pci_vendor);
}
static DEVICE_ATTR_RO(vendor);

static ssize_t device_show(struct device* device, struct device_attribute* attribute, char* text) {
  return sysfs_emit(text, "0x%04x\n", model_of(device)->part_id);
}
static DEVICE_ATTR_RO(device);

static ssize_t revision_show(struct device* device, struct device_attribute* attribute, char* text) {
  return sysfs_emit(text, "0x%02llx\n", model_of(device)->pci_revision.value);
}
static DEVICE_ATTR_RO(revision);

static ssize_t modalias_show(struct device* device, struct device_attribute* attribute, char* text) {
  return sysfs_emit(text, "pci:v%08Xd%08Xsv00000000sd00000000bc02sc00i00\n", model_of(device)->pci_vendor,
                    model_of(device)->part_id);
}
static DEVICE_ATTR_RO(modalias);

static struct attribute* pci_attributes[] = {&dev_attr_vendor.attr, &dev_attr_device.attr, &dev_attr_revision.attr,
                                             &dev_attr_modalias.attr, NULL};

// A revision that no source gives is not shown, rather than made up.
static umode_t pci_attribute_mode(struct kobject* object, struct attribute* attribute, int index) {
  if (attribute == &dev_attr_revision.attr && !model_of(kobj_to_dev(object))->pci_revision.known) return 0;
  return attribute->mode;
}

static const struct attribute_group pci_group = {.attrs = pci_attributes, .is_visible = pci_attribute_mode};

// A device has the link `driver` to the one that is bound to it. Nothing is bound to this one, so the link leads to an
// empty folder of that name.
static int add_driver_link(struct nic* nic) {
  nic->parent_driver = kobject_create_and_add(nic->vendor->parent_driver, &nic->parent->kobj);
  if (!nic->parent_driver) return -ENOMEM;
  return sysfs_create_link(&nic->parent->kobj, nic->parent_driver, "driver");
}

int nic_add_parent(struct nic* nic) {
  char name[64];
  int error;

  snprintf(name, sizeof(name), "nicshell-%s-%d", nic->model->name, nic->ethernet->ifindex);
  nic->parent = root_device_register(name);
  if (IS_ERR(nic->parent)) return PTR_ERR(nic->parent);
  dev_set_drvdata(nic->parent, nic);
  error = sysfs_create_group(&nic->parent->kobj, &pci_group);
  if (!error) error = add_driver_link(nic);
  if (error) nic_remove_parent(nic);
  return error;
}

void nic_remove_parent(struct nic* nic) {
  sysfs_remove_link(&nic->parent->kobj, "driver");
  kobject_put(nic->parent_driver);
  sysfs_remove_group(&nic->parent->kobj, &pci_group);
  root_device_unregister(nic->parent);
}

static netdev_tx_t drop(struct sk_buff* packet, struct net_device* device) {
  dev_kfree_skb(packet);
  return NETDEV_TX_OK;
}

static const struct net_device_ops ethernet_ops = {.ndo_start_xmit = drop, .ndo_set_mac_address = eth_mac_addr};

static void setup_ethernet(struct net_device* device) {
  ether_setup(device);
  device->netdev_ops = &ethernet_ops;
  device->flags |= IFF_NOARP; /* every neighbour is known at once: there is none */
  device->max_mtu = 9000;
  eth_hw_addr_random(device);
}

int nic_add_ethernet(struct nic* nic) {
  int error;

  nic->ethernet = alloc_netdev(0, "nicshell%d", NET_NAME_UNKNOWN, setup_ethernet);
  if (!nic->ethernet) return -ENOMEM;
  error = register_netdev(nic->ethernet);
  if (error) {
    free_netdev(nic->ethernet);
    return error;
  }
  rtnl_lock();
  error = dev_open(nic->ethernet, NULL);
  rtnl_unlock();
  if (error) nic_remove_ethernet(nic);
  return error;
}

void nic_remove_ethernet(struct nic* nic) {
  unregister_netdev(nic->ethernet);
  free_netdev(nic->ethernet);
}
