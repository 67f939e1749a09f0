// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quirks/layers.hpp"
#include "quirks/rule.hpp"

namespace verbena::quirks {

/// How a finding ends that keeps a layer out at a reload, where the layer's rules of before stay.
inline constexpr std::string_view kLastGoodStays = " (the layer's last good rules stay in force)";

/// Neither turned off nor in need of a table operation that this version lacks.
bool in_force(const Rule& rule) noexcept;

/// The number on a device of these caps; empty when the cap that it refers to is unknown. Never below 0.
std::optional<std::uint64_t> value_of(const Amount& amount, const Caps& caps);

class LoadedQuirks final : public QuirkSet {
public:
  LoadedQuirks(std::vector<Layer> layers, std::vector<Rule> rules);

  std::uint64_t hash() const noexcept override { return hash_; }
  std::span<const RuleSummary> rules() const noexcept override { return summaries_; }
  std::span<const LayerReport> layers() const noexcept override { return reports_; }
  Contract contract(const DeviceId& device, const Caps& caps, std::uint8_t port,
                    bool beyond_declared_allowed) const override;

  std::span<const Rule> rule_data() const noexcept { return rules_; }
  std::span<const Layer> layer_data() const noexcept { return layers_; }
  /// Indices of the rules that could match this driver, in id order.
  std::span<const std::uint32_t> candidates(std::string_view driver) const noexcept;

private:
  std::vector<Layer> layers_;
  std::vector<Rule> rules_;
  std::vector<RuleSummary> summaries_;
  std::vector<LayerReport> reports_;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> by_driver_;
  std::vector<std::uint32_t> any_driver_;
  std::uint64_t hash_ = 0;
};

}  // namespace verbena::quirks
