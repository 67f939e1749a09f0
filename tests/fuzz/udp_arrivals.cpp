// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whatever a socket gives, parted at whatever size: each part is taken or refused with one reason, and nothing is read
// that is not there. Half of the inputs are given a right ICRC, which no fuzzer guesses.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "engine/fabric/udp_arrivals.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/wire/icrc.hpp"

namespace {

using namespace verbena::engine;  // NOLINT(google-build-using-namespace)

struct Nobody final : transport::Notices, transport::Outlet, transport::Clock {
  void completion(queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_queue_pair(transport::QueuePair& /*qp*/, ibv_event_type /*event*/) noexcept override {}
  void on_completion_queue(queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_shared_receive_queue(queues::SharedReceiveQueue& /*srq*/, ibv_event_type /*event*/) noexcept override {}
  bool send(const transport::Train& /*train*/) noexcept override { return true; }
  std::uint32_t most_packets(const transport::QueuePair& /*qp*/) const noexcept override { return 1; }
  std::uint32_t window() const noexcept override { return 1; }
  transport::Time now() noexcept override { return {}; }
};

/// Gives each part the ICRC that it would have.
void seal(const fabric::UdpArrival& arrival) {
  std::span<std::byte> left = arrival.data;
  std::uint16_t identification = 0;
  while (!left.empty()) {
    const auto mine = left.first(std::min(left.size(), arrival.segment == 0 ? left.size() : arrival.segment));
    left = left.subspan(mine.size());
    if (mine.size() >= wire::Bth::kBytes + wire::Icrc::kBytes) {
      const auto covered = mine.first(mine.size() - wire::Icrc::kBytes);
      const std::uint32_t icrc =
          wire::icrc_behind(wire::FlowIcrc(arrival.ip, arrival.udp, mine.size()).before(identification), covered);
      for (std::size_t byte = 0; byte < wire::Icrc::kBytes; ++byte)
        mine[covered.size() + byte] = static_cast<std::byte>(icrc >> (8 * byte));
    }
    ++identification;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 4;
  if (size < kHead) return 0;
  Nobody nobody;
  memory::KeyTable keys;
  transport::Adapter adapter(keys, nobody, nobody, nobody);
  // Connected, so that what is taken goes on: as a requester without requests, and as a responder without memory.
  queues::CompletionQueue cq(16);
  transport::QueuePair qp{.number = 1,
                          .type = (data[2] & 4U) != 0 ? IBV_QPT_UC : IBV_QPT_RC,
                          .send_queue = queues::SendQueue(4, 1, 0, false),
                          .receive_queue = queues::ReceiveQueue(4, 1),
                          .send_cq = &cq,
                          .receive_cq = &cq};
  qp.attr.path_mtu = IBV_MTU_256;
  adapter.add(qp);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) adapter.enter(qp, state);

  fabric::UdpCounters counters;
  fabric::UdpArrivals arrivals(adapter, counters);
  std::vector<std::byte> bytes(size - kHead);
  std::transform(data + kHead, data + size, bytes.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
  fabric::UdpArrival arrival;
  arrival.ip.version = (data[2] & 1U) != 0 ? wire::IpVersion::v6 : wire::IpVersion::v4;
  arrival.ip.source = arrival.ip.destination = wire::mapped(10, 0, 0, 1);
  arrival.data = bytes;
  arrival.segment = static_cast<std::size_t>(data[0] | data[1] << 8);
  arrival.seen = (data[2] & 2U) != 0;
  if ((data[3] & 1U) != 0) seal(arrival);
  adapter.begin_batch();
  arrivals.take(arrival);
  arrivals.finish();
  adapter.end_batch();
  const std::size_t parts = arrival.segment == 0 || bytes.empty() ? 1 : (bytes.size() - 1) / arrival.segment + 1;
  if (counters.packets_in + counters.refused.all() != parts) std::abort();
  adapter.remove(qp);
  return 0;
}
