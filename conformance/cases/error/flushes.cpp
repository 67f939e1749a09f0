// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/work.hpp"

// What becomes of work behind a failure.
namespace conform {

namespace {

using verbena::QpType;

constexpr std::size_t kFlushed = 32;

SendWork send_of(Loop& loop, std::uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED) {
  return {.wr_id = wr_id, .sges = {loop.a().sge(0, kFlushed)}, .flags = flags};
}

/// All of one failed list have completed.
bool complete(Case& c, const std::vector<ibv_wc>& all, std::size_t must) {
  return c.holds(all.size() >= must, Seen::no_completion,
                 std::to_string(all.size()) + " of " + std::to_string(must) + " completed") &&
         c.holds(all.size() <= must, Seen::completion, "more completed than were posted");
}

/// Everything that completes until nothing does for a while.
std::vector<ibv_wc> drained(Case& c, ibv_cq* cq, std::size_t expected) {
  std::vector<ibv_wc> all = next(c, cq, expected);
  ibv_wc wc{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  do {
    while (c.way().poll(cq, 1, &wc) == 1) all.push_back(wc);
  } while (std::chrono::steady_clock::now() < end);
  return all;
}

/// RC ends have no receive at the peer, so that all sends are outstanding; those of others may have completed before.
void each_once(Case& c) {
  constexpr std::uint64_t kSends = 6, kReceives = 5;
  for (const QpType type : c.qp_types()) {
    LoopShape shape;
    shape.type = type;
    shape.terms.min_rnr_timer = 20;  // 10.24 ms: long enough for the queue pair to be moved meanwhile
    Loop loop(c, shape);
    const bool held = type == QpType::rc && !iwarp(c);
    for (std::uint64_t at = 0; at < kReceives; ++at) {
      c.need(c.accepted(loop.receive(loop.a(), 100 + at, 0, 256), "ibv_post_recv"));
    }
    std::vector<SendWork> list;
    for (std::uint64_t at = 0; at < kSends; ++at) {
      list.push_back(send_of(loop, at, at % 2 == 0 ? 0U : unsigned{IBV_SEND_SIGNALED}));
    }
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    const Move error = to(IBV_QPS_ERR);
    c.need(c.accepted(loop.a().way->modify(loop.a().qp.raw(), error.attr, error.mask), "ibv_modify_qp to ERR"));
    std::map<std::uint64_t, int> sends, receives;
    for (const ibv_wc& wc : drained(c, loop.a().send_cq.raw(), held ? kSends : kSends / 2)) {
      ++sends[wc.wr_id];
      if (held) c.completed(wc, IBV_WC_WR_FLUSH_ERR, "an outstanding send");
      if (!held && wc.wr_id % 2 == 0) fails(c, wc, "an unsignalled send that completed");
    }
    for (const ibv_wc& wc : drained(c, loop.a().recv_cq.raw(), kReceives)) {
      ++receives[wc.wr_id];
      c.completed(wc, IBV_WC_WR_FLUSH_ERR, "an outstanding receive");
    }
    for (std::uint64_t at = 0; at < kSends; ++at) {
      const bool must = held || at % 2 == 1;
      c.holds(sends[at] <= 1, Seen::completion, "a send completed " + std::to_string(sends[at]) + " times");
      c.holds(!must || sends[at] == 1, Seen::no_completion,
              "send " + std::to_string(at) + " of " + std::string(verbena::name(type)) + " never completed");
    }
    for (std::uint64_t at = 0; at < kReceives; ++at) {
      c.holds(receives[100 + at] <= 1, Seen::completion, "a receive completed twice");
      c.holds(receives[100 + at] == 1, Seen::no_completion,
              "receive " + std::to_string(at) + " of " + std::string(verbena::name(type)) + " never completed");
    }
  }
}

constexpr std::uint64_t kFailing = 50;
constexpr std::uint64_t kFlushedBehind = 4;

/// One that fails and four behind it, in one list, of which the second and the last are unsignalled.
std::vector<ibv_wc> failed_list(Case& c, Loop& loop, unsigned flags = IBV_SEND_SIGNALED) {
  for (std::uint64_t at = 0; at < kFlushedBehind; ++at) {
    c.need(c.accepted(loop.receive(loop.b(), 10 + at, 4096, 256), "ibv_post_recv"));
  }
  std::vector<SendWork> list = {failing_work(c, loop, kFailing, flags)};
  for (std::uint64_t at = 0; at < kFlushedBehind; ++at) {
    list.push_back(send_of(loop, kFailing + 1 + at, at % 2 == 1 ? 0U : unsigned{IBV_SEND_SIGNALED}));
  }
  c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
  std::vector<ibv_wc> all = drained(c, loop.a().send_cq.raw(), 1 + kFlushedBehind);
  c.need(c.holds(!all.empty(), Seen::no_completion, "a send that fails did not complete"));
  return all;
}

void status(Case& c) {
  Loop loop(c, {});
  const std::vector<ibv_wc> all = failed_list(c, loop);
  fails(c, all.front(), "the one that fails");
  complete(c, all, 1 + kFlushedBehind);
  for (std::size_t at = 1; at < all.size(); ++at) c.completed(all[at], IBV_WC_WR_FLUSH_ERR, "one behind the failure");
}

void order(Case& c) {
  Loop loop(c, {});
  const std::vector<ibv_wc> all = failed_list(c, loop);
  complete(c, all, 1 + kFlushedBehind);
  for (std::size_t at = 0; at < all.size(); ++at) c.equal(all[at].wr_id, kFailing + at, "the wr_id in its place");
}

void wr_id(Case& c) {
  Loop loop(c, {});
  std::map<std::uint64_t, int> seen;
  for (const ibv_wc& wc : failed_list(c, loop)) {
    ++seen[wc.wr_id];
    c.equal(wc.qp_num, loop.a().qp->qp_num, "qp_num of a flushed send");
  }
  for (std::uint64_t at = 0; at <= kFlushedBehind; ++at) {
    c.holds(seen[kFailing + at] == 1, Seen::no_completion,
            "wr_id " + std::to_string(kFailing + at) + " completed " + std::to_string(seen[kFailing + at]) + " times");
  }
  c.equal(seen.size(), 1 + kFlushedBehind, "how many different wr_id came");
}

void failed_unsignalled_completes(Case& c) {
  Loop loop(c, {});
  c.need(c.accepted(post(loop.a(), failing_work(c, loop, kFailing, 0)), "ibv_post_send"));
  const auto wc = next(c, loop.a().send_cq.raw());
  c.need(fails(c, wc, "an unsignalled send that fails"));
  c.equal(wc->wr_id, kFailing, "wr_id");
}

void one_real_error(Case& c) {
  Loop loop(c, {});
  int real = 0;
  for (const ibv_wc& wc : failed_list(c, loop)) {
    if (wc.status != IBV_WC_WR_FLUSH_ERR && wc.status != IBV_WC_SUCCESS) ++real;
  }
  c.equal(real, 1, "how many completions name a cause");
}

void state_is_err(Case& c) {
  Loop loop(c, {});
  c.need(c.accepted(post(loop.a(), failing_work(c, loop, kFailing)), "ibv_post_send"));
  c.need(fails(c, next(c, loop.a().send_cq.raw()), "a write with an rkey that nobody has"));
  c.in_state(loop.a().qp.raw(), IBV_QPS_ERR, "after a completion in error was polled");
}

/// Two good ones have completed, unpolled, when the third fails.
void successes_before_stay(Case& c) {
  Loop loop(c, {});
  for (const std::uint64_t at : {10U, 11U}) {
    c.need(c.accepted(loop.receive(loop.b(), at, 4096, 256), "ibv_post_recv"));
    c.need(c.accepted(post(loop.a(), send_of(loop, at)), "ibv_post_send"));
  }
  c.need(c.holds(next(c, loop.b().recv_cq.raw(), 2).size() == 2, Seen::no_completion, "a send was not received"));
  // Both are acknowledged by the time that a third one, polled at its receiver, has been.
  c.need(c.accepted(post(loop.a(), failing_work(c, loop, kFailing)), "ibv_post_send"));
  const std::vector<ibv_wc> all = drained(c, loop.a().send_cq.raw(), 3);
  c.need(c.holds(all.size() == 3, Seen::no_completion, "not all of three completed"));
  c.completed(all[0], IBV_WC_SUCCESS, "a send before the failure");
  c.completed(all[1], IBV_WC_SUCCESS, "a send before the failure");
  fails(c, all[2], "the one that fails");
}

/// Writes behind a failure, each to a place of its own: success would mean that its bytes are there.
void never_success_after(Case& c) {
  Loop loop(c, {});
  loop.a().memory->fill(3);
  std::memset(loop.b().data(), 0x5a, loop.b().memory->size());
  std::vector<SendWork> list = {failing_work(c, loop, kFailing)};
  for (std::uint64_t at = 1; at <= kFlushedBehind; ++at) {
    list.push_back({.opcode = IBV_WR_RDMA_WRITE,
                    .wr_id = kFailing + at,
                    .sges = {loop.a().sge(at * 256, kFlushed)},
                    .remote = loop.b().remote(at * 256),
                    .rkey = loop.b().rkey()});
  }
  c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
  for (const ibv_wc& wc : drained(c, loop.a().send_cq.raw(), 1 + kFlushedBehind)) {
    const std::size_t at = (wc.wr_id - kFailing) * 256;
    const bool there = wc.wr_id != kFailing && std::memcmp(loop.b().data() + at, loop.a().data() + at, kFlushed) == 0;
    c.holds(wc.status != IBV_WC_SUCCESS || there, Seen::completion,
            "a write that was not carried out completed with success");
  }
}

/// Two pairs on the same domains and completion queues; one of them fails.
void other_queue_pairs(Case& c) {
  Loop loop(c, {});
  LoopShape shape;
  shape.a = {loop.a().pd.raw(), loop.a().send_cq.raw(), loop.a().recv_cq.raw(), nullptr};
  shape.b = {loop.b().pd.raw(), loop.b().send_cq.raw(), loop.b().recv_cq.raw(), nullptr};
  Loop other(c, shape);
  c.need(c.accepted(post(loop.a(), failing_work(c, loop, kFailing)), "ibv_post_send"));
  c.need(fails(c, next(c, loop.a().send_cq.raw()), "the one that fails"));
  other.a().memory->fill(2);
  for (std::uint64_t round = 0; round < 4; ++round) {
    c.need(c.accepted(other.receive(other.b(), round, 0, 256), "ibv_post_recv"));
    c.need(c.accepted(other.send(other.a(), round, 0, 256), "ibv_post_send on another queue pair"));
    const auto sent = next(c, other.a().send_cq.raw());
    c.need(c.completed(sent, IBV_WC_SUCCESS, "a send of another queue pair"));
    c.equal(sent->qp_num, other.a().qp->qp_num, "qp_num");
    c.need(c.completed(next(c, other.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of another queue pair"));
    same_bytes(c, other.b().data(), other.a().data(), 256, "a send of another queue pair");
  }
}

/// Four queue pairs on one completion queue whose size is all that they have outstanding.
void with_full_cq_room(Case& c) {
  constexpr std::uint32_t kPairs = 4, kReceives = 8;
  LoopShape shape;
  shape.cap.max_recv_wr = kReceives;
  shape.cqe = kPairs * kReceives;
  Loop first(c, shape);
  shape.a = {first.a().pd.raw(), first.a().send_cq.raw(), first.a().recv_cq.raw(), nullptr};
  std::vector<std::unique_ptr<Loop>> others;
  std::vector<Loop*> loops = {&first};
  for (std::uint32_t count = 1; count < kPairs; ++count) {
    others.push_back(std::make_unique<Loop>(c, shape));
    loops.push_back(others.back().get());
  }
  for (Loop* loop : loops) {
    for (std::uint64_t at = 0; at < kReceives; ++at) {
      c.need(c.accepted(loop->receive(loop->a(), at, 0, 256), "ibv_post_recv"));
    }
  }
  const Move error = to(IBV_QPS_ERR);
  for (Loop* loop : loops) {
    c.need(c.accepted(loop->a().way->modify(loop->a().qp.raw(), error.attr, error.mask), "ibv_modify_qp to ERR"));
  }
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> seen;
  for (const ibv_wc& wc : drained(c, first.a().recv_cq.raw(), std::size_t{kPairs} * kReceives)) {
    c.completed(wc, IBV_WC_WR_FLUSH_ERR, "an outstanding receive");
    ++seen[{wc.qp_num, wc.wr_id}];
  }
  for (Loop* loop : loops) {
    for (std::uint64_t at = 0; at < kReceives; ++at) {
      c.holds(seen[{loop->a().qp->qp_num, at}] == 1, Seen::no_completion, "a receive did not complete once");
    }
  }
}

/// The completion's memory is filled before it is polled, so that what is not written shows.
void valid_fields(Case& c) {
  Loop loop(c, {});
  c.need(c.accepted(post(loop.a(), failing_work(c, loop, kFailing)), "ibv_post_send"));
  ibv_wc wc{};
  std::memset(static_cast<void*>(&wc), 0xaa, sizeof wc);
  const auto end = std::chrono::steady_clock::now() + c.ground().completion_within;
  int count = 0;
  while (count == 0 && std::chrono::steady_clock::now() < end) {
    count = c.way().poll(loop.a().send_cq.raw(), 1, &wc);
  }
  c.need(c.holds(count == 1, Seen::no_completion, "a work request that fails did not complete"));
  c.equal(wc.wr_id, kFailing, "wr_id");
  c.equal(wc.qp_num, loop.a().qp->qp_num, "qp_num");
  c.holds(wc.status > IBV_WC_SUCCESS && wc.status <= IBV_WC_TM_RNDV_INCOMPLETE, Seen::value, "status is no error");
  c.holds(wc.vendor_err != 0xaaaaaaaaU, Seen::value, "vendor_err was not written");
}

}  // namespace

Bodies error_flushes_bodies() {
  static constexpr Body kBodies[] = {
      {"error.flush.each_once", each_once},
      {"error.flush.status", status},
      {"error.flush.order", order},
      {"error.flush.wr_id", wr_id},
      {"error.flush.failed_unsignalled_completes", failed_unsignalled_completes},
      {"error.flush.one_real_error", one_real_error},
      {"error.flush.state_is_err", state_is_err},
      {"error.flush.successes_before_stay", successes_before_stay},
      {"error.flush.never_success_after", never_success_after},
      {"error.flush.other_queue_pairs", other_queue_pairs},
      {"error.flush.with_full_cq_room", with_full_cq_room},
      {"error.status.valid_fields", valid_fields},
  };
  return kBodies;
}

}  // namespace conform
