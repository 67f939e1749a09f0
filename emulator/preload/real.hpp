// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <dlfcn.h>

namespace verbena::preload {

/// The same call of the library behind this one: libibverbs' own, in its newest version. `name` is the function's.
template <auto Function, class... Arguments>
auto forward(const char* name, Arguments... arguments) {
  static const auto found = reinterpret_cast<decltype(Function)>(::dlsym(RTLD_NEXT, name));
  return found(arguments...);
}

}  // namespace verbena::preload
