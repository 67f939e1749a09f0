// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cerrno>

#include "nic/creation.hpp"
#include "verbena/verbs.hpp"

namespace verbena::emulator {

template <class T>
Made<T> refused(int error) {
  return {nullptr, error, false};
}

/// As the model refuses it: with an errno, or leaving that alone. `otherwise` where the model names none.
template <class T>
Made<T> refused_so(int error, int otherwise = EINVAL) {
  if (error == kErrnoLeftAlone) return {nullptr, EINVAL, true};
  return {nullptr, error != 0 ? error : otherwise, false};
}

}  // namespace verbena::emulator
