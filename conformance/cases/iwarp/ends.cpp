// SPDX-License-Identifier: Apache-2.0 OR MIT
// RDMA by iWARP's rules: what ends the connection, and what a READ needs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/loop.hpp"
#include "rig/work.hpp"

namespace conform {

namespace {

using verbena::QpType;

/// A receive at each end, which the end of the connection flushes.
void lie_in_wait(Case& c, Loop& loop) {
  for (End* end : {&loop.a(), &loop.b()}) {
    c.need(c.accepted(loop.receive(*end, 99, 8000, 8), "ibv_post_recv"));
  }
}

void ended(Case& c, Loop& loop, std::string_view what) {
  for (End* end : {&loop.a(), &loop.b()}) {
    const std::optional<ibv_wc> wc = next(c, end->recv_cq.raw());
    c.completed(wc, IBV_WC_WR_FLUSH_ERR,
                fmt::format("the receive of the {}, after {}", end == &loop.a() ? "requester" : "responder", what));
  }
}

/// The same write, allowed, goes before it: so what is refused is refused for its one fault.
void writes(Case& c, Loop& loop, std::uint64_t address, std::uint32_t rkey, std::size_t length) {
  SendWork work;
  work.opcode = IBV_WR_RDMA_WRITE;
  work.wr_id = 1;
  work.sges = {loop.a().sge(0, length)};
  work.remote = address;
  work.rkey = rkey;
  c.need(c.accepted(post(loop.a(), work), "ibv_post_send of an RDMA WRITE"));
}

void allowed_write(Case& c, Loop& loop) {
  loop.a().memory->fill(1);
  writes(c, loop, loop.b().remote(0), loop.b().rkey(), kBytes);
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an RDMA WRITE that is allowed"));
}

void write_bad_key(Case& c) {
  Loop loop(c, small_rc());
  allowed_write(c, loop);
  lie_in_wait(c, loop);
  std::fill_n(loop.b().data(), 8192, std::uint8_t{0xee});
  writes(c, loop, loop.b().remote(0), unknown_key(loop.b().rkey()), kBytes);
  ended(c, loop, "an RDMA WRITE with an rkey that was never given");
  untouched(c, loop.b().data(), 8192, 0xee, "an RDMA WRITE with an rkey that was never given");
}

void write_out_of_bounds(Case& c) {
  Loop loop(c, small_rc());
  allowed_write(c, loop);
  constexpr std::size_t kRegion = 2048;
  const Object<ibv_mr> region = c.made(
      loop.b().way->mr(
          loop.b().pd.raw(),
          {.address = loop.b().data(), .length = kRegion, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
      "ibv_reg_mr");
  writes(c, loop, loop.b().remote(kRegion - kBytes), region->rkey, kBytes);
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an RDMA WRITE up to the last byte of a region"));
  lie_in_wait(c, loop);
  std::fill_n(loop.b().data() + kRegion, 4096, std::uint8_t{0xee});
  writes(c, loop, loop.b().remote(kRegion - kBytes), region->rkey, kBytes + 1);
  ended(c, loop, "an RDMA WRITE that leaves its region by one byte");
  untouched(c, loop.b().data() + kRegion, 4096, 0xee, "an RDMA WRITE that leaves its region by one byte");
}

void write_forbidden(Case& c) {
  Loop loop(c, small_rc());
  allowed_write(c, loop);
  const Object<ibv_mr> region =
      c.made(loop.b().way->mr(loop.b().pd.raw(),
                              {.address = loop.b().data(), .length = 4096, .access = IBV_ACCESS_LOCAL_WRITE}),
             "ibv_reg_mr");
  lie_in_wait(c, loop);
  std::fill_n(loop.b().data(), 8192, std::uint8_t{0xee});
  writes(c, loop, loop.b().remote(0), region->rkey, kBytes);
  ended(c, loop, "an RDMA WRITE to a region without IBV_ACCESS_REMOTE_WRITE");
  untouched(c, loop.b().data(), 8192, 0xee, "an RDMA WRITE to a region without IBV_ACCESS_REMOTE_WRITE");
}

SendWork reading(Loop& loop, std::vector<ibv_sge> sges, std::uint32_t rkey) {
  SendWork work;
  work.opcode = IBV_WR_RDMA_READ;
  work.wr_id = 2;
  work.sges = std::move(sges);
  work.remote = loop.b().remote(0);
  work.rkey = rkey;
  return work;
}

void read_bad_key(Case& c) {
  Loop loop(c, small_rc());
  loop.b().memory->fill(2);
  c.need(c.accepted(post(loop.a(), reading(loop, {loop.a().sge(0, kBytes)}, loop.b().rkey())),
                    "ibv_post_send of an RDMA READ"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an RDMA READ that is allowed"));
  lie_in_wait(c, loop);
  const std::uint32_t key = unknown_key(loop.b().rkey());
  if (post(loop.a(), reading(loop, {loop.a().sge(0, kBytes)}, key)) == 0) {
    const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
    c.holds(wc.has_value(), Seen::no_completion, "an RDMA READ with an rkey that was never given did not complete");
    c.holds(!wc || wc->status != IBV_WC_SUCCESS, Seen::completion,
            "an RDMA READ with an rkey that was never given succeeded");
    // What the responder's own side comes to is left open.
    c.completed(next(c, loop.a().recv_cq.raw()), IBV_WC_WR_FLUSH_ERR,
                "the requester's receive, after an RDMA READ with an rkey that was never given");
  } else {
    c.holds(false, Seen::refused, "an RDMA READ was refused when posted for a key that only the peer can judge");
  }
}

void read_sink_remote_write(Case& c) {
  Loop loop(c, small_rc());
  const Object<ibv_mr> sink = c.made(
      loop.a().way->mr(
          loop.a().pd.raw(),
          {.address = loop.a().data(), .length = 4096, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
      "ibv_reg_mr");
  loop.a().memory->clear();
  loop.b().memory->fill(3);
  const ibv_sge sge{loop.a().memory->address(), kBytes, sink->lkey};
  c.need(c.accepted(post(loop.a(), reading(loop, {sge}, loop.b().rkey())), "ibv_post_send of an RDMA READ"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an RDMA READ into a region with remote write");
  same_bytes(c, loop.a().data(), loop.b().data(), kBytes, "an RDMA READ into a region with remote write");
}

/// One SGE more than the device itself says a READ may have.
void read_sge_limit(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  c.need(c.holds(device.max_sge_rd >= 1, Seen::value, "max_sge_rd is below 1"));
  const auto most = static_cast<std::size_t>(device.max_sge_rd);
  LoopShape shape = small_rc();
  shape.cap.max_send_sge = c.within(verbena::Field::max_send_sge, static_cast<std::uint32_t>(most) + 1);
  Loop loop(c, shape);
  if (shape.cap.max_send_sge <= most) return c.note("no queue pair takes more SGEs than a READ may have");
  loop.a().memory->clear();
  loop.b().memory->fill(4);
  std::vector<ibv_sge> sges;
  for (std::size_t at = 0; at <= most; ++at) {
    if (at == most) {
      c.need(c.accepted(post(loop.a(), reading(loop, sges, loop.b().rkey())), "an RDMA READ with max_sge_rd SGEs"));
      c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an RDMA READ with max_sge_rd SGEs"));
    }
    sges.push_back(loop.a().sge(at * 64, 16));
  }
  if (post(loop.a(), reading(loop, sges, loop.b().rkey())) != 0) return;
  const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
  c.holds(wc.has_value(), Seen::no_completion, "an RDMA READ with more SGEs than max_sge_rd did not complete");
  if (!wc || wc->status != IBV_WC_SUCCESS) return;
  Finding found;
  found.seen = Seen::completion;
  found.status = "SUCCESS";
  found.text = fmt::format("an RDMA READ with {} SGEs succeeded, and max_sge_rd is {}", most + 1, most);
  c.finding(std::move(found));
}

void send_no_receive(Case& c) {
  Loop loop(c, small_rc());
  c.need(c.accepted(loop.receive(loop.a(), 99, 0, 8), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 5, 0, kBytes), "ibv_post_send"));
  c.completed(next(c, loop.a().recv_cq.raw()), IBV_WC_WR_FLUSH_ERR,
              "the sender's own receive, after a send to a peer without one");
  // One that comes too late must not get it; whether it is flushed is another matter.
  std::fill_n(loop.b().data(), kBytes, std::uint8_t{0xee});
  if (loop.receive(loop.b(), 6, 0, kBytes) == 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    ibv_wc wc{};
    while (c.other_way().poll(loop.b().recv_cq.raw(), 1, &wc) == 0 && std::chrono::steady_clock::now() < deadline) {
    }
    if (wc.wr_id == 6) c.completed(wc, IBV_WC_WR_FLUSH_ERR, "a receive of the peer that came too late");
  }
  untouched(c, loop.b().data(), kBytes, 0xee, "a send to a peer without a receive");
}

void imm_absent_refused(Case& c) {
  if (c.native(verbena::Feature::send_with_imm)) return c.note("the contract has immediate data");
  Loop loop(c, small_rc());
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kBytes), "ibv_post_recv"));
  std::fill_n(loop.b().data(), kBytes, std::uint8_t{0xee});
  SendWork work;
  work.opcode = IBV_WR_SEND_WITH_IMM;
  work.wr_id = 7;
  work.sges = {loop.a().sge(0, kBytes)};
  work.imm = 0x01020304;
  c.refused(post(loop.a(), work), "a send with immediate data, which the contract lacks");
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "a send with immediate data that was refused arrived");
  untouched(c, loop.b().data(), kBytes, 0xee, "a send with immediate data that was refused");
}

}  // namespace

Bodies iwarp_ends_bodies() {
  static constexpr Body kBodies[] = {
      {"iwarp.write.bad_key_ends_connection", write_bad_key},
      {"iwarp.write.out_of_bounds_ends_connection", write_out_of_bounds},
      {"iwarp.write.forbidden_ends_connection", write_forbidden},
      {"iwarp.read.bad_key_fails", read_bad_key},
      {"iwarp.read.sink_remote_write", read_sink_remote_write},
      {"iwarp.read.sge_limit", read_sge_limit},
      {"iwarp.send.no_receive_ends_connection", send_no_receive},
      {"iwarp.imm.absent_refused", imm_absent_refused},
  };
  return kBodies;
}

}  // namespace conform
