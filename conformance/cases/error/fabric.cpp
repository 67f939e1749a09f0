// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/work.hpp"

// On a fabric that spoils packets. The bodies only send and compare: what is done to the packets is the run's.
namespace conform {

namespace {

constexpr std::uint64_t kMessages = 64;

LoopShape persistent() {
  LoopShape shape;
  shape.cap.max_send_wr = 16;
  shape.cap.max_recv_wr = 32;
  shape.bytes = 1U << 18;
  shape.terms.timeout = 12;  // 16.8 ms
  shape.terms.retry_cnt = 7;
  return shape;
}

/// Sends and writes by turns, of one to several packets; each arrives whole, once, and in its place.
void whole_once_in_order(Case& c) {
  Loop loop(c, persistent());
  const std::size_t mtu = loop.mtu();
  const std::size_t place = 4 * mtu;
  constexpr std::uint64_t kWindow = 8;
  loop.a().memory->fill(1);
  std::uint64_t received = 0;
  for (std::uint64_t first = 0; first < kMessages; first += kWindow) {
    std::memset(loop.b().data(), 0x5a, loop.b().memory->size());
    std::vector<std::size_t> lengths;
    for (std::uint64_t at = 0; at < kWindow; ++at) {
      const std::size_t length = (first + at) % 4 == 3 ? 3 * mtu + 1 : 1 + (first + at) * 7 % mtu;
      lengths.push_back(length);
      if (at % 2 == 0) {
        c.need(c.accepted(loop.receive(loop.b(), received + at / 2, at * place, place), "ibv_post_recv"));
        c.need(c.accepted(loop.send(loop.a(), first + at, at * place, length), "ibv_post_send"));
      } else {
        c.need(c.accepted(loop.write(loop.a(), loop.b(), first + at, at * place, length), "ibv_post_send of a write"));
      }
    }
    for (std::uint64_t at = 0; at < kWindow; ++at) {
      const auto wc = next(c, loop.a().send_cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, "a message"));
      c.equal(wc->wr_id, first + at, "wr_id");
    }
    for (std::uint64_t at = 0; at < kWindow; at += 2) {
      const auto wc = next(c, loop.b().recv_cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, "a receive"));
      c.equal(wc->wr_id, received++, "the wr_id of a receive");
      c.equal(wc->byte_len, lengths[at], "byte_len");
    }
    for (std::uint64_t at = 0; at < kWindow; ++at) {
      c.need(same_bytes(c, loop.b().data() + at * place, loop.a().data() + at * place, lengths[at], "a message"));
      c.need(untouched(c, loop.b().data() + at * place + lengths[at], 64, 0x5a, "behind a message"));
    }
  }
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a message was received twice");
}

void read_response_lost(Case& c) {
  LoopShape shape = persistent();
  shape.terms.max_rd_atomic = static_cast<std::uint8_t>(c.within(verbena::Field::max_rd_atomic, 4));
  shape.terms.max_dest_rd_atomic = static_cast<std::uint8_t>(c.within(verbena::Field::max_dest_rd_atomic, 4));
  Loop loop(c, shape);
  const std::size_t length = 6 * std::size_t{loop.mtu()} + 1;
  for (std::uint32_t round = 0; round < 32; ++round) {
    loop.b().memory->fill(round + 1);
    std::memset(loop.a().data(), 0x5a, 2 * length + 64);
    for (const std::uint64_t at : {0U, 1U}) {
      c.need(c.accepted(loop.read(loop.a(), loop.b(), at, at * length, length), "ibv_post_send of a read"));
    }
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), 2)) c.need(c.completed(wc, IBV_WC_SUCCESS, "a read"));
    c.need(same_bytes(c, loop.a().data(), loop.b().data(), 2 * length, "a read"));
    c.need(untouched(c, loop.a().data() + 2 * length, 64, 0x5a, "behind a read"));
  }
}

void atomic_once(Case& c) {
  LoopShape shape = persistent();
  shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  shape.terms.access |= IBV_ACCESS_REMOTE_ATOMIC;
  Loop loop(c, shape);
  std::uint64_t value = 7;
  std::memcpy(loop.b().data(), &value, sizeof value);
  for (std::uint64_t round = 0; round < kMessages; ++round) {
    c.need(c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                              .wr_id = round,
                                              .sges = {loop.a().sge(64, 8)},
                                              .remote = loop.b().remote(0),
                                              .rkey = loop.b().rkey(),
                                              .compare_add = 1}),
                      "ibv_post_send of a fetch-and-add"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a fetch-and-add"));
    std::uint64_t found = 0;
    std::memcpy(&found, loop.a().data() + 64, sizeof found);
    c.need(c.equal(found, 7 + round, "what a fetch-and-add found"));
  }
  std::memcpy(&value, loop.b().data(), sizeof value);
  c.equal(value, 7 + kMessages, "the target");
}

/// Messages may be lost; one that completes its receive is whole and is one that was sent.
void uc_message_whole_or_lost(Case& c) {
  LoopShape shape = persistent();
  shape.type = verbena::QpType::uc;
  Loop loop(c, shape);
  const std::size_t length = 3 * std::size_t{loop.mtu()} + 1;
  for (std::uint64_t at = 0; at < 16; ++at) {
    c.need(c.accepted(loop.receive(loop.b(), at, at * 8192, length), "ibv_post_recv"));
  }
  std::uint64_t came = 0;
  for (std::uint64_t round = 0; round < 16; ++round) {
    loop.a().memory->fill(static_cast<std::uint32_t>(round));
    const auto tag = static_cast<std::uint8_t>(round);
    std::memset(loop.a().data(), tag, length);
    c.need(c.accepted(loop.send(loop.a(), round, 0, length), "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a UC send"));
    ibv_wc wc{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    int count = 0;
    while (count == 0 && std::chrono::steady_clock::now() < end) {
      count = c.way().poll(loop.b().recv_cq.raw(), 1, &wc);
    }
    if (count != 1) continue;
    ++came;
    c.completed(wc, IBV_WC_SUCCESS, "a UC receive");
    c.equal(wc.byte_len, length, "byte_len");
    const std::uint8_t* const at = loop.b().data() + wc.wr_id * 8192;
    untouched(c, at, length, *at, "a UC message");
  }
  c.note(std::to_string(came) + " of 16 messages came");
}

}  // namespace

Bodies error_fabric_bodies() {
  static constexpr Body kBodies[] = {
      {"error.fabric.whole_once_in_order", whole_once_in_order},
      {"error.fabric.read_response_lost", read_response_lost},
      {"error.fabric.atomic_once", atomic_once},
      {"error.fabric.uc_message_whole_or_lost", uc_message_whole_or_lost},
  };
  return kBodies;
}

}  // namespace conform
