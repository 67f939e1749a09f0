// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/memlock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace verbena {
namespace {

std::uint64_t kib_after(std::string_view status, std::string_view key) {
  const auto at = status.find(key);
  if (at == std::string_view::npos) return 0;
  status.remove_prefix(at + key.size());
  status.remove_prefix(std::min(status.find_first_of("0123456789"), status.size()));
  std::uint64_t kib = 0;
  std::from_chars(status.data(), status.data() + status.size(), kib);
  return kib << 10;
}

}  // namespace

LockedMemory locked_memory(Verbs& verbs) {
  std::string status;
  if (verbs.read_file("/proc/self/status", status) != 0) return {};
  return {kib_after(status, "VmLck:"), kib_after(status, "VmPin:")};
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t scale = 1;
  while (unit + 1 < kUnits.size() && bytes / scale >= 1024) {
    scale <<= 10;
    ++unit;
  }
  if (bytes % scale == 0) return fmt::format("{} {}", bytes / scale, kUnits[unit]);
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(scale), kUnits[unit]);
}

std::string explain_no_memory(Verbs& verbs, std::uint64_t need_bytes) {
  const MemlockLimit limit = verbs.memlock_limit();
  const std::string need = need_bytes != 0 ? fmt::format("it needs {}", bytes_text(need_bytes))
                                           : std::string("how much it needs is not known");
  if (limit.soft == MemlockLimit::kUnlimited || verbs.may_lock_memory()) {
    return fmt::format("{}; RLIMIT_MEMLOCK is not the cause ({}), so the host or the device has no memory left for it",
                       need,
                       limit.soft == MemlockLimit::kUnlimited ? "it is unlimited" : "the process has CAP_IPC_LOCK");
  }
  const LockedMemory now = locked_memory(verbs);
  // Not provable from here: the device may have run out at the same time. What is certain is said as certain.
  const bool beyond = need_bytes != 0 && now.pinned + need_bytes > limit.soft;
  const std::string hard = limit.hard == MemlockLimit::kUnlimited ? std::string("unlimited") : bytes_text(limit.hard);
  return fmt::format(
      "{}; RLIMIT_MEMLOCK is {} (hard limit {}) and {} of it are pinned, {} more locked: {}. Raise it (`ulimit -l`, "
      "LimitMEMLOCK= of the service, --ulimit memlock=-1 of the container) or give the process CAP_IPC_LOCK",
      need, bytes_text(limit.soft), hard, bytes_text(now.pinned), bytes_text(now.locked),
      beyond ? "the limit is too low for it" : "the limit may be too low for it");
}

}  // namespace verbena
