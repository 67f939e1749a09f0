// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "contract/contract_builder.hpp"
#include "verbena/contract.hpp"

namespace verbena {

/// A contract that says these things and nothing else; its one port speaks that transport.
inline Contract contract_with(std::initializer_list<std::pair<Behaviour, Choice>> behaviours,
                              std::initializer_list<std::pair<Field, std::uint64_t>> limits = {},
                              std::initializer_list<std::pair<Feature, Support>> features = {},
                              Transport transport = Transport::roce_v2,
                              std::initializer_list<std::pair<Field, std::uint64_t>> minima = {}) {
  DeviceId device;
  device.driver = "test";
  device.ports.push_back({.number = 1, .transport = transport, .link_layer = LinkLayer::ethernet, .netdev = "test0"});
  Caps caps;
  caps.ports.emplace_back();
  ContractBuilder builder(device, caps, 1, true);
  const ProvenanceIndex rule = builder.add(
      {.set_by = SetBy::rule, .rule = "test-rule", .reason = "because the test says so", .source = "the test"});
  for (const auto& [flag, choice] : behaviours) builder.behaviour(flag, choice, rule);
  for (const auto& [field, max] : limits) builder.at_most(field, max, rule);
  for (const auto& [field, min] : minima) builder.at_least(field, min, rule);
  for (const auto& [feature, support] : features) builder.feature(feature, support, false, rule);
  return std::move(builder).build(0);
}

}  // namespace verbena
