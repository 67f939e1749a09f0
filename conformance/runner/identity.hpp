// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "report/run.hpp"
#include "verbena/device_id.hpp"

namespace conform {

/// What a report says of a device.
Identity identity_of(const verbena::DeviceId& device, std::uint8_t port);

}  // namespace conform
