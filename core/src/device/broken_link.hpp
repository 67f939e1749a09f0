// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "verbena/device_id.hpp"
#include "verbena/result.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// The first broken link on the way from the kernel's device to an open context, with what to do about it: driver,
/// /dev/infiniband node, right to it, ABI, provider library, port state. `text` is empty when none is found.
struct BrokenLink {
  ErrorKind kind = ErrorKind::no_device;
  int error = 0;
  std::string text;
};

/// `claimed`: libibverbs lists the device, so ABI and provider fit.
BrokenLink first_broken_link(Verbs& verbs, const DeviceId& id, bool claimed);

/// Ports that are not active, as a remark: a device with a port down opens well and connects to nothing. Empty when all
/// are active.
std::string port_state_remark(Verbs& verbs, const DeviceId& id);

/// Names of the kernel's RDMA devices, sorted.
std::vector<std::string> registered_devices(Verbs& verbs);

/// Why a host has no RDMA device at all.
std::string no_devices_text(Verbs& verbs);

}  // namespace verbena
