// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/rdma.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace conform {

namespace {

constexpr std::uint64_t kBehind = 0xbe41;  // wr_id of the message that follows

/// A byte of either end that belongs to nobody: in the room for a GRH.
std::size_t spare(const Loop& loop) {
  return loop.shape().bytes;
}

}  // namespace

bool is_iwarp(const Case& c) {
  const verbena::PortId* port = c.device().id().port(c.port());
  return port != nullptr && port->transport == verbena::Transport::iwarp;
}

LoopShape open_to_all(const Case& c, std::size_t bytes) {
  LoopShape shape;
  shape.type = verbena::QpType::rc;
  shape.bytes = bytes;
  if (c.native(verbena::Feature::fetch_add) || c.native(verbena::Feature::compare_swap)) {
    shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  shape.terms.access = shape.access;
  return shape;
}

int post(Loop& loop, const Rdma& rdma, std::uint64_t wr_id) {
  ibv_sge sge = loop.a().sge(rdma.offset, rdma.length);
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = rdma.opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  if (rdma.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || rdma.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {rdma.address, rdma.compare_add, rdma.swap, rdma.rkey};
  } else {
    wr.wr.rdma = {rdma.address, rdma.rkey};
  }
  return loop.post(loop.a(), wr);
}

bool works(Case& c, Loop& loop, const Rdma& rdma, std::string_view what) {
  if (!c.accepted(loop.receive(loop.b(), kBehind, spare(loop), 1), "ibv_post_recv")) return false;
  if (!c.accepted(post(loop, rdma), std::string("posting ") + std::string(what))) return false;
  if (!c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, what)) return false;
  if (!c.accepted(loop.send(loop.a(), kBehind, spare(loop), 1), "ibv_post_send")) return false;
  return c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS,
                     std::string("the send behind ") + std::string(what)) &&
         c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS,
                     std::string("the receive behind ") + std::string(what));
}

bool denied(Case& c, Loop& loop, const Rdma& rdma, std::string_view what, std::initializer_list<ibv_wc_status> statuses,
            const Memory* guarded) {
  std::vector<std::uint8_t> before;
  if (guarded != nullptr) before.assign(guarded->data(), guarded->data() + guarded->size());
  const auto unchanged = [&](std::string_view status) {
    if (guarded == nullptr || std::equal(before.begin(), before.end(), guarded->data())) return true;
    Finding found;
    found.seen = Seen::data;
    if (!status.empty()) found.status = std::string(status);
    found.text = std::string(what) + " changed bytes that it must not";
    c.finding(std::move(found));
    return false;
  };
  const bool iwarp = is_iwarp(c);
  if (iwarp && !c.accepted(loop.receive(loop.b(), kBehind, spare(loop), 1), "ibv_post_recv")) return false;
  if (post(loop, rdma) != 0) return unchanged({});
  const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
  if (iwarp && wc && wc->status == IBV_WC_SUCCESS) {
    loop.send(loop.a(), kBehind, spare(loop), 1);
    const std::optional<ibv_wc> behind = next(c, loop.b().recv_cq.raw());
    const bool ended = behind && behind->status != IBV_WC_SUCCESS;
    if (!unchanged("SUCCESS")) return false;
    return c.holds(ended, Seen::accepted, std::string(what) + ", and the connection went on");
  }
  if (wc && wc->status == IBV_WC_SUCCESS && !unchanged("SUCCESS")) return false;
  const bool any = statuses.size() == 0 || iwarp;
  const bool good = wc && wc->status != IBV_WC_SUCCESS &&
                    (any || std::find(statuses.begin(), statuses.end(), wc->status) != statuses.end());
  if (!good) return c.completed(wc, any ? IBV_WC_REM_ACCESS_ERR : *statuses.begin(), what);
  return unchanged({});
}

}  // namespace conform
