// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// RDMA WRITE, with and without immediate data, and RDMA READ.
namespace conform {

namespace {

using verbena::QpType;

constexpr std::size_t kMoved = 300;
constexpr std::size_t kAt = 64;

SendWork write_of(Loop& loop, std::uint64_t wr_id) {
  return {.opcode = IBV_WR_RDMA_WRITE,
          .wr_id = wr_id,
          .sges = {loop.a().sge(0, kMoved)},
          .remote = loop.b().remote(kAt),
          .rkey = loop.b().rkey()};
}

SendWork write_imm_of(Loop& loop, std::uint64_t wr_id, std::uint32_t imm) {
  SendWork work = write_of(loop, wr_id);
  work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  work.imm = imm;
  return work;
}

SendWork read_of(Loop& loop, std::uint64_t wr_id) {
  return {.opcode = IBV_WR_RDMA_READ,
          .wr_id = wr_id,
          .sges = {loop.a().sge(kAt, kMoved)},
          .remote = loop.b().remote(0),
          .rkey = loop.b().rkey()};
}

/// A message behind the RDMA operation, so that everything of it has come at an unreliable peer as well.
void sync(Case& c, Loop& loop, std::uint64_t recv_wr_id) {
  constexpr std::size_t kFar = 8192;
  c.need(c.accepted(loop.send(loop.a(), 99, kFar, 4), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send behind it"));
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a send behind it"));
  c.equal(received->wr_id, recv_wr_id, "the wr_id of the receive that the send behind it found");
  c.equal(received->opcode, IBV_WC_RECV, "the opcode of the receive that the send behind it found");
}

constexpr std::size_t kRoom = 16384;  // where receives are, far from what is written

void write_carries(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    c.need(c.accepted(loop.receive(loop.b(), 7, kRoom, 64), "ibv_post_recv"));
    c.need(c.accepted(post(loop.a(), write_of(loop, 8)), "ibv_post_send"));
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the write");
    sync(c, loop, 7);
    same_bytes(c, loop.b().data() + kAt, loop.a().data(), kMoved, "a write");
    untouched(c, loop.b().data(), kAt, kOld, "before what was written");
    untouched(c, loop.b().data() + kAt + kMoved, 256, kOld, "behind what was written");
  }
}

void write_consumes_no_receive(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    for (const std::uint64_t wr_id : {7U, 9U}) {
      c.need(c.accepted(loop.receive(loop.b(), wr_id, kRoom, 64), "ibv_post_recv"));
    }
    c.need(c.accepted(post(loop.a(), write_of(loop, 8)), "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the write"));
    c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a write gave its target a receive completion");
    c.holds(quiet(c, loop.b().send_cq.raw(), std::chrono::milliseconds(1)), Seen::completion,
            "a write gave its target a send completion");
    sync(c, loop, 7);
  }
}

void write_send_fields(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    c.need(c.accepted(post(loop.a(), write_of(loop, 0xfedcba9876543210U)), "ibv_post_send"));
    const auto wc = next(c, loop.a().send_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the write"));
    c.equal(wc->opcode, IBV_WC_RDMA_WRITE, "the opcode of a write");
    c.equal(wc->wr_id, 0xfedcba9876543210U, "the wr_id of a write");
    c.equal(wc->qp_num, loop.a().qp->qp_num, "qp_num of a write");
  }
}

/// The receive's completion of one write with immediate.
std::optional<ibv_wc> write_imm(Case& c, Loop& loop, const ReceiveWork& receive, const SendWork& work) {
  c.need(c.accepted(post(loop.b(), receive), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), work), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the write with immediate");
  auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a write with immediate"));
  return received;
}

void write_imm_carries(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    const std::vector<ibv_sge> room = {loop.b().sge(kRoom, 64)};
    c.need(c.accepted(post(loop.b(), ReceiveWork{11, room}), "ibv_post_recv"));
    const auto received = write_imm(c, loop, {12, room}, write_imm_of(loop, 8, 0xa1b2c3d4U));
    c.equal(received->imm_data, 0xa1b2c3d4U, "imm_data");
    c.equal(received->wr_id, 11U, "the wr_id of the receive that was used");
    same_bytes(c, loop.b().data() + kAt, loop.a().data(), kMoved, "a write with immediate");
    untouched(c, loop.b().data(), kAt, kOld, "before what was written");
    untouched(c, loop.b().data() + kAt + kMoved, 256, kOld, "behind what was written");
    c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a write with immediate used a second receive");
  }
}

void write_imm_receive_fields(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    const auto received = write_imm(c, loop, {11, {loop.b().sge(kRoom, 64)}}, write_imm_of(loop, 8, 5));
    c.equal(received->opcode, IBV_WC_RECV_RDMA_WITH_IMM, "the opcode");
    c.holds((received->wc_flags & IBV_WC_WITH_IMM) != 0, Seen::value, "IBV_WC_WITH_IMM is not set");
    c.equal(received->byte_len, kMoved, "byte_len");
    c.equal(received->qp_num, loop.b().qp->qp_num, "qp_num");
  }
}

void write_imm_receive_buffer_untouched(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    write_imm(c, loop, {11, {loop.b().sge(kRoom, 1024)}}, write_imm_of(loop, 8, 5));
    same_bytes(c, loop.b().data() + kAt, loop.a().data(), kMoved, "a write with immediate");
    untouched(c, loop.b().data() + kRoom, 1024, kOld, "the buffer of the receive");
  }
}

void write_imm_receive_without_sge(Case& c) {
  Loop loop(c, {});
  set_apart(loop);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, kMoved, std::size_t{3} * loop.mtu() + 1}) {
    SendWork work = write_imm_of(loop, 8, 77);
    work.sges = {loop.a().sge(0, length)};
    const auto received = write_imm(c, loop, {11, {}}, work);
    c.equal(received->imm_data, 77U, "imm_data");
    c.equal(received->byte_len, length, "byte_len");
    same_bytes(c, loop.b().data() + kAt, loop.a().data(), length, "a write with immediate");
  }
}

void read_carries(Case& c) {
  Loop loop(c, {});
  loop.b().memory->fill(2);
  std::memset(loop.a().data(), kOld, loop.a().memory->size());
  c.need(c.accepted(post(loop.a(), read_of(loop, 8)), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the read"));
  same_bytes(c, loop.a().data() + kAt, loop.b().data(), kMoved, "a read");
  untouched(c, loop.a().data(), kAt, kOld, "before what was read");
  untouched(c, loop.a().data() + kAt + kMoved, 256, kOld, "behind what was read");
}

void read_passive_peer(Case& c) {
  Loop loop(c, {});
  loop.b().memory->fill(2);
  c.need(c.accepted(loop.receive(loop.b(), 7, kRoom, 64), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), read_of(loop, 8)), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the read"));
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a read gave its source a receive completion");
  c.holds(quiet(c, loop.b().send_cq.raw(), std::chrono::milliseconds(1)), Seen::completion,
          "a read gave its source a send completion");
  sync(c, loop, 7);
}

/// Several packets, and the last byte is looked at as soon as the completion is there.
void read_fields(Case& c) {
  Loop loop(c, {.bytes = 1U << 17});
  loop.b().memory->fill(2);
  const std::size_t length = std::min<std::size_t>(16 * std::size_t{loop.mtu()}, 1U << 16);
  for (std::uint64_t round = 0; round < 8; ++round) {
    std::memset(loop.a().data(), kOld, loop.a().memory->size());
    SendWork work = read_of(loop, 0xabcd000000000000U + round);
    work.sges = {loop.a().sge(kAt, length)};
    c.need(c.accepted(post(loop.a(), work), "ibv_post_send"));
    const auto wc = next(c, loop.a().send_cq.raw());
    const bool whole = std::memcmp(loop.a().data() + kAt, loop.b().data(), length) == 0;
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the read"));
    c.holds(whole, Seen::no_data, "a read completed before its bytes were in place");
    c.equal(wc->opcode, IBV_WC_RDMA_READ, "the opcode of a read");
    c.equal(wc->wr_id, 0xabcd000000000000U + round, "the wr_id of a read");
  }
}

}  // namespace

Bodies data_rdma_bodies() {
  static constexpr Body kBodies[] = {
      {"data.write.carries", write_carries},
      {"data.write.consumes_no_receive", write_consumes_no_receive},
      {"data.write.send_fields", write_send_fields},
      {"data.write_imm.carries", write_imm_carries},
      {"data.write_imm.receive_fields", write_imm_receive_fields},
      {"data.write_imm.receive_buffer_untouched", write_imm_receive_buffer_untouched},
      {"data.write_imm.receive_without_sge", write_imm_receive_without_sge},
      {"data.read.carries", read_carries},
      {"data.read.passive_peer", read_passive_peer},
      {"data.read.fields", read_fields},
  };
  return kBodies;
}

}  // namespace conform
