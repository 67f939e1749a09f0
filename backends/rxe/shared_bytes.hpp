// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/joint.hpp"

namespace verbena::rxe {

/// SGEs and inline bytes of a send WQE share the same bytes.
extern const JointFormula kSharedBytes;

}  // namespace verbena::rxe
