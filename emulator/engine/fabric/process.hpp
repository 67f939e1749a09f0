// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace verbena::engine::fabric {

/// Which process of this host: numbers are used again, and each PID namespace counts for itself.
struct ProcessIdentity {
  pid_t number = 0;
  std::uint64_t started = 0;    ///< clock ticks since boot; 0: not known (proc(5), /proc/PID/stat, field 22)
  std::uint64_t name_space = 0; ///< inode of /proc/self/ns/pid; 0: not known

  static ProcessIdentity own() noexcept;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) noexcept = default;
};

/// The process is known to have ended. False also where nobody can say: in another namespace, or without /proc.
bool has_ended(const ProcessIdentity& process) noexcept;

}  // namespace verbena::engine::fabric
