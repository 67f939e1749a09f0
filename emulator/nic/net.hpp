// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/fabric/impairments.hpp"
#include "engine/fabric/port.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/served.hpp"
#include "engine/wire/ip.hpp"

namespace verbena::emulator {

/// What joins the NICs of a host to each other, and to those of other processes and hosts where it reaches them; and
/// who works while the program neither posts nor polls. All but the destructor is called with the host's lock held.
class Net {
public:
  Net() = default;
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;
  /// Without the lock. Ports are gone before.
  virtual ~Net() = default;

  /// The end of one NIC.
  virtual std::unique_ptr<engine::fabric::Port> port() = 0;
  /// What a port of the NIC of that number has here, each time the same.
  virtual std::vector<engine::wire::Gid> addresses(std::uint32_t nic, std::uint8_t port) = 0;

  virtual void add(engine::transport::Adapter& adapter) = 0;
  virtual void remove(engine::transport::Adapter& adapter) noexcept = 0;
  virtual void add(engine::transport::Served& served) = 0;
  virtual void remove(engine::transport::Served& served) noexcept = 0;

  /// The program posts, polls or changes something: takes what has come, and does what is due.
  virtual void progress() = 0;
  /// The program has posted, and may not call again soon.
  virtual void settle() {}
  /// The program is about to sleep until an event comes.
  virtual void doze() {}

  /// The number of a queue pair whose low 16 bits are these.
  virtual std::uint32_t queue_pair_number(std::uint32_t low) const noexcept { return low; }
  /// Tells this process from others on the same net: 0 where there are no others.
  virtual std::uint32_t host_number() const noexcept { return 0; }
  /// A NIC's end is told of the groups that its queue pairs join.
  virtual bool joins_groups() const noexcept { return false; }
  /// Payload bytes of the largest packet that goes over it.
  virtual std::uint32_t largest_mtu() const noexcept { return 4096; }
  /// What its wire does to packets from now on; false where it has no such switch.
  virtual bool impair(const engine::fabric::Impairments& /*impairments*/) { return false; }
  /// Whether it leads from this address of a NIC here to that one without anybody between them.
  virtual bool neighbours(const engine::wire::Gid& own, const engine::wire::Gid& other) const;
  /// Who answers to that address, or of several who has that queue pair: a number that nobody had there before; 0 where
  /// nobody does. Nothing where only sending something there would tell.
  virtual std::optional<std::uint64_t> who(const engine::wire::Gid& /*address*/, std::uint32_t /*qpn*/) {
    return std::nullopt;
  }
  /// NICs of other processes may have the same addresses as those here.
  virtual bool shares_addresses() const noexcept { return false; }
  /// Others are on it: a child of fork() is then none of them, and all of its NICs are inert.
  virtual bool reaches_others() const noexcept { return true; }
};

/// fe80::, and 10.11.0.0/16 or one of the networks behind it: what NICs have where nothing else gives them addresses.
/// `host` is below 240.
std::vector<engine::wire::Gid> own_addresses(std::uint32_t host, std::uint32_t nic, std::uint8_t port);

/// Both of link scope, or both of IPv4 or neither and alike in all bytes but as many at the end.
bool same_network(const engine::wire::Gid& one, const engine::wire::Gid& other, std::ptrdiff_t last_bytes) noexcept;

}  // namespace verbena::emulator
