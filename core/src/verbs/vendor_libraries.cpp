// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/vendor_libraries.hpp"

#include <algorithm>

#include <dlfcn.h>

namespace verbena {

Loader Loader::loaded_already() noexcept {
  return {.open = [](const char* library) noexcept { return ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); },
          .find = [](void* library, const char* function) noexcept { return ::dlsym(library, function); }};
}

void* VendorLibraries::function(const char* library, const char* function) {
  const std::lock_guard lock(mutex_);
  auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& each) { return each.name == library; });
  if (open == open_.end()) {
    void* const handle = loader_.open(library);
    if (handle == nullptr) return nullptr;
    open = open_.insert(open_.end(), {library, handle, {}});
  }
  auto& functions = open->functions;
  const auto known =
      std::find_if(functions.begin(), functions.end(), [&](const Function& each) { return each.name == function; });
  if (known != functions.end()) return known->address;
  functions.push_back({function, loader_.find(open->handle, function)});
  return functions.back().address;
}

}  // namespace verbena
