// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "engine/fabric/port.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/queues/address.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/surroundings.hpp"
#include "nic/host.hpp"
#include "nic/profile.hpp"

namespace verbena::emulator {

/// How many of each there are.
struct Counts {
  std::uint64_t domains = 0;
  std::uint64_t regions = 0;
  std::uint64_t windows = 0;
  std::uint64_t completion_queues = 0;
  std::uint64_t shared_queues = 0;
  std::uint64_t queue_pairs = 0;
  std::uint64_t addresses = 0;
  std::uint64_t groups = 0;
  std::uint64_t read_atomics = 0;  ///< responder resources of all queue pairs
  std::uint64_t work_requests = 0; ///< depths of all queue pairs, both queues
  std::uint64_t pinned = 0;        ///< bytes of rings and regions, as faults count them
};

/// An entry of a port's GID table.
struct Gid {
  std::uint32_t index = 0;
  GidType type = GidType::roce_v2;
  engine::wire::Gid bytes{};
};

/// One emulated NIC: a model over an engine. All of it under the host's mutex.
class Nic {
public:
  /// `number` tells NICs of one host apart: in names, addresses and GUIDs. `nics` are that host's: where a net tells
  /// queue pairs of a process apart by their numbers, each NIC has its part of them. With the host's mutex held.
  Nic(Host& host, Profile profile, std::string name, std::uint32_t number, std::uint32_t nics,
      engine::transport::Notices& notices);
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  Host& host() noexcept { return host_; }
  const Profile& profile() const noexcept { return profile_; }
  const std::string& name() const noexcept { return name_; }
  std::uint32_t number() const noexcept { return number_; }
  std::uint64_t node_guid() const noexcept {
    return 0x0200'00ff'fe00'0000ULL + (std::uint64_t{host_number_} << 8) + number_ + 1;
  }

  engine::memory::KeyTable& keys() noexcept { return keys_; }
  engine::transport::Adapter& adapter() noexcept { return adapter_; }
  /// Nothing of this memory is read late any more: its region goes, or is another one from now on.
  void withdraw(const engine::memory::Region& region) noexcept {
    if (!host_.inert()) port_->withdraw(engine::memory::Piece{region.host, region.length});
    adapter_.withdraw(engine::memory::Piece{region.host, region.length});
  }
  /// A queue pair joins a group, or the last one leaves it.
  void join(const engine::wire::Gid& group) {
    if (const Net* const net = host_.net(); net != nullptr && net->joins_groups()) port_->listen(group);
  }
  void leave(const engine::wire::Gid& group) noexcept {
    const Net* const net = host_.net();
    if (net != nullptr && net->joins_groups() && adapter_.members(group) == 0) port_->forget(group);
  }
  /// For a queue pair, or a manager of connections: while there is one, the NIC's addresses are its own. An errno
  /// (EADDRINUSE) where another program has them. With the host's mutex.
  int enter();
  void leave() noexcept;
  Counts counts;
  /// Nothing moves on it any more.
  bool stopped() const noexcept { return adapter_.stopped(); }

  const std::vector<Gid>& gids(std::uint8_t port) const noexcept;
  /// Null where that index is empty or beyond the table.
  const Gid* gid(std::uint8_t port, int index) const noexcept;
  /// The IP addresses of a port's interface, IPv4 mapped; those of link scope come last.
  const std::vector<engine::wire::Gid>& addresses(std::uint8_t port) const noexcept;
  std::uint8_t ports() const noexcept { return static_cast<std::uint8_t>(gids_.size()); }

  /// The interface of a port gets an IP address, or loses it. 0; EEXIST, EADDRNOTAVAIL: it has it, or hasn't; ENOSPC:
  /// the GID table is full. `changed` is whether the GID table is another one now.
  int add_address(std::uint8_t port, const engine::wire::Gid& address, bool& changed);
  int remove_address(std::uint8_t port, const engine::wire::Gid& address, bool& changed);
  /// Whether the link of a port is up, as the model has it or as it was set since.
  ibv_port_state state(std::uint8_t port) const noexcept;
  void set_link(std::uint8_t port, bool up) noexcept;
  /// Bytes of the largest packet of the port's interface, and of the payload of one on the wire.
  std::uint32_t interface_mtu(std::uint8_t port) const noexcept;
  std::uint32_t active_mtu(std::uint8_t port) const noexcept;
  void set_interface_mtu(std::uint8_t port, std::uint32_t bytes) noexcept;

  engine::memory::DomainId next_domain() noexcept { return ++last_domain_; }
  /// 0 where there are as many as there may be. A number that was given back comes again as late as it can.
  std::uint32_t take_qp_number();
  void give_qp_number(std::uint32_t number);

  /// Of a port of InfiniBand; else what the model says.
  std::uint16_t lid(std::uint8_t port) const noexcept;
  /// Where an address vector leads: 0, or the errno that the kernel refuses it with.
  int resolve(const ibv_ah_attr& attr, engine::queues::Address& address) const;

private:
  engine::wire::Gid behind(std::uint16_t lid) const;

  Host& host_;
  Profile profile_;
  std::string name_;
  std::uint32_t number_;
  std::uint32_t host_number_;
  std::vector<std::vector<Gid>> gids_;  ///< by port, from 1
  std::vector<std::vector<engine::wire::Gid>> addresses_;  ///< likewise
  struct Link {
    bool up = true;
    std::uint32_t interface_mtu = 0;  ///< 0: as the model has it
  };
  std::vector<Link> links_;  ///< likewise
  engine::memory::KeyTable keys_;
  std::unique_ptr<engine::fabric::Port> port_;
  engine::transport::Adapter adapter_;
  engine::memory::DomainId last_domain_ = 0;
  std::uint32_t inside_ = 0;  ///< who has entered
  std::uint32_t first_qp_number_;  ///< of the low 16 bits
  std::uint32_t qp_numbers_end_;
  std::uint32_t next_qp_number_;
  std::vector<bool> qp_numbers_;
};

}  // namespace verbena::emulator
