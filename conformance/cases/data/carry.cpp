// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cstring>

#include "cases/bodies.hpp"
#include "rig/loop.hpp"

namespace conform {

namespace {

void send_carries(Case& c) {
  for (const verbena::QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    const std::size_t head = type == verbena::QpType::ud ? kGrhBytes : 0;
    constexpr std::size_t kBytes = 200;
    loop.a().memory->fill(1);
    loop.b().memory->clear();
    c.need(c.accepted(loop.receive(loop.b(), 7, 0, head + kBytes + 50), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 8, 0, kBytes), "ibv_post_send"));
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send");
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
    c.holds(std::memcmp(loop.a().data(), loop.b().data() + head, kBytes) == 0, Seen::data, "other bytes arrived");
    c.holds(std::all_of(loop.b().data() + head + kBytes, loop.b().data() + head + kBytes + 50,
                        [](std::uint8_t byte) { return byte == 0; }),
            Seen::data, "bytes behind the message were changed");
  }
}

}  // namespace

Bodies data_carry_bodies() {
  static constexpr Body kBodies[] = {
      {"data.send.carries", send_carries},
  };
  return kBodies;
}

}  // namespace conform
