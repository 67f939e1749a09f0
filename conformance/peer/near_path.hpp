// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <infiniband/verbs.h>

#include "peer/line.hpp"

namespace conform::peer::near_path {

// The functions of a near context, queue pair or completion queue that are put before the driver's own: post and poll
// alone. What is asked of the driver, and what it answers, stays as it is.

/// From here on; null: no more.
void use(Line* line);
void enter(ibv_context* context);
void leave(ibv_context* context);
void enter(ibv_qp_ex* qp);
void leave(ibv_qp_ex* qp);
void enter(ibv_cq_ex* cq);
void leave(ibv_cq_ex* cq);
/// The driver's own function in the place of one of these; else the code itself.
const void* driver_code(const void* code);

}  // namespace conform::peer::near_path
