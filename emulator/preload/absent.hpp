// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <infiniband/verbs.h>

namespace verbena::preload {

/// Verbs that inline functions look up in a context and that emulated NICs don't have: each says so once, and refuses
/// with EOPNOTSUPP.
void fill_absent(ibv_context& context) noexcept;

}  // namespace verbena::preload
