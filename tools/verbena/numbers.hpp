// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace cli {

/// An error about what the command line says of `field`.
verbena::Error bad_argument(std::string_view field, std::string text);

/// A whole number of digits alone, from `min` to `max`; the error says whether it is negative, too small, too large or
/// no number. A 0 in front is refused, since elsewhere it makes a number octal.
verbena::Result<std::uint64_t> read_number(std::string_view field, std::string_view text, std::uint64_t max,
                                           std::uint64_t min = 0);

/// A number that may have a fraction, from `min` to `max`: no infinity, and nothing that is no number.
verbena::Result<double> read_fraction(std::string_view field, std::string_view text, double min, double max);

/// `N`, or `A..B`: floor and wish.
verbena::Result<verbena::Wish> read_wish(std::string_view field, std::string_view text);

/// Bytes with a unit: `4096`, `64KiB`, `1G`; K, M, G and T are powers of 1024.
verbena::Result<std::uint64_t> read_bytes(std::string_view field, std::string_view text);

}  // namespace cli
