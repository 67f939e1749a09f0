// SPDX-License-Identifier: Apache-2.0 OR MIT
// Arithmetic on rings that cannot overflow: it saturates, so that an absurd wish gives an absurd size and no small one.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "verbena/joint.hpp"

namespace verbena::ring {

inline constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t add(std::uint64_t left, std::uint64_t right) noexcept {
  return left > kTop - right ? kTop : left + right;
}
constexpr std::uint64_t multiply(std::uint64_t left, std::uint64_t right) noexcept {
  return right != 0 && left > kTop / right ? kTop : left * right;
}
constexpr std::uint64_t align(std::uint64_t value, std::uint64_t to) noexcept {
  const std::uint64_t up = add(value, to - 1);
  return up - up % to;
}
constexpr std::uint64_t power_of_two(std::uint64_t value) noexcept {
  return value > (kTop >> 1U) + 1 ? kTop : std::bit_ceil(value);
}
/// A parameter as a size; tables cannot make one negative, and a hand-built contract that does gets 0.
constexpr std::uint64_t param(const JointParams& params, std::size_t index) noexcept {
  return params[index] < 0 ? 0 : static_cast<std::uint64_t>(params[index]);
}

}  // namespace verbena::ring
