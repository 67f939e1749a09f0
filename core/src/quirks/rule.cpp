// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/rule.hpp"

#include <algorithm>

namespace verbena::quirks {
namespace {

constexpr std::array<std::string_view, kMatchKeys> kNames{
    "driver",      "transport",    "link_layer",       "function",
    "arch",        "hypervisor",   "board_id",         "pci_vendor",
    "part_id",     "pci_revision", "subsystem_vendor", "subsystem_device",
    "hw_ver",      "uverbs_abi",   "page_size",        "bond",
    "out_of_tree", "kernel",       "firmware",         "module_version",
    "rdma_core"};

}  // namespace

std::string_view name(MatchKey key) noexcept {
  return kNames[static_cast<std::size_t>(key)];
}

std::optional<MatchKey> find_match_key(std::string_view name) noexcept {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<MatchKey>(found - kNames.begin());
}

std::span<const std::string_view> match_key_names() noexcept {
  return kNames;
}

const Condition* Rule::condition(MatchKey key) const noexcept {
  const auto found =
      std::find_if(match.begin(), match.end(), [&](const Condition& condition) { return condition.key == key; });
  return found == match.end() ? nullptr : &*found;
}

}  // namespace verbena::quirks
