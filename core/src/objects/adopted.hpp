// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <fmt/format.h>

#include <optional>

#include "device/device_state.hpp"

namespace verbena {

/// Why a handle cannot be adopted; empty when it can.
template <class Handle>
std::optional<Error> not_adoptable(const Handle* handle, const Device::State& device, const char* object) {
  if (handle != nullptr && handle->context == device.context) return std::nullopt;
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.text = handle == nullptr ? fmt::format("a null {} cannot be adopted", object)
                                 : fmt::format("a {} of another context cannot be adopted into this one of {}", object,
                                               device.name());
  return error;
}

}  // namespace verbena
