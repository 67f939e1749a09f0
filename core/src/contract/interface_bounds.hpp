// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "verbena/fields.hpp"

namespace verbena {

/// What the verbs interface itself can carry of a field: no device and no rule can have more passed.
struct InterfaceBound {
  Field field;
  std::uint64_t max;
  bool bounds;  ///< the field's values end there by definition; else only its type does, and the device's bound is
                ///< unknown
  std::string_view source;
};

const InterfaceBound& interface_bound(Field field) noexcept;

}  // namespace verbena
