// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run.hpp"
#include "runner/run_body.hpp"

namespace conform {

/// What a worker is asked to do: one case in one column. It reads no list of its own.
struct Task {
  std::string id;
  std::string body;
  std::map<std::string, std::string> row;
  std::vector<std::string> covers;
  Side side = Side::raw;
  bool drop_capabilities = false;            ///< run without CAP_NET_RAW, CAP_IPC_LOCK and all others
  std::optional<std::uint64_t> memlock_bytes;  ///< a soft limit, and no CAP_IPC_LOCK

  friend bool operator==(const Task&, const Task&) = default;
};

/// One line each, without its newline. What cannot be read gives nothing.
std::string to_line(const Task& task);
std::optional<Task> task_from_line(std::string_view line);
std::string to_line(const Outcome& outcome);
std::optional<Outcome> outcome_from_line(std::string_view line);

/// The first line of a worker: it has opened the device and made a PD and a CQ on it; or why not.
std::string ready_line(const std::string& why_not);
/// Empty: the line is no such line.
std::optional<std::string> why_not_ready(std::string_view line);

}  // namespace conform
