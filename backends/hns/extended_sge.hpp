// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/joint.hpp"

namespace verbena::hns {

/// SGEs beyond the two of a WQE, and on HIP09 longer inline data, lie in an area of their own beside the ring.
extern const JointFormula kExtendedSge;

}  // namespace verbena::hns
