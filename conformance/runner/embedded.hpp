// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string_view>

namespace conform::embedded {

/// A file of conformance/ as it was when this was built.
struct EmbeddedTable {
  std::string_view name;  ///< without its folder: `cq.yaml`
  std::string_view text;
};

// By name.
std::span<const EmbeddedTable> requirement_tables() noexcept;  ///< requirements.yaml
std::span<const EmbeddedTable> case_tables() noexcept;         ///< cases/*.yaml
std::span<const EmbeddedTable> expectation_tables() noexcept;  ///< expectations/*.yaml

}  // namespace conform::embedded
