// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/work.hpp"

// Signalling, and what is refused when it is posted.
namespace conform {

namespace {

using verbena::Field;
using verbena::QpType;

constexpr std::size_t kPosted = 32;

std::size_t slot(std::size_t at, std::size_t head) {
  return at * (head + kPosted);
}

void receives(Case& c, Loop& loop, std::uint64_t first, std::size_t count) {
  const std::size_t head = head_of(loop.shape().type);
  for (std::size_t at = 0; at < count; ++at) {
    c.need(c.accepted(loop.receive(loop.b(), first + at, slot(at, head), head + kPosted), "ibv_post_recv"));
  }
}

/// A send and its receive, so that the queue pair is shown to go on working.
void still_works(Case& c, Loop& loop) {
  c.need(c.accepted(loop.send(loop.a(), 900, 0, kPosted), "ibv_post_send after a refused one"));
  const auto sent = next(c, loop.a().send_cq.raw());
  c.need(c.completed(sent, IBV_WC_SUCCESS, "a send after a refused one"));
  c.equal(sent->wr_id, 900U, "the wr_id of a send after a refused one");
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send after a refused one");
}

void unsignalled_silent(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    receives(c, loop, 1, 3);
    for (const std::uint64_t wr_id : {10U, 11U}) {
      c.need(c.accepted(loop.send(loop.a(), wr_id, 0, kPosted, 0), "ibv_post_send"));
    }
    c.need(c.holds(next(c, loop.b().recv_cq.raw(), 2).size() == 2, Seen::no_completion,
                   "an unsignalled send was not received"));
    c.holds(quiet(c, loop.a().send_cq.raw()), Seen::completion, "an unsignalled send that succeeded gave a completion");
    // The signalled one behind them completes, and alone.
    c.need(c.accepted(loop.send(loop.a(), 12, 0, kPosted), "ibv_post_send"));
    const auto wc = next(c, loop.a().send_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the signalled send"));
    c.equal(wc->wr_id, 12U, "the wr_id of the one completion");
  }
}

void frees_earlier(Case& c) {
  for (const QpType type : c.qp_types()) {
    const std::uint32_t depth = c.within(Field::max_send_wr, 8);
    LoopShape shape;
    shape.type = type;
    shape.cap.max_send_wr = depth;
    shape.cap.max_recv_wr = c.within(Field::max_recv_wr, depth);
    Loop loop(c, shape);
    for (std::uint64_t round = 0; round < 5; ++round) {
      receives(c, loop, 1, depth);
      for (std::uint32_t at = 0; at < depth; ++at) {
        const unsigned flags = at + 1 == depth ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0U;
        c.need(c.accepted(loop.send(loop.a(), 100 * round + at, 0, kPosted, flags),
                          "ibv_post_send into a slot that should be free"));
      }
      const auto wc = next(c, loop.a().send_cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, "the signalled send"));
      c.equal(wc->wr_id, 100 * round + depth - 1, "wr_id");
      c.need(c.holds(next(c, loop.b().recv_cq.raw(), depth).size() == depth, Seen::no_completion,
                     "a send was not received"));
    }
  }
}

/// One SGE more than any queue pair of this device can have.
std::vector<ibv_sge> too_many(const Case& c, const End& end, Field field) {
  const auto most = std::min<std::uint64_t>(c.contract().domain(field).largest_grant(), 255);
  return std::vector<ibv_sge>(most + 1, end.sge(0, 1));
}

void list_stops_at_failure(Case& c) {
  Loop loop(c, {});
  receives(c, loop, 1, 5);
  std::vector<SendWork> list;
  for (std::uint64_t wr_id = 10; wr_id < 14; ++wr_id) {
    list.push_back({.wr_id = wr_id, .sges = {loop.a().sge(0, kPosted)}});
  }
  list[2].sges = too_many(c, loop.a(), Field::max_send_sge);
  const Posted posted = post_list(loop.a(), list);
  if (c.holds(posted.error != 0, Seen::accepted, "a list whose third work request is wrong was accepted whole")) {
    c.equal(posted.bad, 2, "the work request that bad_wr names");
  }
  for (const std::uint64_t wr_id : {10U, 11U}) {
    const auto wc = next(c, loop.a().send_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "a send before the wrong one"));
    c.equal(wc->wr_id, wr_id, "wr_id");
    c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send before the wrong one");
  }
  c.holds(quiet(c, loop.a().send_cq.raw()), Seen::completion, "what stood behind the wrong one was posted");
  c.holds(quiet(c, loop.b().recv_cq.raw(), std::chrono::milliseconds(1)), Seen::data,
          "what stood behind the wrong one arrived");
  still_works(c, loop);
}

/// One list that is longer than any rounding of the ring, so that nothing completes between.
void full_queue_refused(Case& c) {
  LoopShape shape;
  shape.cap.max_send_wr = c.within(Field::max_send_wr, 8);
  constexpr std::uint32_t kMany = 200;
  shape.cap.max_recv_wr = c.within(Field::max_recv_wr, kMany + 1);
  shape.cqe = c.within(Field::cqe, kMany + 1);
  Loop loop(c, shape);
  receives(c, loop, 1, std::min(shape.cap.max_recv_wr, kMany + 1));
  std::vector<SendWork> list;
  for (std::uint64_t wr_id = 0; wr_id < kMany; ++wr_id) {
    list.push_back({.wr_id = wr_id, .sges = {loop.a().sge(0, kPosted)}});
  }
  const Posted posted = post_list(loop.a(), list);
  std::size_t taken = 0;
  if (c.holds(posted.error != 0, Seen::accepted,
              "a list of " + std::to_string(kMany) + " into a queue of " + std::to_string(loop.a().cap.max_send_wr) +
                  " was accepted whole")) {
    c.need(c.holds(posted.bad >= 0, Seen::value, "bad_wr names none of the list"));
    taken = static_cast<std::size_t>(posted.bad);
    c.holds(taken >= loop.a().cap.max_send_wr, Seen::refused,
            "only " + std::to_string(taken) + " work requests went into a queue of " +
                std::to_string(loop.a().cap.max_send_wr));
    const auto completions = next(c, loop.a().send_cq.raw(), taken);
    c.need(c.holds(completions.size() == taken, Seen::no_completion, "a send before the refused one did not complete"));
    for (std::size_t at = 0; at < taken; ++at) c.equal(completions[at].wr_id, at, "wr_id");
  } else {
    // Those that did go in complete all the same.
    while (!quiet(c, loop.a().send_cq.raw())) ++taken;
  }
  c.need(c.holds(next(c, loop.b().recv_cq.raw(), taken).size() == taken, Seen::no_data, "a send was not received"));
  still_works(c, loop);
}

void full_receive_queue_refused(Case& c) {
  LoopShape shape;
  shape.cap.max_recv_wr = c.within(Field::max_recv_wr, 8);
  Loop loop(c, shape);
  std::vector<ReceiveWork> list;
  for (std::uint64_t wr_id = 0; wr_id < 200; ++wr_id) list.push_back({wr_id, {loop.b().sge(0, kPosted)}});
  const Posted posted = post_list(loop.b(), list);
  c.need(c.holds(posted.error != 0, Seen::accepted, "200 receives into a queue of 8 were accepted"));
  c.need(c.holds(posted.bad >= 0, Seen::value, "bad_wr names none of the list"));
  const auto taken = static_cast<std::uint64_t>(posted.bad);
  c.holds(
      taken >= loop.b().cap.max_recv_wr, Seen::refused,
      "only " + std::to_string(taken) + " receives went into a queue of " + std::to_string(loop.b().cap.max_recv_wr));
  for (std::uint64_t wr_id = 0; wr_id < taken; ++wr_id) {
    c.need(c.accepted(loop.send(loop.a(), wr_id, 0, kPosted), "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send"));
    const auto received = next(c, loop.b().recv_cq.raw());
    c.need(c.completed(received, IBV_WC_SUCCESS, "a receive posted before the refused one"));
    c.equal(received->wr_id, wr_id, "wr_id");
  }
}

/// What a queue holds: at least what was granted; a device that rounds up tells by a query.
ibv_qp_cap held(Case& c, const End& end) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(c.verbs().query_qp(end.qp.raw(), attr, IBV_QP_CAP, init), "ibv_query_qp"));
  ibv_qp_cap cap = end.cap;
  cap.max_send_sge = std::max(cap.max_send_sge, attr.cap.max_send_sge);
  cap.max_recv_sge = std::max(cap.max_recv_sge, attr.cap.max_recv_sge);
  return cap;
}

void too_many_sges_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    receives(c, loop, 1, 2);
    const std::uint32_t granted = held(c, loop.a()).max_send_sge;
    const SendWork over[] = {{.wr_id = 5, .sges = std::vector<ibv_sge>(granted + 1, loop.a().sge(0, 1))}};
    const Posted posted = post_list(loop.a(), over);
    if (!c.holds(posted.error != 0, Seen::accepted,
                 std::to_string(granted + 1) + " SGEs were taken where " + std::to_string(granted) + " were granted")) {
      continue;
    }
    c.equal(posted.bad, 0, "the work request that bad_wr names");
    still_works(c, loop);
  }
}

void receive_too_many_sges_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    const std::uint32_t granted = held(c, loop.b()).max_recv_sge;
    const ReceiveWork over[] = {{5, std::vector<ibv_sge>(granted + 1, loop.b().sge(0, 64))}};
    const Posted posted = post_list(loop.b(), over);
    if (!c.holds(posted.error != 0, Seen::accepted,
                 std::to_string(granted + 1) + " SGEs were taken where " + std::to_string(granted) + " were granted")) {
      continue;
    }
    c.equal(posted.bad, 0, "the receive that bad_wr names");
    receives(c, loop, 1, 1);
    still_works(c, loop);
  }
}

/// What was posted is refused at once, or completes in error; and nothing of it comes at the peer.
void refused_or_in_error(Case& c, Loop& loop, const SendWork& work, const std::string& what) {
  const std::size_t checked = 4096;
  std::memset(loop.b().data(), 0x5a, checked);
  const int error = post(loop.a(), work);
  if (error == 0) {
    const auto wc = next(c, loop.a().send_cq.raw());
    if (c.holds(wc.has_value(), Seen::no_completion, what + " was taken and did not complete")) {
      c.holds(wc->status != IBV_WC_SUCCESS, Seen::accepted, what + " completed with success");
    }
  }
  bool arrived = false;
  ibv_wc wc{};
  while (c.way().poll(loop.b().recv_cq.raw(), 1, &wc) == 1) arrived = arrived || wc.status == IBV_WC_SUCCESS;
  c.holds(!arrived, Seen::data, what + " arrived at the peer");
  untouched(c, loop.b().data(), checked, 0x5a, what);
}

/// 13 lies between the opcodes that verbs have and has never been one.
void unknown_opcode_refused(Case& c) {
  Loop loop(c, {});
  receives(c, loop, 1, 1);
  SendWork work{.wr_id = 5, .sges = {loop.a().sge(0, kPosted)}};
  work.remote = loop.b().remote(0);
  work.rkey = loop.b().rkey();
  int unknown = 13;
  std::memcpy(&work.opcode, &unknown, sizeof work.opcode);
  refused_or_in_error(c, loop, work, "an opcode that verbs lack");
}

void of_other_type_refused(Case& c) {
  struct Foreign {
    ibv_wr_opcode opcode;
    const char* word;
    bool on_uc;
  };
  static constexpr Foreign kForeign[] = {
      {IBV_WR_RDMA_WRITE, "an RDMA WRITE", false},
      {IBV_WR_RDMA_WRITE_WITH_IMM, "an RDMA WRITE with immediate", false},
      {IBV_WR_RDMA_READ, "an RDMA READ", true},
      {IBV_WR_ATOMIC_CMP_AND_SWP, "a compare-and-swap", true},
      {IBV_WR_ATOMIC_FETCH_AND_ADD, "a fetch-and-add", true},
  };
  for (const QpType type : c.qp_types()) {
    for (const Foreign& foreign : kForeign) {
      if (type == QpType::uc && !foreign.on_uc) continue;
      Loop loop(c, {.type = type});
      receives(c, loop, 1, 1);
      refused_or_in_error(c, loop,
                          {.opcode = foreign.opcode,
                           .wr_id = 5,
                           .sges = {loop.a().sge(0, 8)},
                           .remote = loop.b().remote(0),
                           .rkey = loop.b().rkey()},
                          std::string(foreign.word) + " on " + std::string(verbena::name(type)));
    }
  }
}

}  // namespace

Bodies data_posting_bodies() {
  static constexpr Body kBodies[] = {
      {"data.signal.unsignalled_silent", unsignalled_silent},
      {"data.signal.frees_earlier", frees_earlier},
      {"data.post.list_stops_at_failure", list_stops_at_failure},
      {"data.post.full_queue_refused", full_queue_refused},
      {"data.post.full_receive_queue_refused", full_receive_queue_refused},
      {"data.post.too_many_sges_refused", too_many_sges_refused},
      {"data.post.receive_too_many_sges_refused", receive_too_many_sges_refused},
      {"data.post.unknown_opcode_refused", unknown_opcode_refused},
      {"data.opcode.of_other_type_refused", of_other_type_refused},
  };
  return kBodies;
}

}  // namespace conform
