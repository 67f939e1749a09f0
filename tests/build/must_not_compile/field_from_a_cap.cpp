// SPDX-License-Identifier: Apache-2.0 OR MIT
// expected: cannot convert .*Cap. to .*Field|cannot initialize .*Field. with .*Cap
#include "verbena/caps.hpp"
#include "verbena/fields.hpp"

#ifdef ALLOWED
verbena::Field field() {
  return verbena::Field::cqe;
}
#else
verbena::Field field() {
  return verbena::Cap::max_cqe;
}
#endif
