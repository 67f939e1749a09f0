// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "engine/transport/conduct.hpp"
#include "nic/profile.hpp"

namespace verbena::emulator {

/// Where the transport of such a NIC departs from the specification: by the model's behaviours, by its deviations, and
/// by the switches that are on.
engine::transport::Conduct conduct_of(const Profile& profile);

}  // namespace verbena::emulator
