// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "verbena/contract.hpp"
#include "verbena/result.hpp"

namespace verbena {

/// The error of something that the contract says the device lacks. Not counted.
Error lacking(const Contract& contract, Feature feature, std::string text);

}  // namespace verbena
