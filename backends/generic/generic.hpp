// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "backends/generic/generic_backend.hpp"

namespace verbena::generic {

/// Serves every driver that no other backend names.
const Backend& backend() noexcept;

}  // namespace verbena::generic
