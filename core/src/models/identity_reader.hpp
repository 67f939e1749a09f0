// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "quirks/rule_reader.hpp"
#include "verbena/caps.hpp"
#include "verbena/device_id.hpp"
#include "yaml/tree.hpp"

namespace verbena::models {

/// `identity:` of a model, over what is there already; `unknown` clears a value.
void read_identity(const yaml::Node& node, DeviceId& device, quirks::Reporter& report);

/// `ports:` of a model, merged by number: identity of the port and its caps.
void read_ports(const yaml::Node& node, DeviceId& device, Caps& caps, quirks::Reporter& report);

}  // namespace verbena::models
