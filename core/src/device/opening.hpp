// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "device/library_state.hpp"

namespace verbena {

/// Library::devices, open and adopt, for a library whose rules are loaded.
Result<std::vector<ListedDevice>> list_host(const std::shared_ptr<Library::State>& library);
Result<Device> open_device(const std::shared_ptr<Library::State>& library, std::string_view name);
Result<Device> adopt_context(const std::shared_ptr<Library::State>& library, ibv_context* context);

}  // namespace verbena
