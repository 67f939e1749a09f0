// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/lost.hpp"

#include <string_view>

#include <fmt/format.h>

namespace verbena {
namespace {

bool there(Support support) noexcept {
  return support == Support::native || support == Support::substituted;
}

/// Counts of objects, and identities, differ from one hour to the next.
bool lasting(Object object) noexcept {
  return object != Object::device && object != Object::port;
}

}  // namespace

std::vector<Lost> lost_since(const Contract& before, const Contract& now) {
  std::vector<Lost> lost;
  for (const FeatureInfo& info : all_features()) {
    const FeatureState& state = now.feature(info.feature);
    if (!there(before.feature(info.feature).support) || state.support != Support::absent) continue;
    lost.push_back({.what = std::string(info.name), .by = now.provenance(state.by)});
  }
  for (const FieldInfo& info : all_fields()) {
    const Domain& had = before.domain(info.field);
    const Domain& has = now.domain(info.field);
    if (!lasting(info.object) || !had.known || !has.known || has.largest_grant() >= had.largest_grant()) continue;
    lost.push_back({.what = std::string(info.name),
                    .before = had.largest_grant(),
                    .now = has.largest_grant(),
                    .by = now.provenance(has.max_by)});
  }
  return lost;
}

std::string to_string(const std::vector<Lost>& lost, const DeviceId& before, const DeviceId& now) {
  if (lost.empty()) return {};
  std::string text = "capability lost since the last start: ";
  for (const Lost& item : lost) {
    if (&item != &lost.front()) text += ", ";
    text += item.what;
    if (item.before && item.now) text += fmt::format(" {} -> {}", *item.before, *item.now);
  }
  std::string versions;
  const auto compare = [&](std::string_view what, const std::string& then, const std::string& at_present) {
    if (then == at_present) return;
    versions += fmt::format("{}{} {} -> {}", versions.empty() ? "" : ", ", what, then.empty() ? "unknown" : then,
                            at_present.empty() ? "unknown" : at_present);
  };
  compare("kernel", before.kernel, now.kernel);
  compare("firmware", before.firmware, now.firmware);
  compare("module", before.module_version, now.module_version);
  compare("rdma-core", before.rdma_core, now.rdma_core);
  return versions.empty() ? text : fmt::format("{} ({})", text, versions);
}

}  // namespace verbena
