// SPDX-License-Identifier: Apache-2.0 OR MIT
// Members of a shared fabric, each with one NIC.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include <unistd.h>

#include "engine/fabric/shared.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {

using Shared = fabric::Shared;

/// A name that no other test has, nor the same one in another process.
inline std::string fresh_name() {
  static std::atomic<int> count{0};
  return "test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

inline std::string file_of(const std::string& name) {
  return "/dev/shm/verbena-fabric-" + name;
}

inline bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

struct Steady final : transport::Clock {
  transport::Time now() noexcept override {
    return std::chrono::duration_cast<transport::Time>(std::chrono::steady_clock::now().time_since_epoch());
  }
};

/// What one process has of a fabric. `host` is the last number of its NIC's address.
struct Member {
  Member(Shared::Options options, std::uint8_t host, transport::Clock& clock) : lock(mutex) {
    auto joined = Shared::join(std::move(options), lock, clock);
    if (!joined) {
      ADD_FAILURE() << joined.error().what << ": error " << joined.error().error;
      return;
    }
    fabric = std::move(*joined);
    const std::lock_guard locked(mutex);
    nic = std::make_unique<Nic<Shared>>(*fabric, clock, host);
  }
  ~Member() {
    if (!nic) return;
    const std::lock_guard locked(mutex);
    nic.reset();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  std::uint32_t number(std::uint32_t low) const { return fabric->number(low); }

  std::mutex mutex;
  fabric::LockOf<std::mutex> lock;
  std::unique_ptr<Shared> fabric;
  std::unique_ptr<Nic<Shared>> nic;
};

inline Shared::Options options(const std::string& name, bool pulls = true, bool serves = false) {
  Shared::Options options;
  options.name = name;
  options.pulls = pulls;
  options.serves = serves;
  return options;
}

/// Until nothing comes any more, to any of them.
template <class... Members>
void settle(Members&... members) {
  int idle = 0;
  while (idle < 3) idle = (members.fabric->progress() + ... + 0) > 0 ? 0 : idle + 1;
}

}  // namespace engine_test
