// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/traffic.hpp"

#include <cstring>
#include <string>

namespace conform {

namespace {

std::size_t head_of(const Loop& loop) {
  return loop.shape().type == verbena::QpType::ud ? kGrhBytes : 0;
}

}  // namespace

bool carries(Case& c, Loop& loop, std::string_view what, std::uint64_t wr_id) {
  const std::size_t head = head_of(loop);
  const std::string name(what);
  loop.a().memory->fill(static_cast<std::uint32_t>(wr_id));
  std::memset(loop.b().data(), 0, head + kMessageBytes);
  if (!c.accepted(loop.receive(loop.b(), wr_id, 0, head + kMessageBytes), name + ": ibv_post_recv")) return false;
  if (!c.accepted(loop.send(loop.a(), wr_id, 0, kMessageBytes), name + ": ibv_post_send")) return false;
  const auto sent = next(c, loop.a().send_cq.raw());
  if (!c.completed(sent, IBV_WC_SUCCESS, name + ": the send")) return false;
  const auto received = next(c, loop.b().recv_cq.raw());
  if (!c.completed(received, IBV_WC_SUCCESS, name + ": the receive")) return false;
  bool held = c.equal(sent->wr_id, wr_id, name + ": wr_id of the send");
  held = c.equal(received->wr_id, wr_id, name + ": wr_id of the receive") && held;
  return c.holds(std::memcmp(loop.a().data(), loop.b().data() + head, kMessageBytes) == 0, Seen::data,
                 name + ": other bytes arrived") &&
         held;
}

bool deliver(Case& c, Loop& loop, std::uint32_t count, std::uint64_t first, unsigned flags) {
  const std::size_t head = head_of(loop);
  for (std::uint32_t index = 0; index < count; ++index) {
    if (!c.accepted(loop.receive(loop.b(), first + index, 0, head + kMessageBytes), "ibv_post_recv")) return false;
    if (!c.accepted(loop.send(loop.a(), first + index, 0, kMessageBytes, IBV_SEND_SIGNALED | flags), "ibv_post_send")) {
      return false;
    }
    if (!c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send")) return false;
  }
  return true;
}

}  // namespace conform
