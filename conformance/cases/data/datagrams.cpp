// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// What is particular to UD: the space before the bytes, and one queue pair that reaches many.
namespace conform {

namespace {

using verbena::QpType;

constexpr std::size_t kDatagram = 100;

void grh_space(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  set_apart(loop);
  c.need(c.accepted(loop.receive(loop.b(), 7, 0, kGrhBytes + kDatagram), "ibv_post_recv of exactly 40 bytes more"));
  c.need(c.accepted(loop.send(loop.a(), 8, 0, kDatagram), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the datagram"));
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a datagram"));
  c.equal(received->byte_len, kDatagram + kGrhBytes, "byte_len");
  same_bytes(c, loop.b().data() + kGrhBytes, loop.a().data(), kDatagram, "a datagram at offset 40");
  untouched(c, loop.b().data() + kGrhBytes + kDatagram, 128, kOld, "behind a datagram");
}

void grh_split_over_sges(Case& c) {
  Loop loop(c, {.type = QpType::ud, .cap = {16, 16, 2, c.within(verbena::Field::max_recv_sge, 3), 0}});
  constexpr std::size_t kFar = 1024;
  for (const std::size_t first : {std::size_t{1}, std::size_t{20}, std::size_t{39}, std::size_t{40}, std::size_t{41}}) {
    set_apart(loop);
    c.need(c.accepted(
        post(loop.b(), ReceiveWork{7, {loop.b().sge(0, first), loop.b().sge(kFar, kGrhBytes + kDatagram - first)}}),
        "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 8, 0, kDatagram), "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the datagram"));
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a datagram"));
    std::vector<std::uint8_t> got(loop.b().data(), loop.b().data() + first);
    got.insert(got.end(), loop.b().data() + kFar, loop.b().data() + kFar + kGrhBytes + kDatagram - first);
    same_bytes(c, got.data() + kGrhBytes, loop.a().data(), kDatagram,
               "a datagram whose first SGE has " + std::to_string(first) + " bytes");
    untouched(c, loop.b().data() + first, 64, kOld, "behind the first SGE");
    untouched(c, loop.b().data() + kFar + kGrhBytes + kDatagram - first, 64, kOld, "behind the second SGE");
  }
}

/// Where IBV_WC_GRH is set, the 40 bytes hold one: its destination is the receiver's address.
void source_named(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  set_apart(loop);
  c.need(c.accepted(loop.receive(loop.b(), 7, 0, kGrhBytes + kDatagram), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 8, 0, kDatagram), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the datagram"));
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a datagram"));
  c.equal(received->src_qp, loop.a().qp->qp_num, "src_qp");
  const PathTo back = loop.path(loop.a(), loop.b());
  if (back.address.is_global != 0) {
    c.need(c.holds((received->wc_flags & IBV_WC_GRH) != 0, Seen::value,
                   "a datagram sent with a GRH came without IBV_WC_GRH"));
    const std::uint8_t* const gid = back.address.grh.dgid.raw;
    static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const bool v4 = std::memcmp(gid, kMapped, sizeof kMapped) == 0;
    // Annex A17: an IPv4 header takes the last 20 of the 40 bytes.
    const std::uint8_t* const there = loop.b().data() + (v4 ? 20 + 16 : 24);
    c.holds(std::memcmp(there, gid + (v4 ? 12 : 0), v4 ? 4 : 16) == 0, Seen::value,
            "the header before the bytes does not name the receiver's address");
  } else {
    c.holds((received->wc_flags & IBV_WC_GRH) == 0, Seen::value, "a datagram sent without a GRH came with IBV_WC_GRH");
  }
}

void one_to_many(Case& c) {
  Loop first(c, {.type = QpType::ud});
  std::vector<std::unique_ptr<Loop>> others;
  for (std::uint32_t count = 0; count < 3; ++count) {
    LoopShape shape{.type = QpType::ud};
    shape.terms.qkey = 0x22220000U + count;
    others.push_back(std::make_unique<Loop>(c, shape));
  }
  End& from = first.a();
  from.memory->fill(4);
  for (std::size_t at = 0; at < others.size(); ++at) {
    End& to = others[at]->b();
    std::memset(to.data(), kOld, to.memory->size());
    c.need(c.accepted(others[at]->receive(to, 100 + at, 0, kGrhBytes + kDatagram), "ibv_post_recv"));
    const Object<ibv_ah> ah = c.made(from.way->ah(from.pd.raw(), first.path(from, to).address), "ibv_create_ah");
    ibv_sge sge = from.sge(at * kDatagram, kDatagram);
    ibv_send_wr wr{};
    wr.wr_id = at;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud.ah = ah.raw();
    wr.wr.ud.remote_qpn = to.qp->qp_num;
    wr.wr.ud.remote_qkey = to.qkey;
    ibv_send_wr* bad = nullptr;
    c.need(c.accepted(from.way->post_send(from.qp.raw(), wr, bad), "ibv_post_send"));
    c.need(c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, "a datagram"));
    const auto received = next(c, to.recv_cq.raw());
    c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a datagram at receiver " + std::to_string(at)));
    c.equal(received->src_qp, from.qp->qp_num, "src_qp");
    same_bytes(c, to.data() + kGrhBytes, from.data() + at * kDatagram, kDatagram,
               "the datagram of receiver " + std::to_string(at));
  }
}

}  // namespace

Bodies data_datagrams_bodies() {
  static constexpr Body kBodies[] = {
      {"data.ud.grh_space", grh_space},
      {"data.ud.grh_split_over_sges", grh_split_over_sges},
      {"data.ud.source_named", source_named},
      {"data.ud.one_to_many", one_to_many},
  };
  return kBodies;
}

}  // namespace conform
