// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verbena/result.hpp"
#include "verbena/verbs.hpp"

namespace cli {

/// The name of the device that a model's emulated NIC is: a model without its variant.
std::string device_name(const std::string& model);

/// A host with an emulated NIC of each of these models; this one's own devices where there are none. Errors: an unknown
/// model or fault, with the nearest; unsupported where this build has no emulated NICs. `faults` are switched on in
/// each. With `loss`, from 0 to 0.999, packets go as bytes, each lost with that chance; else whole messages go at once.
verbena::Result<std::shared_ptr<verbena::Verbs>> verbs_for(const std::vector<std::string>& models,
                                                           const std::vector<std::string>& faults = {},
                                                           std::optional<double> loss = std::nullopt);
/// Why these name no fault; empty where all do.
std::string wrong_faults(const std::vector<std::string>& faults);

}  // namespace cli
