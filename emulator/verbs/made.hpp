// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cerrno>

#include "nic/creation.hpp"
#include "nic/nic.hpp"
#include "verbena/verbs.hpp"

namespace verbena::emulator {

/// Of what is no device's.
template <class T>
Made<T> refused(int error) {
  return {nullptr, error, false};
}

template <class T>
Made<T> refused(const Nic& nic, int error) {
  if (nic.profile().fault(Fault::errno_left_alone) != nullptr) return {nullptr, EINVAL, true};
  return {nullptr, error, false};
}

/// As the model refuses it: with an errno, or leaving that alone. `otherwise` where the model names none.
template <class T>
Made<T> refused_so(const Nic& nic, int error, int otherwise = EINVAL) {
  if (error == kErrnoLeftAlone) return {nullptr, EINVAL, true};
  return refused<T>(nic, error != 0 ? error : otherwise);
}

/// What the device hasn't.
template <class T>
Made<T> lacking(const Nic& nic) {
  return refused<T>(nic, nic.profile().unsupported());
}

}  // namespace verbena::emulator
