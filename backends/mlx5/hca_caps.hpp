// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/caps.hpp"
#include "verbena/verbs.hpp"

namespace verbena::mlx5 {

/// Asks the firmware, through DevX, for what verbs does not tell: the 64-byte blocks of the largest send queue
/// (max_send_wqebb) and the bytes of the largest WQEs (max_sq_desc_bytes, max_rq_desc_bytes), from which libmlx5 works
/// out its ring limits. Returns 0, or why nothing was learnt, which leaves the caps alone: ENOSYS where libmlx5 is not
/// loaded here, EOPNOTSUPP and others where firmware or the kernel serves no DevX, EPROTO where the answer makes no
/// sense.
int probe_hca_caps(Verbs& verbs, ibv_context* context, Caps& caps);

}  // namespace verbena::mlx5
