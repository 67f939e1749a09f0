// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "engine/fabric/descriptor.hpp"
#include "engine/fabric/udp.hpp"
#include "engine/transport/time.hpp"
#include "nic/given_addresses.hpp"
#include "nic/host_mutex.hpp"
#include "nic/net.hpp"

struct pollfd;

namespace verbena::emulator {

/// NICs on UDP port 4791 (engine/fabric/udp.hpp). A thread of its own takes what comes, and serves timers, while the
/// program neither posts nor polls.
class UdpNet final : public Net {
public:
  /// What the ports of the NICs have, one list each, in turn. Empty: the addresses of this namespace's interfaces that
  /// are up, but for loopback, an interface for each port. Without the lock. `mutex` and `clock` live longer. An error
  /// is a sentence: an address that isn't here, a link too small for any path MTU, no address left.
  static tl::expected<std::unique_ptr<Net>, std::string> open(std::vector<std::vector<engine::wire::Gid>> addresses,
                                                              std::size_t ports, HostMutex& mutex,
                                                              engine::transport::Clock& clock);
  ~UdpNet() override;

  std::unique_ptr<engine::fabric::Port> port() override;
  std::vector<engine::wire::Gid> addresses(std::uint32_t nic, std::uint8_t port) override {
    return addresses_.of(nic, port);
  }
  void add(engine::transport::Adapter& adapter) override { adapters_.push_back(&adapter); }
  void remove(engine::transport::Adapter& adapter) noexcept override { std::erase(adapters_, &adapter); }
  void add(engine::transport::Served& served) override { served_.push_back(&served); }
  void remove(engine::transport::Served& served) noexcept override { std::erase(served_, &served); }
  void progress() override;
  void settle() override;
  void doze() override;
  bool joins_groups() const noexcept override { return true; }
  std::uint32_t largest_mtu() const noexcept override { return settings_.largest_mtu; }
  /// Where the namespace's routes lead from that address, too: what is between is the kernel's business.
  bool neighbours(const engine::wire::Gid& own, const engine::wire::Gid& other) const override;

private:
  class Port;

  UdpNet(std::vector<std::vector<engine::wire::Gid>> addresses, std::uint32_t largest_mtu, HostMutex& mutex,
         engine::transport::Clock& clock);
  void serve(const std::stop_token& stop);
  engine::transport::Time turn(std::vector<pollfd>& watched);
  bool take();
  void expire();
  std::optional<engine::transport::Time> next() const noexcept;
  void ring() noexcept;
  void start();

  HostMutex& mutex_;
  engine::transport::Clock& clock_;
  GivenAddresses addresses_;
  engine::fabric::UdpSettings settings_;
  engine::fabric::Udp fabric_;
  std::vector<Port*> ports_;
  std::vector<engine::transport::Adapter*> adapters_;
  std::vector<engine::transport::Served*> served_;
  engine::fabric::Descriptor bell_;
  bool polled_ = false;  ///< since the thread looked last
  bool dozes_ = true;  ///< the thread watches what comes
  std::uint32_t polls_ = 0;  ///< since the program said that it would sleep
  std::uint32_t rounds_ = 0;
  std::optional<engine::transport::Time> wakes_at_;  ///< the thread, at the latest
  std::jthread thread_;
};

/// An address as people write it, 10.0.0.1 or fe80::1; nothing where that is none.
std::optional<engine::wire::Gid> address_from(const std::string& text);

}  // namespace verbena::emulator
