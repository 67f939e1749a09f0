// SPDX-License-Identifier: Apache-2.0 OR MIT

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "cases/bodies.hpp"
#include "rig/repeated.hpp"
#include "rig/work.hpp"

// The largest message that the port says it carries.
namespace conform {

namespace {

Object<ibv_mr> region_of(End& end, const RepeatedMemory& memory, std::size_t length) {
  return end.way->mr(
      end.pd.raw(),
      {.address = memory.data(), .length = length, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
}

/// Memory permitting: a message of 8 MiB is carried and compared; one of all max_msg_sz bytes, where that is more, must
/// not fail in the time that there is for it, and is compared where it completes in that time. A slow device is not
/// waited for.
void max_msg_carried(Case& c) {
  ibv_port_attr attr{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), attr), "ibv_query_port"));
  std::size_t most = attr.max_msg_sz;
  constexpr std::size_t kPeriod = std::size_t{8} << 20;
  const RepeatedMemory source(most, kPeriod), sink(most, kPeriod);
  if (source.data() == nullptr || sink.data() == nullptr) {
    c.blocked("much_memory", "addresses of max_msg_sz bytes cannot be had");
  }
  Loop loop(c, {});
  const std::size_t compared = std::min(most, kPeriod);
  Object<ibv_mr> from = region_of(loop.a(), source, most);
  Object<ibv_mr> into = region_of(loop.b(), sink, most);
  if ((!from || !into) && most > compared) {
    c.note("two regions of " + std::to_string(most) + " bytes cannot be had, and so 8 MiB are all that is carried");
    most = compared;
    from = region_of(loop.a(), source, most);
    into = region_of(loop.b(), sink, most);
  }
  c.need(c.accepted(from, "ibv_reg_mr") && c.accepted(into, "ibv_reg_mr"));
  for (std::size_t at = 0; at < compared; ++at) source.data()[at] = static_cast<std::uint8_t>(at * 31 + (at >> 9));
  for (const std::size_t length : {compared, most}) {
    std::memset(sink.data(), 0x5a, compared);
    const std::string what = "a write of " + std::to_string(length) + " bytes";
    c.need(
        c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_RDMA_WRITE,
                                           .wr_id = length,
                                           .sges = {{source.address(), static_cast<std::uint32_t>(length), from->lkey}},
                                           .remote = sink.address(),
                                           .rkey = into->rkey}),
                   "ibv_post_send of " + what));
    if (length > kPeriod) {
      const auto wc = next_within(c, loop.a().send_cq.raw(), std::chrono::seconds(3));
      if (!wc) {
        c.note(what + " was still being carried after 3 s");
        return;
      }
      c.need(c.completed(wc, IBV_WC_SUCCESS, what));
    } else {
      c.need(c.completed(next_within(c, loop.a().send_cq.raw(), std::chrono::seconds(30)), IBV_WC_SUCCESS, what));
    }
    // What is written has come when a send behind it is received, on iWARP too.
    c.need(c.accepted(loop.receive(loop.b(), 1, 0, 8), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 2, 0, 8), "ibv_post_send"));
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send behind " + what));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send behind " + what));
    c.need(same_bytes(c, sink.data(), source.data(), compared, what));
    if (most == compared) return;
  }
}

}  // namespace

Bodies data_largest_bodies() {
  static constexpr Body kBodies[] = {
      {"data.size.max_msg_carried", max_msg_carried},
  };
  return kBodies;
}

}  // namespace conform
