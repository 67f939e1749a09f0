// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string_view>

#include "quirks/rule_reader.hpp"
#include "yaml/tree.hpp"

namespace verbena::models {

/// Checks `creation:` of a model or a variant: keys, words, errnos and formulas as docs/models.md has them. Its meaning
/// is the emulated NIC's part.
void check_creation(const yaml::Node& node, quirks::Reporter& report);

/// A key under `creation:` with the part that it stands in; `queue` is qp.send and qp.recv. For the test that holds the
/// JSON schema against this reader.
struct CreationKey {
  std::string_view part, key;
};
std::span<const CreationKey> creation_keys() noexcept;

}  // namespace verbena::models
