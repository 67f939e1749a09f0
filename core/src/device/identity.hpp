// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "device/host_facts.hpp"
#include "verbena/device_id.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// What sysfs and netlink tell of a registered device, whether or not it can be opened. `index` is empty where
/// libibverbs does not list the device; netlink is then asked for it.
DeviceId identify(Verbs& verbs, const HostFacts& host, std::string_view name, std::optional<std::uint32_t> index,
                  std::uint64_t node_guid);

/// What only an open device tells: the provider's library, and with it the driver where nothing else told it.
void identify_opened(Verbs& verbs, ibv_context* context, DeviceId& id);

}  // namespace verbena
