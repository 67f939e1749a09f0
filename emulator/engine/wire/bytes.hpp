// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace verbena::engine::wire {

/// The same bytes the other way round; compilers make one instruction of it.
template <std::unsigned_integral Number>
constexpr Number reversed(Number number) noexcept {
  if constexpr (sizeof(Number) == 8) return __builtin_bswap64(number);
  if constexpr (sizeof(Number) == 4) return __builtin_bswap32(number);
  if constexpr (sizeof(Number) == 2) return __builtin_bswap16(number);
  return number;
}

template <std::unsigned_integral Number>
constexpr Number network_order(Number number) noexcept {
  return std::endian::native == std::endian::big ? number : reversed(number);
}

/// The number that lies at `from`, most significant byte first, on whatever host and at whatever alignment.
template <std::unsigned_integral Number>
constexpr Number load(const std::byte* from) noexcept {
  if (std::is_constant_evaluated()) {
    std::uint64_t number = 0;
    for (std::size_t index = 0; index < sizeof(Number); ++index) {
      number = (number << 8) | std::to_integer<std::uint64_t>(from[index]);
    }
    return static_cast<Number>(number);
  }
  Number number;
  std::memcpy(&number, from, sizeof number);
  return network_order(number);
}

/// Writes sizeof(Number) bytes at `to`, most significant first.
template <std::unsigned_integral Number>
constexpr void store(std::byte* to, Number number) noexcept {
  if (std::is_constant_evaluated()) {
    for (std::size_t index = 0; index < sizeof(Number); ++index) {
      to[index] = static_cast<std::byte>(number >> (8 * (sizeof(Number) - 1 - index)));
    }
    return;
  }
  number = network_order(number);
  std::memcpy(to, &number, sizeof number);
}

}  // namespace verbena::engine::wire
