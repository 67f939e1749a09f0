// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "number_options.hpp"

#include <fmt/format.h>

#include "numbers.hpp"

namespace cli {

using verbena::Result;

CLI::Validator whole_number(std::uint64_t min, std::uint64_t max) {
  return {[min, max](std::string& text) {
            const Result<std::uint64_t> number = read_number("", text, max, min);
            return number ? std::string() : number.error().text;
          },
          fmt::format("{}..{}", min, max)};
}

CLI::Validator fraction(double min, double max) {
  return {[min, max](std::string& text) {
            const Result<double> number = read_fraction("", text, min, max);
            return number ? std::string() : number.error().text;
          },
          fmt::format("{}..{}", min, max)};
}

}  // namespace cli
