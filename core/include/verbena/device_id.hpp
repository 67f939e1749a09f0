// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace verbena {

enum class Transport : std::uint8_t { unknown, infiniband, roce_v2, iwarp, unspecified };
enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet };
enum class Function : std::uint8_t { unknown, pf, vf, sf };
/// How the driver's name was found, surest first.
enum class DriverFoundBy : std::uint8_t { netlink, sysfs_driver_link, provider_library, model, unknown };

std::string_view name(Transport value) noexcept;      ///< table words: infiniband, roce2, iwarp, unspecified
std::string_view name(LinkLayer value) noexcept;
std::string_view name(Function value) noexcept;
std::string_view name(DriverFoundBy value) noexcept;
std::optional<Transport> find_transport(std::string_view name) noexcept;
std::optional<LinkLayer> find_link_layer(std::string_view name) noexcept;
std::optional<Function> find_function(std::string_view name) noexcept;

struct PortId {
  std::uint8_t number = 1;
  Transport transport = Transport::unknown;
  LinkLayer link_layer = LinkLayer::unknown;
  std::string netdev;  ///< empty where there is none (EFA has none)

  friend bool operator==(const PortId&, const PortId&) = default;
};

/// Who a device is. Rules match on this; neither verbs' vendor_id (an OEM's) nor the device's name (udev's) is a key.
struct DeviceId {
  std::string name;                    ///< for people and logs only: `mlx5_0`
  std::string model;                   ///< set for a model file: `e810-roce`; empty on a real device
  std::string driver;                  ///< rules' first key: mlx5, irdma, hns, rxe, siw, ...
  DriverFoundBy driver_found_by = DriverFoundBy::unknown;
  std::uint64_t node_guid = 0;         ///< host byte order
  std::optional<std::uint32_t> index;  ///< the kernel's ibdev index, from 0: new at each registration

  std::optional<std::uint32_t> pci_vendor;           ///< sysfs, not verbs
  std::optional<std::uint32_t> part_id;              ///< PCI device id
  std::optional<std::uint32_t> pci_revision;
  std::optional<std::uint32_t> subsystem_vendor;
  std::optional<std::uint32_t> subsystem_device;
  std::optional<std::uint32_t> verbs_vendor_id;      ///< shown, never matched
  std::optional<std::uint32_t> verbs_part_id;        ///< stands in for part_id where there is no PCI parent
  std::optional<std::uint32_t> hw_ver;
  std::string board_id;                              ///< PSID or board id
  std::string firmware;

  std::string kernel;                                ///< release, `6.12.117+deb12-amd64`
  std::string module_version;                        ///< the loaded module's own version, empty when it has none
  std::optional<bool> out_of_tree;                   ///< the module taints the kernel as out of tree
  std::string rdma_core;                             ///< libibverbs package version or symbol level, `44.0`
  std::optional<std::uint32_t> uverbs_abi;
  std::string provider;                              ///< path of the provider library that was loaded
  std::string arch;                                  ///< uname machine
  std::string hypervisor;                            ///< empty on bare metal or when unknown
  std::optional<std::uint32_t> page_size;            ///< kernel page size, bytes

  Function function = Function::unknown;
  std::optional<bool> bond;
  std::vector<PortId> ports;

  const PortId* port(std::uint8_t number) const noexcept;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// `irdma 0x1592 rev 0x02 (E810...) fw 1.74 kernel 6.12`: one line for logs and reports.
std::string to_string(const DeviceId& id);

}  // namespace verbena
#pragma GCC visibility pop
