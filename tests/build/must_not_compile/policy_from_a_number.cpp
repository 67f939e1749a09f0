// SPDX-License-Identifier: Apache-2.0 OR MIT
// expected: cannot convert .int. to .verbena::Policy|assigning to .*Policy. from incompatible type .int.
#include "verbena/request.hpp"

void ask(verbena::QpRequest& request) {
#ifdef ALLOWED
  request.policy = verbena::Policy::allow;
#else
  request.policy = 2;
#endif
}
