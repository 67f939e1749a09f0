// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/joint.hpp"

namespace verbena::irdma {

/// A queue is a ring of 32-byte quanta, of which the driver hides some; a WQE takes 1, 2, 4 or 8.
extern const JointFormula kQuanta;

}  // namespace verbena::irdma
