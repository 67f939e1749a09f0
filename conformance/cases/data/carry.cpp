// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// Sends, with and without immediate data or a key to invalidate.
namespace conform {

namespace {

using verbena::QpType;

constexpr std::size_t kCarried = 200;
constexpr std::size_t kBehind = 50;

struct Message {
  std::optional<ibv_wc> sent;
  std::optional<ibv_wc> received;
};

/// One message of kCarried into a receive that has room for more.
Message exchange(Case& c, Loop& loop, const SendWork& work) {
  const std::size_t head = head_of(loop.shape().type);
  c.need(c.accepted(loop.receive(loop.b(), 7, 0, head + kCarried + kBehind), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), work), "ibv_post_send"));
  Message message;
  message.sent = next(c, loop.a().send_cq.raw());
  c.completed(message.sent, IBV_WC_SUCCESS, "the send");
  message.received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(message.received, IBV_WC_SUCCESS, "the receive"));
  return message;
}

void send_carries(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    const std::size_t head = head_of(type);
    set_apart(loop);
    exchange(c, loop, {.wr_id = 8, .sges = {loop.a().sge(0, kCarried)}});
    same_bytes(c, loop.b().data() + head, loop.a().data(), kCarried, "a send");
    untouched(c, loop.b().data() + head + kCarried, kBehind, kOld, "behind a message, within its receive");
    untouched(c, loop.b().data() + head + kCarried + kBehind, 256, kOld, "behind the receive");
  }
}

void send_receive_fields(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    const Message message = exchange(c, loop, {.wr_id = 8, .sges = {loop.a().sge(0, kCarried)}});
    c.equal(message.received->opcode, IBV_WC_RECV, "the opcode of a receive");
    c.equal(message.received->wr_id, 7U, "the wr_id of a receive");
    c.equal(message.received->byte_len, kCarried, "byte_len of a receive");
    c.equal(message.received->qp_num, loop.b().qp->qp_num, "qp_num of a receive");
  }
}

void send_send_fields(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    const Message message = exchange(c, loop, {.wr_id = 0x123456789abcdef0U, .sges = {loop.a().sge(0, kCarried)}});
    c.need(message.sent.has_value());
    c.equal(message.sent->opcode, IBV_WC_SEND, "the opcode of a send");
    c.equal(message.sent->wr_id, 0x123456789abcdef0U, "the wr_id of a send");
    c.equal(message.sent->qp_num, loop.a().qp->qp_num, "qp_num of a send");
  }
}

SendWork immediate(const End& from, std::uint32_t imm) {
  return {.opcode = IBV_WR_SEND_WITH_IMM, .wr_id = 8, .sges = {from.sge(0, kCarried)}, .imm = imm};
}

void imm_carries(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    for (const std::uint32_t imm : {0x01020304U, 0xffffffffU, 0x80000001U}) {
      set_apart(loop);
      const Message message = exchange(c, loop, immediate(loop.a(), imm));
      c.equal(message.received->imm_data, imm, "imm_data of a receive");
      c.holds((message.received->wc_flags & IBV_WC_WITH_IMM) != 0, Seen::value, "IBV_WC_WITH_IMM is not set");
      same_bytes(c, loop.b().data() + head_of(type), loop.a().data(), kCarried, "a send with immediate");
    }
  }
}

void imm_byte_order(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    const std::uint8_t laid[4] = {0x11, 0x22, 0x33, 0x44};
    std::uint32_t imm = 0;
    std::memcpy(&imm, laid, sizeof imm);
    const Message message = exchange(c, loop, immediate(loop.a(), imm));
    const std::uint32_t got = message.received->imm_data;
    c.holds(std::memcmp(&got, laid, sizeof laid) == 0, Seen::value, "the bytes of imm_data came in another order");
  }
}

void imm_zero_value(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    set_apart(loop);
    const Message with = exchange(c, loop, immediate(loop.a(), 0));
    c.holds((with.received->wc_flags & IBV_WC_WITH_IMM) != 0, Seen::value,
            "immediate data 0 came without IBV_WC_WITH_IMM");
    c.equal(with.received->imm_data, 0U, "imm_data of a receive");
    const Message without = exchange(c, loop, {.wr_id = 8, .sges = {loop.a().sge(0, kCarried)}});
    c.holds((without.received->wc_flags & IBV_WC_WITH_IMM) == 0, Seen::value,
            "a send without immediate data came with IBV_WC_WITH_IMM");
  }
}

/// The key is a type 2 window's where there are any, since regions of ibv_reg_mr need not be invalidated from afar;
/// else a region's, which is all that is left.
void inv_invalidates(Case& c) {
  const bool windows = c.native(verbena::Feature::memory_window_2) && c.native(verbena::Feature::bind_mw);
  LoopShape shape;
  if (windows) shape.access |= IBV_ACCESS_MW_BIND;
  Loop loop(c, shape);
  set_apart(loop);
  Memory memory(c.verbs().page_size(), c.verbs().page_size());
  Object<ibv_mw> window;
  Object<ibv_mr> region;
  std::uint32_t key = 0;
  if (windows) {
    window = c.made(loop.b().way->mw(loop.b().pd.raw(), IBV_MW_TYPE_2), "ibv_alloc_mw");
    ibv_send_wr bind{};
    bind.wr_id = 3;
    bind.opcode = IBV_WR_BIND_MW;
    bind.send_flags = IBV_SEND_SIGNALED;
    key = ibv_inc_rkey(window->rkey);
    bind.bind_mw.mw = window.raw();
    bind.bind_mw.rkey = key;
    bind.bind_mw.bind_info = {loop.b().mr.raw(), loop.b().memory->address(), 4096, IBV_ACCESS_REMOTE_WRITE};
    c.need(c.accepted(loop.post(loop.b(), bind), "ibv_post_send of a bind"));
    c.need(c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS, "the bind"));
    // What is invalidated must have worked.
    c.need(c.accepted(post(loop.a(), {.opcode = IBV_WR_RDMA_WRITE,
                                      .wr_id = 4,
                                      .sges = {loop.a().sge(0, 8)},
                                      .remote = loop.b().remote(0),
                                      .rkey = key}),
                      "ibv_post_send of a write"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a write through the window"));
  } else {
    region = c.made(loop.b().way->mr(loop.b().pd.raw(), {.address = memory.data(),
                                                         .length = memory.size(),
                                                         .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
                    "ibv_reg_mr");
    key = region->rkey;
  }
  const Message message = exchange(
      c, loop, {.opcode = IBV_WR_SEND_WITH_INV, .wr_id = 8, .sges = {loop.a().sge(0, kCarried)}, .invalidate = key});
  c.equal(message.received->opcode, IBV_WC_RECV, "the opcode of the receive");
  c.holds((message.received->wc_flags & IBV_WC_WITH_INV) != 0, Seen::value, "IBV_WC_WITH_INV is not set");
  c.equal(message.received->invalidated_rkey, key, "invalidated_rkey");
  // The key no longer gives any right.
  c.need(c.accepted(post(loop.a(), {.opcode = IBV_WR_RDMA_WRITE,
                                    .wr_id = 5,
                                    .sges = {loop.a().sge(0, 8)},
                                    .remote = windows ? loop.b().remote(4096 - 8) : memory.address(),
                                    .rkey = key}),
                    "ibv_post_send of a write"));
  const auto after = next(c, loop.a().send_cq.raw());
  if (!iwarp(c)) {
    c.holds(after && after->status != IBV_WC_SUCCESS, Seen::accepted, "a write with the invalidated key succeeded");
  }
  if (windows) {
    untouched(c, loop.b().data() + 4096 - 8, 8, kOld, "a write with the invalidated key");
  } else {
    untouched(c, memory.data(), 8, 0, "a write with the invalidated key");
  }
}

}  // namespace

Bodies data_carry_bodies() {
  static constexpr Body kBodies[] = {
      {"data.send.carries", send_carries},
      {"data.send.receive_fields", send_receive_fields},
      {"data.send.send_fields", send_send_fields},
      {"data.send_imm.carries", imm_carries},
      {"data.send_imm.byte_order", imm_byte_order},
      {"data.send_imm.zero_value", imm_zero_value},
      {"data.send_inv.invalidates", inv_invalidates},
  };
  return kBodies;
}

}  // namespace conform
