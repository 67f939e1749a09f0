// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include "cm/messages.hpp"
#include "engine/queues/address.hpp"
#include "nic/nic.hpp"

namespace verbena::emulator::cm {

/// The way from one of a NIC's addresses to another one's.
struct Route {
  ibv_ah_attr ah{};                   ///< what a queue pair is told
  engine::queues::Address messages{}; ///< where messages of the communication manager go
  engine::wire::Gid local{};          ///< the GIDs of the two ends, on iWARP their IP addresses
  engine::wire::Gid remote{};
  std::uint8_t mtu = IBV_MTU_1024;    ///< enum ibv_mtu
  std::uint8_t rate = 0;              ///< enum ibv_rate
};

/// Empty where the source is no address of that port. `traffic_class` is the TOS.
std::optional<Route> route(const Nic& nic, std::uint8_t port, const engine::wire::Gid& source,
                           const engine::wire::Gid& destination, std::uint8_t traffic_class);
/// The path as a REQ tells it.
Path path_of(const Route& route);

/// The GID of the group that this address stands for on that port; empty where there is none.
struct Group {
  engine::wire::Gid gid{};
  std::uint16_t lid = 0;  ///< on InfiniBand, where a subnet manager gives it
  std::uint8_t hop_limit = 1;
};
std::optional<Group> group(const Nic& nic, std::uint8_t port, const engine::wire::Gid& ip, bool rdma_signature);

}  // namespace verbena::emulator::cm
