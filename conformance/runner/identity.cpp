// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/identity.hpp"

#include <fmt/format.h>

namespace conform {

Identity identity_of(const verbena::DeviceId& device, std::uint8_t port) {
  Identity out;
  out.name = device.name;
  out.driver = device.driver;
  if (device.pci_vendor && device.part_id) out.part = fmt::format("{:04x}:{:04x}", *device.pci_vendor, *device.part_id);
  out.firmware = device.firmware;
  out.kernel = device.kernel;
  out.library = device.rdma_core;
  if (const verbena::PortId* found = device.port(port)) out.transport = name(found->transport);
  out.node_guid = fmt::format("{:016x}", device.node_guid);
  if (!device.model.empty()) out.model = device.model;
  return out;
}

}  // namespace conform
