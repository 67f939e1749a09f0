// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>

#include "verbena/contract.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace verbena::fitting {

/// Refuses opcodes that were named and that the type does not know (invalid_request) or the device lacks (unsupported).
/// A request that names none may use whatever the device has.
std::optional<Error> check_send_ops(const QpRequest& request, const Contract& contract);

}  // namespace verbena::fitting
