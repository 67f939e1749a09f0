// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace cli {

/// An error about what the command line says of `field`.
verbena::Error bad_argument(std::string_view field, std::string text);

/// A whole number from 0 to `max`; the error says whether it is negative, too large or no number.
verbena::Result<std::uint64_t> read_number(std::string_view field, std::string_view text, std::uint64_t max);

/// `N`, or `A..B`: floor and wish.
verbena::Result<verbena::Wish> read_wish(std::string_view field, std::string_view text);

/// Bytes with a unit: `4096`, `64KiB`, `1G`; K, M, G and T are powers of 1024.
verbena::Result<std::uint64_t> read_bytes(std::string_view field, std::string_view text);

}  // namespace cli
