// SPDX-License-Identifier: Apache-2.0 OR MIT
// A fit that nobody looks at is a refusal that nobody hears of.
// expected: nodiscard
#include "verbena/fit.hpp"

void drop(const verbena::QpRequest& request, const verbena::Contract& contract) {
#ifdef ALLOWED
  static_cast<void>(verbena::fit(request, contract));
#else
  verbena::fit(request, contract);
#endif
}
