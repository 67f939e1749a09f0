// SPDX-License-Identifier: Apache-2.0 OR MIT
// expected: use of deleted function|implicitly.deleted|call to implicitly-deleted copy constructor
#include <utility>

#include "verbena/library.hpp"

#ifdef ALLOWED
verbena::Library take(verbena::Library& library) {
  return std::move(library);
}
#else
verbena::Library take(verbena::Library& library) {
  return library;
}
#endif
