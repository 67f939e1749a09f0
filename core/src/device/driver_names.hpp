// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace verbena {

/// How one RDMA driver is called in the places where it leaves its name.
struct DriverNames {
  std::string_view driver;                       ///< as rules and libibverbs' providers call it
  std::optional<std::uint32_t> netlink_id;       ///< enum rdma_driver_id
  std::string_view module;                       ///< /sys/module/NAME
  std::string_view parent_driver;                ///< driver of the PCI function, where another one owns that
  std::optional<std::uint32_t> oldest_abi, newest_abi;  ///< uverbs ABI versions that rdma-core's provider takes
  bool software = false;  ///< its sysfs parent is somebody else's card, or none
};

const DriverNames* driver_by_name(std::string_view driver) noexcept;
const DriverNames* driver_by_netlink_id(std::uint32_t id) noexcept;
/// By the name that sysfs' `driver` link ends in: the driver's own or that of the Ethernet driver beneath.
const DriverNames* driver_by_link(std::string_view link_name) noexcept;
/// `libmlx5.so.1.24.44.0` and `libmlx5-rdmav34.so` are mlx5; empty for another file's name.
std::string driver_of_provider(std::string_view path);

}  // namespace verbena
