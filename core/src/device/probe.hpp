// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "device/host_facts.hpp"
#include "verbena/caps.hpp"
#include "verbena/device_id.hpp"
#include "verbena/result.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// What one probe found out: immutable, shared by every open of the same registered device.
struct Probed {
  DeviceId id;
  Caps caps;
};

/// Asks the device what it can do: ibv_query_device_ex (or ibv_query_device where the first is unsupported), every
/// port, the populated GIDs. Creates nothing. Completes the identity with what only an open device tells.
Result<Caps> probe_caps(Verbs& verbs, ibv_context* context, DeviceId& id);

/// The counts that some devices report as what is left (max_qp, max_cq, max_mr, max_pd, ...), asked anew into `caps`.
/// Returns 0 or a positive errno.
int refresh_counts(Verbs& verbs, ibv_context* context, Caps& caps);

}  // namespace verbena
