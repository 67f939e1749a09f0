// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <infiniband/verbs.h>

namespace agreement {

/// ibv_post_send through the work request builder (ibv_wr_start, ibv_wr_send, ..., ibv_wr_complete), for a QP that was
/// made with its operations named: SEND with or without immediate, by SGEs or inline. The whole list goes between one
/// start and one complete; when that is refused, which takes none of it, its requests are tried one by one. Returns 0,
/// or the errno of the refusal with `bad` at the request that was refused.
int post_send_built(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);

}  // namespace agreement
