// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "quirks/version.hpp"

namespace verbena::quirks {

/// How one driver's devices write the version of their firmware.
struct FirmwareScheme {
  std::string_view driver;
  std::size_t numbers = 0;    ///< exactly so many, with dots between; 0: a software device, which has no firmware
  std::string_view behind{};  ///< what may follow them begins with one of these characters
};

/// Null for a driver that nobody has looked at.
const FirmwareScheme* firmware_scheme(std::string_view driver) noexcept;

/// Empty where the text is not what that driver writes, all zero (not filled), or has no place for a version at all:
/// such a firmware is unknown, and lies within no bound. A driver without a scheme is read when its text is numbers and
/// dots alone.
std::optional<Version> read_firmware(std::string_view driver, std::string_view text);

}  // namespace verbena::quirks
