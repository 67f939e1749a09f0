// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cm/messages.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/queues/address.hpp"
#include "engine/queues/completion_queue.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/queue_pair.hpp"

namespace verbena::emulator::cm {

/// A datagram that came, and who sent it.
struct Received {
  Mad mad{};
  engine::wire::Gid source{};       ///< mapped where it came over IPv4
  engine::wire::Gid destination{};  ///< this NIC's own
};

/// Queue pair 1 of a NIC, the general service interface: management datagrams from NIC to NIC. All of it with the NIC
/// locked. Nothing is lost by the queue itself but what finds no room; who sends asks again anyway.
class GeneralService {
public:
  GeneralService(engine::transport::Adapter& adapter, engine::memory::KeyTable& keys);
  ~GeneralService();
  GeneralService(const GeneralService&) = delete;
  GeneralService& operator=(const GeneralService&) = delete;

  void send(const engine::queues::Address& to, const Mad& mad);
  /// The oldest that came; empty where none did.
  std::optional<Received> next();

private:
  void post(std::uint64_t slot);
  void reap();

  engine::transport::Adapter& adapter_;
  engine::memory::KeyTable& keys_;
  std::vector<std::byte> memory_;
  engine::memory::Region* region_;
  engine::queues::CompletionQueue sent_;
  engine::queues::CompletionQueue received_;
  engine::transport::QueuePair qp_;
};

}  // namespace verbena::emulator::cm
