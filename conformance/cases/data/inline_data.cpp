// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"
#include "verbena/fit.hpp"

// Data that is copied when it is posted.
namespace conform {

namespace {

using verbena::Field;
using verbena::QpType;

constexpr unsigned kInline = IBV_SEND_SIGNALED | IBV_SEND_INLINE;

LoopShape inline_shape(Case& c, QpType type = QpType::rc, std::uint32_t bytes = 1024) {
  LoopShape shape;
  shape.type = type;
  shape.cap.max_send_sge = c.within(Field::max_send_sge, 3);
  shape.cap.max_inline_data = c.within(Field::max_inline_data, bytes);
  // With so many SGEs and of this type there may be room for less.
  verbena::QpRequest request;
  request.type = type;
  request.max_send_wr = {.want = shape.cap.max_send_wr};
  request.max_recv_wr = {.want = shape.cap.max_recv_wr};
  request.max_send_sge = {.want = shape.cap.max_send_sge};
  request.max_recv_sge = {.want = shape.cap.max_recv_sge};
  request.max_inline_data = {.want = shape.cap.max_inline_data};
  if (const auto fitted = verbena::fit(request, c.contract()); fitted) {
    const std::uint64_t room = fitted->grant.max_inline_data().granted;
    shape.cap.max_inline_data = static_cast<std::uint32_t>(std::min<std::uint64_t>(shape.cap.max_inline_data, room));
  }
  return shape;
}

/// Posts the work and takes its receive, which has room for all of it and more.
ibv_wc exchange(Case& c, Loop& loop, const SendWork& work, const std::string& what) {
  c.need(c.accepted(loop.receive(loop.b(), 7, 8192, 4096), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), work), "ibv_post_send of " + what));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, what));
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of " + what));
  return *received;
}

/// Every length for RC; each eighth and those at the ends for the others, which share the way to the ring.
void every_length(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, inline_shape(c, type));
    const std::size_t head = head_of(type);
    const std::uint32_t most = loop.a().cap.max_inline_data;
    c.need(c.holds(most > 0, Seen::value, "creation granted no inline bytes"));
    const std::uint32_t step = type == QpType::rc ? 1 : 8;
    loop.a().memory->fill(1);
    for (std::uint32_t length = 0; length <= most;
         length = length + step > most && length < most ? most : length + step) {
      const std::string what = "an inline send of " + std::to_string(length) + " bytes";
      std::memset(loop.b().data() + 8192, kOld, most + 128);
      const ibv_wc received =
          exchange(c, loop, {.wr_id = 8, .sges = {loop.a().sge(0, length)}, .flags = kInline}, what);
      c.equal(received.byte_len, head + length, "byte_len of " + what);
      c.need(same_bytes(c, loop.b().data() + 8192 + head, loop.a().data(), length, what));
      c.need(untouched(c, loop.b().data() + 8192 + head + length, 32, kOld, "behind " + what));
    }
  }
}

void inline_write(Case& c) {
  Loop loop(c, inline_shape(c));
  const std::uint32_t most = loop.a().cap.max_inline_data;
  set_apart(loop);
  c.need(c.accepted(post(loop.a(), {.opcode = IBV_WR_RDMA_WRITE,
                                    .wr_id = 8,
                                    .sges = {loop.a().sge(0, most)},
                                    .flags = kInline,
                                    .remote = loop.b().remote(64),
                                    .rkey = loop.b().rkey()}),
                    "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an inline write"));
  exchange(c, loop, {.wr_id = 9, .sges = {loop.a().sge(0, 4)}}, "a send behind an inline write");
  same_bytes(c, loop.b().data() + 64, loop.a().data(), most, "an inline write");
  untouched(c, loop.b().data() + 64 + most, 128, kOld, "behind an inline write");
}

void several_sges(Case& c) {
  const LoopShape shape = inline_shape(c);
  Loop loop(c, shape);
  const std::uint32_t most = loop.a().cap.max_inline_data;
  c.need(c.holds(most >= 8 && shape.cap.max_send_sge >= 2, Seen::value, "fewer than 8 inline bytes or 2 SGEs"));
  set_apart(loop);
  std::vector<ibv_sge> sges = {loop.a().sge(4096, 3), loop.a().sge(0, most - 5)};
  if (shape.cap.max_send_sge >= 3) {
    sges.push_back(loop.a().sge(2048, 2));
  } else {
    sges[1].length += 2;
  }
  std::vector<std::uint8_t> sent;
  for (const ibv_sge& sge : sges) {
    const auto* const from = loop.a().data() + (sge.addr - loop.a().memory->address());
    sent.insert(sent.end(), from, from + sge.length);
  }
  exchange(c, loop, {.wr_id = 8, .sges = sges, .flags = kInline}, "an inline send of several SGEs");
  same_bytes(c, loop.b().data() + 8192, sent.data(), sent.size(), "an inline send of several SGEs");
}

void with_immediate(Case& c) {
  Loop loop(c, inline_shape(c));
  const std::uint32_t length = std::min(loop.a().cap.max_inline_data, 48U);
  set_apart(loop);
  const ibv_wc sent = exchange(c, loop,
                               {.opcode = IBV_WR_SEND_WITH_IMM,
                                .wr_id = 8,
                                .sges = {loop.a().sge(0, length)},
                                .flags = kInline,
                                .imm = 0x0a0b0c0d},
                               "an inline send with immediate");
  c.equal(sent.imm_data, 0x0a0b0c0dU, "imm_data of an inline send");
  same_bytes(c, loop.b().data() + 8192, loop.a().data(), length, "an inline send with immediate");
  const ibv_wc written = exchange(c, loop,
                                  {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                   .wr_id = 8,
                                   .sges = {loop.a().sge(256, length)},
                                   .flags = kInline,
                                   .remote = loop.b().remote(64),
                                   .rkey = loop.b().rkey(),
                                   .imm = 0xf1f2f3f4},
                                  "an inline write with immediate");
  c.equal(written.imm_data, 0xf1f2f3f4U, "imm_data of an inline write");
  same_bytes(c, loop.b().data() + 64, loop.a().data() + 256, length, "an inline write with immediate");
}

void buffer_free_at_return(Case& c) {
  Loop loop(c, inline_shape(c));
  const std::uint32_t most = loop.a().cap.max_inline_data;
  for (int round = 0; round < 16; ++round) {
    set_apart(loop);
    const std::vector<std::uint8_t> sent(loop.a().data(), loop.a().data() + most);
    c.need(c.accepted(loop.receive(loop.b(), 7, 8192, 4096), "ibv_post_recv"));
    const int error = post(loop.a(), {.wr_id = 8, .sges = {loop.a().sge(0, most)}, .flags = kInline});
    std::memset(loop.a().data(), 0xee, most);
    c.need(c.accepted(error, "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "an inline send"));
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of an inline send"));
    same_bytes(c, loop.b().data() + 8192, sent.data(), most, "an inline send whose buffer was overwritten");
  }
}

void lkey_not_checked(Case& c) {
  Loop loop(c, inline_shape(c));
  const std::uint32_t most = loop.a().cap.max_inline_data;
  Memory unknown(c.verbs().page_size(), c.verbs().page_size());
  unknown.fill(12);
  for (const std::uint32_t lkey : {0U, unknown_key(loop.a().mr->lkey)}) {
    set_apart(loop);
    exchange(c, loop, {.wr_id = 8, .sges = {{unknown.address(), most, lkey}}, .flags = kInline},
             "an inline send from memory without a region");
    same_bytes(c, loop.b().data() + 8192, unknown.data(), most, "an inline send from memory without a region");
  }
}

/// A send that works before and after shows that it was the length that was refused.
void too_long_refused(Case& c) {
  Loop loop(c, inline_shape(c, QpType::rc, 64));
  const std::uint32_t most = inline_held(c, loop.a());
  set_apart(loop);
  exchange(c, loop, {.wr_id = 8, .sges = {loop.a().sge(0, most)}, .flags = kInline}, "an inline send at the limit");
  c.need(c.accepted(loop.receive(loop.b(), 7, 8192, 4096), "ibv_post_recv"));
  const SendWork over[] = {{.wr_id = 9, .sges = {loop.a().sge(0, most + 1)}, .flags = kInline}};
  const Posted posted = post_list(loop.a(), over);
  const std::string what =
      "ibv_post_send of " + std::to_string(most + 1) + " inline bytes, " + std::to_string(most) + " being granted";
  if (!c.holds(posted.error != 0, Seen::accepted, what + " succeeded and was to be refused")) return;
  c.equal(posted.bad, 0, "the work request that bad_wr names");
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "a refused inline send arrived");
  c.need(c.accepted(post(loop.a(), {.wr_id = 10, .sges = {loop.a().sge(0, most)}, .flags = kInline}),
                    "ibv_post_send after a refused one"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send after a refused one");
}

void read_refused(Case& c) {
  Loop loop(c, inline_shape(c, QpType::rc, 64));
  set_apart(loop);
  const SendWork work[] = {{.opcode = IBV_WR_RDMA_READ,
                            .wr_id = 9,
                            .sges = {loop.a().sge(0, 16)},
                            .flags = kInline,
                            .remote = loop.b().remote(0),
                            .rkey = loop.b().rkey()}};
  c.holds(post_list(loop.a(), work).error != 0, Seen::accepted, "an inline RDMA READ was taken");
}

}  // namespace

Bodies data_inline_bodies() {
  static constexpr Body kBodies[] = {
      {"data.inline.every_length", every_length},
      {"data.inline.write", inline_write},
      {"data.inline.several_sges", several_sges},
      {"data.inline.with_immediate", with_immediate},
      {"data.inline.buffer_free_at_return", buffer_free_at_return},
      {"data.inline.lkey_not_checked", lkey_not_checked},
      {"data.inline.too_long_refused", too_long_refused},
      {"data.inline.read_refused", read_refused},
  };
  return kBodies;
}

}  // namespace conform
