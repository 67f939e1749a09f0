// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>

#include <infiniband/verbs.h>

#include "engine/transport/queue_pair.hpp"
#include "nic/profile.hpp"

namespace verbena::emulator {

/// What a driver of iWARP makes of ibv_modify_qp, where that is not what others do: its queue pairs reach RTS by their
/// connection alone, RTR is no state of theirs, and it looks at few attributes. The result of the call where it is done
/// with that; else `mask` and `attr` are as others want them.
/// Source: linux drivers/infiniband/sw/siw/siw_verbs.c siw_verbs_modify_qp, siw_qp.c siw_qp_nextstate_from_idle.
std::optional<int> moved_offloaded(const Profile& profile, engine::transport::QueuePair& qp, ibv_qp_attr& attr,
                                   int& mask) noexcept;

}  // namespace verbena::emulator
