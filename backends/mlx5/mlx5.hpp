// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "backends/generic/generic_backend.hpp"

namespace verbena::mlx5 {

const Backend& backend() noexcept;

}  // namespace verbena::mlx5
