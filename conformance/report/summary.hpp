// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "run.hpp"

namespace conform {

/// A run as text that fits a screen of 24 lines and 80 columns: who was asked, red or not and why, how many of which
/// verdict on each side. Longer lines and lists are cut, and say so.
std::string run_to_summary(const Run& run, std::size_t columns = 80);

}  // namespace conform
