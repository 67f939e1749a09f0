// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/joint.hpp"

namespace verbena {

/// The ring of any vendor who cuts it into units of one size; all numbers come from the table.
extern const JointFormula kWqeUnits;

}  // namespace verbena
