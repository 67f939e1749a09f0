// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string_view>

namespace verbena::builtin {

/// A file of the source tree as it was when the library was built. Both views live as long as the library.
struct EmbeddedTable {
  std::string_view name;  ///< file name without folder: `irdma.yaml`
  std::string_view text;
};

/// quirks/*.yaml in name order; empty when there is none.
std::span<const EmbeddedTable> quirk_tables() noexcept;
/// models/*.yaml in name order; empty when there is none.
std::span<const EmbeddedTable> models() noexcept;
/// conformance/cases/*.yaml in name order: the cases that a rule's `proof` may name; empty when there is none.
std::span<const EmbeddedTable> conformance_tables() noexcept;

}  // namespace verbena::builtin
