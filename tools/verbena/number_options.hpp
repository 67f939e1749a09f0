// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace cli {

/// What an option's value has to be: every option with a number has one of these.
CLI::Validator whole_number(std::uint64_t min, std::uint64_t max);
CLI::Validator fraction(double min, double max);

}  // namespace cli
