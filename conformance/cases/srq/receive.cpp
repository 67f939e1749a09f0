// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/srq/pool.hpp"
#include "rig/events.hpp"

namespace conform {

namespace {

void full_refused(Case& c) {
  const Pool pool(c, {.max_wr = 8, .max_sge = 1, .srq_limit = 0});
  Loop loop(c, {.b = pool.given()});
  // A driver that rounds up without a word takes some more; the end must come.
  const std::uint32_t most = 4 * pool.returned().max_wr + 64;
  std::uint32_t taken = 0;
  for (; taken < most; ++taken) {
    ibv_sge sge = pool.sge(taken);
    ibv_recv_wr wr{};
    wr.wr_id = taken;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (pool.post(wr, bad) == 0) continue;
    c.holds(bad == &wr, Seen::refused, "bad_wr is not the receive that was refused");
    break;
  }
  c.holds(taken < most, Seen::accepted,
          "a queue of " + std::to_string(pool.returned().max_wr) + " receives took " + std::to_string(taken) +
              " and refused none");
  c.holds(taken >= pool.returned().max_wr, Seen::refused,
          "a queue of " + std::to_string(pool.returned().max_wr) + " receives took " + std::to_string(taken));
  for (std::uint32_t index = 0; index < std::min(taken, 40U); ++index) {
    c.need(message(c, loop, index));
    const auto wc = next(c, loop.b().recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "a receive posted before the refused one"));
  }
}

void too_many_sges_refused(Case& c) {
  const Pool pool(c, {.max_wr = 4, .max_sge = 2, .srq_limit = 0});
  // Through Verbena more may have been made than is granted; a driver that returns the device's most or nothing at all
  // tells nothing of that.
  ibv_srq_attr made{};
  if (c.through_verbena() && c.verbs().query_srq(pool.srq(), made) != 0) made = {};
  const std::uint32_t most = std::max(pool.returned().max_sge, made.max_sge);
  std::vector<ibv_sge> list;
  for (std::uint32_t index = 0; index <= most; ++index) list.push_back(pool.sge(index, 8));
  ibv_recv_wr wr{};
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(list.size());
  ibv_recv_wr* bad = nullptr;
  const int error = pool.post(wr, bad);
  if (c.refused(error, "a receive of max_sge + 1 SGEs")) {
    c.holds(bad == &wr, Seen::refused, "bad_wr is not the receive that was refused");
  }
  wr.num_sge = static_cast<int>(pool.returned().max_sge);
  c.accepted(pool.post(wr, bad), "a receive of max_sge SGEs");
}

/// Two ends on one pool.
std::deque<Loop> two(Case& c, const Pool& pool) {
  std::deque<Loop> loops;
  loops.emplace_back(c, LoopShape{.b = pool.given()});
  loops.emplace_back(c, LoopShape{.b = pool.given()});
  return loops;
}

void first_in_first_out(Case& c) {
  const Pool pool(c);
  std::deque<Loop> loops = two(c, pool);
  pool.fill(8, 1);
  for (std::uint64_t wr_id = 1; wr_id <= 8; ++wr_id) {
    Loop& loop = loops[wr_id / 2 % 2];
    c.need(message(c, loop));
    const auto wc = next(c, loop.b().recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive"));
    if (!c.equal(wc->wr_id, wr_id, "wr_id of the receive that was taken")) break;
  }
}

void completes_at_owner(Case& c) {
  const Pool pool(c);
  std::deque<Loop> loops = two(c, pool);
  pool.fill(8, 1);
  for (int round = 0; round < 4; ++round) {
    Loop& loop = loops[static_cast<std::size_t>(round) % 2];
    Loop& other = loops[static_cast<std::size_t>(round + 1) % 2];
    loop.a().memory->fill(static_cast<std::uint32_t>(round + 1));
    c.need(message(c, loop));
    const auto wc = next(c, loop.b().recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive"));
    c.equal(wc->qp_num, loop.b().qp->qp_num, "qp_num of the receive");
    c.holds(std::memcmp(pool.slot(wc->wr_id), loop.a().data(), kMessageBytes) == 0, Seen::data, "other bytes arrived");
    c.holds(quiet(c, other.b().recv_cq.raw(), std::chrono::milliseconds(5)), Seen::completion,
            "a receive completed at a queue pair that got no message");
  }
}

void empty_is_rnr(Case& c) {
  const Pool pool(c);
  Loop loop(c, {.b = pool.given()});
  c.need(c.accepted(loop.send(loop.a(), 1, 0, kMessageBytes), "ibv_post_send"));
  c.holds(quiet(c, loop.a().send_cq.raw()), Seen::completion, "a send completed though the peer has no receive");
  c.holds(quiet(c, loop.b().recv_cq.raw(), std::chrono::milliseconds(1)), Seen::completion, "a receive completed");
  pool.fill(1);
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send once a receive was posted");
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive");
}

void receives_stay(Case& c) {
  const Pool pool(c);
  std::deque<Loop> loops = two(c, pool);
  pool.fill(6);
  consume(c, loops[0], 1);
  consume(c, loops[1], 1);
  const Move err = to(IBV_QPS_ERR);
  c.need(c.accepted(c.other_way().modify(loops[0].b().qp.raw(), err.attr, err.mask), "ibv_modify_qp to ERR"));
  c.holds(quiet(c, loops[0].b().recv_cq.raw()), Seen::completion, "an unused receive was flushed");
  consume(c, loops[1], 4);
}

/// The XRC verbs have no place in the Verbs table, so both columns call libibverbs.
void xrc_number(Case& c) {
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  ibv_xrcd* raw = ibv_open_xrcd(c.context(), &domain);
  c.need(c.holds(raw != nullptr, Seen::refused, "ibv_open_xrcd"));
  const Object<ibv_xrcd> xrcd(raw, [raw] { return ibv_close_xrcd(raw); });
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  std::set<std::uint32_t> numbers;
  std::deque<Object<ibv_srq>> queues;
  for (int count = 0; count < 2; ++count) {
    ibv_srq_init_attr_ex init{};
    init.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
    init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    init.srq_type = IBV_SRQT_XRC;
    init.pd = pd.raw();
    init.xrcd = xrcd.raw();
    init.cq = cq.raw();
    const verbena::Made<ibv_srq> srq = c.verbs().create_srq_ex(c.context(), init);
    c.need(c.accepted(srq.error, "ibv_create_srq_ex of an XRC queue"));
    queues.emplace_back(srq.handle, [&c, handle = srq.handle] { return c.verbs().destroy_srq(handle); });
    std::uint32_t number = 0;
    c.need(c.accepted(ibv_get_srq_num(srq.handle, &number), "ibv_get_srq_num"));
    c.holds(number < 1U << 24, Seen::value, "the number of a shared receive queue has more than 24 bits");
    numbers.insert(number);
  }
  c.equal(numbers.size(), std::size_t{2}, "distinct numbers of two XRC shared receive queues");
}

}  // namespace

Bodies srq_receive_bodies() {
  static constexpr Body kBodies[] = {
      {"srq.post.full_refused", full_refused},
      {"srq.post.too_many_sges_refused", too_many_sges_refused},
      {"srq.post.first_in_first_out", first_in_first_out},
      {"srq.receive.completes_at_owner", completes_at_owner},
      {"srq.receive.empty_is_rnr", empty_is_rnr},
      {"srq.error.receives_stay", receives_stay},
      {"srq.xrc.number", xrc_number},
  };
  return kBodies;
}

}  // namespace conform
