// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whatever the bytes: a datagram is a message or none, and what was read is written to the same message again. A
// communication manager that gets it stays in a state that it knows, and ends when asked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "cm/agent.hpp"
#include "cm/cma_header.hpp"
#include "cm/messages.hpp"
#include "engine/fabric/direct.hpp"

namespace {

using namespace verbena::emulator::cm;
namespace engine = verbena::engine;
using Bytes = std::span<const std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Still final : engine::transport::Clock {
  engine::transport::Time time{};
  engine::transport::Time now() noexcept override { return time; }
};

struct Nobody final : engine::transport::Notices {
  void completion(engine::queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_queue_pair(engine::transport::QueuePair& /*qp*/, ibv_event_type /*event*/) noexcept override {}
  void on_completion_queue(engine::queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_shared_receive_queue(engine::queues::SharedReceiveQueue& /*srq*/,
                               ibv_event_type /*event*/) noexcept override {}
};

/// Takes every request.
struct Willing final : Owner {
  Verdict requested(Connection& connection, const Message& /*message*/, const Received& /*from*/) override {
    connection.user = this;
    last = &connection;
    return Verdict::taken;
  }
  void told(Connection& /*connection*/, const Told& /*told*/) override {}
  Connection* last = nullptr;
};

void judge(Bytes bytes) {
  const auto message = parse(bytes);
  if (bytes.size() >= CmaHeader::kBytes) static_cast<void>(read_cma_header(bytes.first<CmaHeader::kBytes>()));
  if (!message) return;
  const auto again = parse(encode(*message));
  require(again && *again == *message);
}

/// The bytes as datagrams that come one after the other, each with a head that makes a message of it.
void talk(Bytes bytes) {
  Still clock;
  Nobody nobody;
  Willing owner;
  engine::fabric::Direct fabric;
  engine::fabric::Direct::Port port(fabric);
  engine::memory::KeyTable keys;
  engine::transport::Adapter adapter(keys, port, clock, nobody);
  port.connect(adapter);
  const engine::wire::Gid own = engine::wire::mapped(10, 0, 0, 1);
  port.listen(own);
  GeneralService service(adapter, keys);
  Agent agent(service, clock, owner, {.node_guid = 1, .first_id = 1});
  engine::queues::Address to;
  to.ip.source = to.ip.destination = own;
  Connection& connection = agent.make();
  connection.user = &owner;
  require(agent.request(connection, to, {}, {}) == 0);
  while (bytes.size() > 1) {
    Mad mad = encode({});
    const auto kind = std::to_integer<unsigned>(bytes[0]);
    mad[17] = static_cast<std::byte>(0x10 + kind % 9);
    const std::size_t taken = std::min<std::size_t>(bytes.size() - 1, 64);
    std::copy_n(bytes.begin() + 1, taken, mad.begin() + 24);
    bytes = bytes.subspan(1 + taken);
    service.send(to, mad);
    agent.progress();
    if (owner.last != nullptr && kind >= 0x80) static_cast<void>(agent.reply(*owner.last, {}, {}));
    owner.last = nullptr;
    agent.progress();
  }
  for (int round = 0; round < 100 && agent.next(); ++round) {
    clock.time = *agent.next();
    agent.progress();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  judge(bytes);
  talk(bytes);
  return 0;
}
