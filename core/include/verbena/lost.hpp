// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verbena/contract.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Something that a device could do under an earlier contract and cannot, or can do less of, under a later one.
struct Lost {
  std::string what;                      ///< a feature's name, or verbs' name of a number
  std::optional<std::uint64_t> before{}; ///< the largest grant of a number then; empty for a feature
  std::optional<std::uint64_t> now{};    ///< and now
  Provenance by{};                       ///< who says so now

  friend bool operator==(const Lost&, const Lost&) = default;
};

/// What `now` lacks of `before`, features first: a feature that was native or substituted and is absent, and a number
/// of a queue pair, completion queue, SRQ, region or work request whose largest grant shrank. What nothing is known of
/// in either is no loss, and counts that shrink with use are not looked at. For a comparison with the last start: keep
/// write_model() of a device, and give the contract of parse_model() of that under the rules in force now.
std::vector<Lost> lost_since(const Contract& before, const Contract& now);

/// `capability lost since the last start: memory_window_1, cqe 4194303 -> 65535 (kernel 6.12.0 -> 6.18.0)`; empty when
/// nothing was lost. The versions that differ follow: kernel, firmware, module, rdma-core.
std::string to_string(const std::vector<Lost>& lost, const DeviceId& before, const DeviceId& now);

}  // namespace verbena
#pragma GCC visibility pop
