// SPDX-License-Identifier: Apache-2.0 OR MIT
// NICs on UDP, and the host's clock.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>

#include "engine/fabric/udp.hpp"
#include "engine/fabric/udp_socket.hpp"
#include "engine_transport/rig.hpp"
#include "engine_udp/own_network.hpp"

namespace engine_test {

using fabric::Udp;
using fabric::UdpSettings;
using fabric::UdpWay;

struct HostClock final : transport::Clock {
  transport::Time now() noexcept override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

/// An address of the loopback that no other test has: in a namespace of its own any is, else it has the process's
/// number.
inline wire::Gid loopback(unsigned host) {
  if (own_network().empty()) return wire::mapped(127, 0, 0, static_cast<std::uint8_t>(host));
  const auto process = static_cast<unsigned>(::getpid());
  return wire::mapped(127, static_cast<std::uint8_t>(100 + host), static_cast<std::uint8_t>(process >> 8),
                      static_cast<std::uint8_t>(process | 1U));
}

/// Two NICs, each with an address.
struct Two {
  explicit Two(const UdpSettings& settings = {}, bool v6 = false)
      : Two(settings, v6 ? unique_local(1) : loopback(1), v6 ? unique_local(2) : loopback(2)) {}
  Two(const UdpSettings& settings, const wire::Gid& first, const wire::Gid& second)
      : udp(settings), one(udp, clock, first), other(udp, clock, second) {
    for (Nic<Udp>* nic : {&one, &other}) {
      const fabric::UdpResult opened = nic->port.listen(nic->gid);
      EXPECT_TRUE(opened) << (opened ? "" : opened.error().text);
    }
  }

  std::size_t step() {
    std::size_t taken = 0;
    for (Nic<Udp>* nic : {&one, &other}) {
      taken += nic->port.progress(16);
      nic->adapter.expire(clock.now());
    }
    return taken;
  }
  /// Until that holds, or for some seconds.
  ::testing::AssertionResult until(const std::function<bool()>& holds,
                                   std::chrono::seconds most = std::chrono::seconds(20)) {
    const transport::Time end = clock.now() + most;
    while (!holds()) {
      step();
      if (clock.now() > end) return ::testing::AssertionFailure() << "not within " << most.count() << " s";
    }
    return ::testing::AssertionSuccess();
  }

  HostClock clock;
  Udp udp;
  Nic<Udp> one;
  Nic<Udp> other;
};

inline void fill(std::vector<std::byte>& memory, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t at = 0; at + 8 <= memory.size(); at += 8) {
    const std::uint64_t number = random();
    std::memcpy(memory.data() + at, &number, sizeof number);
  }
}

}  // namespace engine_test
