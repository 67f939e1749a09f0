// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <string>

#include "cases/address/by.hpp"
#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "verbena/transition.hpp"

namespace conform {

namespace {

using verbena::QpType;

void without_grh(Case& c) {
  if ((queried_port(c).flags & IBV_QPF_GRH_REQUIRED) != 0) return c.note("the port says IBV_QPF_GRH_REQUIRED");
  Loop loop(c, {.type = QpType::rc}, false);
  PathTo there = loop.path(loop.a(), loop.b());
  PathTo back = loop.path(loop.b(), loop.a());
  there.address.is_global = back.address.is_global = 0;
  connect_by(c, loop, there, back);
  arrives(c, loop, 3000, "a message without GRH");
}

// P_Keys and Q_Keys.

void pkey_index_above(Case& c) {
  const std::uint16_t length = queried_port(c).pkey_tbl_len;
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type}, false);
    Terms terms;
    terms.pkey_index = length;
    Move init = to_init(type, loop.a().port, terms);
    const int error = c.way().modify(loop.a().qp.raw(), init.attr, init.mask);
    if (!c.refused(error, "ibv_modify_qp to INIT with pkey_index pkey_tbl_len")) continue;
    terms.pkey_index = static_cast<std::uint16_t>(length - 1);
    init = to_init(type, loop.a().port, terms);
    c.accepted(c.way().modify(loop.a().qp.raw(), init.attr, init.mask),
               "ibv_modify_qp to INIT with the last pkey_index");
  }
}

/// The first two entries of the P_Key table that `differ` takes.
template <class Differ>
void by_pkeys(Case& c, Differ differ, const std::string& what) {
  const int length = queried_port(c).pkey_tbl_len;
  std::vector<std::uint16_t> keys(static_cast<std::size_t>(length));
  for (int index = 0; index < length; ++index) {
    c.need(c.accepted(c.verbs().query_pkey(c.context(), c.port(), index, keys[static_cast<std::size_t>(index)]),
                      "ibv_query_pkey"));
  }
  for (std::size_t one = 0; one < keys.size(); ++one) {
    for (std::size_t other = 0; other < keys.size(); ++other) {
      if ((keys[one] & 0x7fff) == 0 || (keys[other] & 0x7fff) == 0 || !differ(keys[one], keys[other])) continue;
      Loop loop(c, {.type = QpType::rc}, false);
      Terms a = impatient();
      Terms b = impatient();
      a.pkey_index = static_cast<std::uint16_t>(one);
      b.pkey_index = static_cast<std::uint16_t>(other);
      connect_by(c, loop, loop.path(loop.a(), loop.b()), loop.path(loop.b(), loop.a()), a, b);
      return never_arrives(c, loop, 64, what);
    }
  }
  c.blocked("subnet_manager", "the P_Key table has no such pair");
}

void pkey_mismatch(Case& c) {
  by_pkeys(
      c, [](std::uint16_t one, std::uint16_t other) { return (one & 0x7fff) != (other & 0x7fff); },
      "a message of another partition");
}

void two_limited(Case& c) {
  by_pkeys(
      c, [](std::uint16_t one, std::uint16_t other) { return one == other && (one & 0x8000) == 0; },
      "a message between two limited members");
}

void qkey_mismatch(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
  ibv_sge sge = loop.a().sge(0, 64);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {loop.a().ah.raw(), loop.b().qp->qp_num, loop.b().qkey ^ 0x5};
  ibv_send_wr* bad = nullptr;
  c.need(c.accepted(loop.a().way->post_send(loop.a().qp.raw(), wr, bad), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send of a datagram with another Q_Key");
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a datagram with another Q_Key was received");
  loop.a().memory->fill(4);
  c.need(c.accepted(loop.send(loop.a(), 2, 0, 64), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send of a datagram with the right Q_Key");
  c.need(
      c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a datagram with the right Q_Key"));
  c.holds(std::equal(loop.a().data(), loop.a().data() + 64, loop.b().data() + kGrhBytes), Seen::no_data, "other bytes");
}

// MTUs.

void each_mtu(Case& c) {
  const std::uint32_t wanted = static_cast<std::uint32_t>(std::stoul(c.with("mtu")));
  if (wanted > verbena::mtu_bytes(queried_port(c).active_mtu)) return c.note("above active_mtu");
  Loop loop(c, {.type = QpType::rc, .mtu = wanted});
  if (loop.mtu() < wanted) return c.note("above the other port's active_mtu");
  for (const std::size_t bytes : {std::size_t{wanted}, std::size_t{wanted} + 1, std::size_t{wanted} * 5 + 3}) {
    arrives(c, loop, bytes, "a message of " + std::to_string(bytes) + " bytes in packets of " + std::to_string(wanted));
  }
}

/// The sender's packets are larger than the receiver's path MTU.
struct Unlike {
  explicit Unlike(Case& c) : loop(c, {.type = QpType::rc}, false), least(256) {
    c.need(c.holds(loop.mtu() > least, Seen::value, "the path has room for the least MTU alone"));
    const PathTo there = loop.path(loop.a(), loop.b());
    PathTo back = loop.path(loop.b(), loop.a());
    back.mtu = IBV_MTU_256;
    connect_by(c, loop, there, back, impatient(), impatient());
  }
  Loop loop;
  std::uint32_t least;
};

void mismatch_fails(Case& c) {
  Unlike unlike(c);
  Loop& loop = unlike.loop;
  const std::size_t bytes = unlike.least * 3;
  loop.a().memory->fill(6);
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, bytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, bytes), "ibv_post_send"));
  const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
  if (!wc || wc->status == IBV_WC_SUCCESS)
    c.completed(wc, IBV_WC_REM_INV_REQ_ERR,
                "a message longer than the receiver's path_mtu from a sender with a larger one");
  ibv_wc received{};
  if (c.way().poll(loop.b().recv_cq.raw(), 1, &received) == 1 && received.status == IBV_WC_SUCCESS) {
    c.holds(received.byte_len == bytes && std::equal(loop.a().data(), loop.a().data() + bytes, loop.b().data()),
            Seen::data, "the message was received with other bytes");
  }
}

void mismatch_short(Case& c) {
  Unlike unlike(c);
  for (const std::size_t bytes : {1U, unlike.least - 1, unlike.least}) {
    arrives(c, unlike.loop, bytes, "a message no longer than the smaller path_mtu");
  }
}

/// A receiver of another type in the place of the right one.
void other_type(Case& c) {
  for (const QpType type : {QpType::ud, QpType::uc}) {
    if (!c.native(type == QpType::ud ? verbena::Feature::ud : verbena::Feature::uc)) continue;
    Loop receiver(c, {.type = type});
    Loop loop(c, {.type = QpType::rc}, false);
    PathTo there = loop.path(loop.a(), loop.b());
    there.qp_num = receiver.b().qp->qp_num;
    connect_by(c, loop, there, loop.path(loop.b(), loop.a()), impatient(), impatient());
    receiver.b().memory->clear();
    c.need(c.accepted(receiver.receive(receiver.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 2, 0, 64), "ibv_post_send"));
    const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
    if (!wc || wc->status == IBV_WC_SUCCESS)
      c.completed(wc, IBV_WC_RETRY_EXC_ERR, "a message of RC to a queue pair of another type");
    ibv_wc received{};
    c.holds(c.way().poll(receiver.b().recv_cq.raw(), 1, &received) == 0, Seen::completion,
            "a queue pair of another type received a message of RC");
  }
}

}  // namespace

Bodies address_path_bodies() {
  static constexpr Body kBodies[] = {
      {"address.grh.optional_in_subnet", without_grh},        {"address.pkey.index_above_refused", pkey_index_above},
      {"address.pkey.mismatch_dropped", pkey_mismatch},       {"address.pkey.two_limited_members", two_limited},
      {"address.qkey.mismatch_dropped", qkey_mismatch},       {"address.mtu.each_value", each_mtu},
      {"address.mtu.mismatch_fails_cleanly", mismatch_fails}, {"address.mtu.mismatch_short_messages", mismatch_short},
      {"address.dest.qp_of_other_type", other_type},
  };
  return kBodies;
}

}  // namespace conform
