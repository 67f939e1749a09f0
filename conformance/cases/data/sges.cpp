// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// Gathering and scattering.
namespace conform {

namespace {

using verbena::Field;
using verbena::QpType;

using Lengths = std::vector<std::size_t>;

std::size_t sum(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

/// Pieces of an end's memory that lie apart and not in the order of the list: piece i is at offset place(i).
std::size_t place(std::size_t piece, std::size_t pieces) {
  return (pieces - piece) * 2048;
}

std::vector<ibv_sge> apart(const End& end, const Lengths& lengths) {
  std::vector<ibv_sge> sges;
  for (std::size_t at = 0; at < lengths.size(); ++at) sges.push_back(end.sge(place(at, lengths.size()), lengths[at]));
  return sges;
}

std::vector<std::uint8_t> gathered(const End& end, const Lengths& lengths) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at < lengths.size(); ++at) {
    const std::uint8_t* const from = end.data() + place(at, lengths.size());
    bytes.insert(bytes.end(), from, from + lengths[at]);
  }
  return bytes;
}

LoopShape sge_shape(Case& c, QpType type) {
  LoopShape shape;
  shape.type = type;
  shape.cap.max_send_sge = c.within(Field::max_send_sge, 4);
  shape.cap.max_recv_sge = c.within(Field::max_recv_sge, 4);
  return shape;
}

/// As many of the pieces as the queue takes, the rest of the bytes in the last.
Lengths fitted(Lengths lengths, std::uint32_t most) {
  while (lengths.size() > most) {
    lengths[lengths.size() - 2] += lengths.back();
    lengths.pop_back();
  }
  return lengths;
}

void exchange(Case& c, Loop& loop, const std::vector<ibv_sge>& from, const std::vector<ibv_sge>& into,
              std::size_t length, const std::string& what) {
  c.need(c.accepted(post(loop.b(), ReceiveWork{7, into}), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), SendWork{.wr_id = 8, .sges = from}), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, what));
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of " + what));
  c.equal(received->byte_len, length, "byte_len of " + what);
}

void gather_order(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, sge_shape(c, type));
    const std::size_t head = head_of(type);
    for (const Lengths& wish : {Lengths{100, 50}, Lengths{1, 300, 7}, Lengths{64, 1, 1, 200}}) {
      const Lengths lengths = fitted(wish, loop.shape().cap.max_send_sge);
      set_apart(loop);
      const std::string what = "a send of " + std::to_string(lengths.size()) + " SGEs";
      exchange(c, loop, apart(loop.a(), lengths), {loop.b().sge(0, head + sum(lengths))}, head + sum(lengths), what);
      same_bytes(c, loop.b().data() + head, gathered(loop.a(), lengths).data(), sum(lengths), what);
    }
  }
}

void scatter_order(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, sge_shape(c, type));
    for (const Lengths& wish : {Lengths{100, 50}, Lengths{1, 300, 7}, Lengths{64, 1, 1, 200}}) {
      const Lengths lengths = fitted(wish, loop.shape().cap.max_recv_sge);
      set_apart(loop);
      const std::string what = "a receive of " + std::to_string(lengths.size()) + " SGEs";
      exchange(c, loop, {loop.a().sge(0, sum(lengths))}, apart(loop.b(), lengths), sum(lengths), what);
      same_bytes(c, gathered(loop.b(), lengths).data(), loop.a().data(), sum(lengths), what);
      for (std::size_t at = 0; at < lengths.size(); ++at) {
        untouched(c, loop.b().data() + place(at, lengths.size()) + lengths[at], 64, kOld, "behind an SGE of " + what);
      }
    }
  }
}

void borders_need_not_match(Case& c) {
  Loop loop(c, sge_shape(c, QpType::rc));
  const std::size_t mtu = loop.mtu();
  const std::vector<std::pair<Lengths, Lengths>> cuts = {
      {{10, 20, 30, 40}, {33, 67}}, {{50, 50}, {1, 2, 96, 1}}, {{mtu / 2, mtu, 3}, {7, mtu / 2 + 1, mtu - 5}}};
  for (const auto& [from_wish, into_wish] : cuts) {
    const Lengths from = fitted(from_wish, loop.shape().cap.max_send_sge);
    const Lengths into = fitted(into_wish, loop.shape().cap.max_recv_sge);
    // Pieces are 2048 apart, and so no longer than that.
    if (*std::max_element(from.begin(), from.end()) > 2048 || *std::max_element(into.begin(), into.end()) > 2048) {
      continue;
    }
    set_apart(loop);
    const std::string what =
        std::to_string(from.size()) + " SGEs into " + std::to_string(into.size()) + ", " + std::to_string(sum(from));
    exchange(c, loop, apart(loop.a(), from), apart(loop.b(), into), sum(from), what);
    same_bytes(c, gathered(loop.b(), into).data(), gathered(loop.a(), from).data(), sum(from), what);
  }
}

void short_message(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, sge_shape(c, type));
    const Lengths room = fitted({100, 100, 100}, loop.shape().cap.max_recv_sge);
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{99}, room[0], room[0] + 1}) {
      if (length > room[0] && room.size() == 1) continue;  // it has one SGE
      set_apart(loop);
      exchange(c, loop, {loop.a().sge(0, length)}, apart(loop.b(), room), length, "a message shorter than its receive");
      const std::vector<std::uint8_t> got = gathered(loop.b(), room);
      same_bytes(c, got.data(), loop.a().data(), length, "a message shorter than its receive");
      untouched(c, got.data() + length, got.size() - length, kOld, "behind a message shorter than its receive");
    }
  }
}

void several_regions(Case& c) {
  c.needs_grant(verbena::Field::max_send_sge, 2);
  c.needs_grant(verbena::Field::max_recv_sge, 2);
  Loop loop(c, sge_shape(c, QpType::rc));
  set_apart(loop);
  Memory more(c.verbs().page_size(), c.verbs().page_size());
  more.fill(9);
  Memory room(c.verbs().page_size(), c.verbs().page_size());
  const auto region =
      c.made(loop.a().way->mr(loop.a().pd.raw(), {.address = more.data(), .length = more.size()}), "ibv_reg_mr");
  const auto region_of_room =
      c.made(loop.b().way->mr(loop.b().pd.raw(), {.address = room.data(), .length = room.size()}), "ibv_reg_mr");
  exchange(c, loop, {loop.a().sge(0, 100), {more.address(), 100, region->lkey}},
           {loop.b().sge(0, 150), {room.address(), 50, region_of_room->lkey}}, 200, "a message of two regions");
  same_bytes(c, loop.b().data(), loop.a().data(), 100, "the first region's bytes");
  same_bytes(c, loop.b().data() + 100, more.data(), 50, "the second region's bytes");
  same_bytes(c, room.data(), more.data() + 50, 50, "what went to another region");
}

void none(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, sge_shape(c, type));
    const std::size_t head = head_of(type);
    set_apart(loop);
    exchange(c, loop, {}, {loop.b().sge(0, head + 64)}, head, "a send without SGEs");
    untouched(c, loop.b().data() + head, 64, kOld, "a send without SGEs");
  }
}

/// Where the contract calls it dangerous, the kernel itself may fall over it: that is the finding, and it is not tried.
void empty_among_others(Case& c) {
  c.need(c.holds(!c.contract().is(verbena::Behaviour::zero_length_sge, verbena::Choice::dangerous), Seen::crash,
                 "the contract says that an SGE of length 0 is dangerous; it was not posted"));
  LoopShape shape = sge_shape(c, QpType::rc);
  c.need(c.holds(shape.cap.max_send_sge >= 3, Seen::value, "fewer than 3 SGEs can be had"));
  Loop loop(c, shape);
  for (const std::uint32_t lkey : {loop.a().mr->lkey, 0U, unknown_key(loop.a().mr->lkey)}) {
    set_apart(loop);
    exchange(c, loop, {loop.a().sge(0, 40), {loop.a().memory->address(), 0, lkey}, loop.a().sge(100, 60)},
             {loop.b().sge(0, 200)}, 100, "a send with an empty SGE between others");
    same_bytes(c, loop.b().data(), loop.a().data(), 40, "the bytes before an empty SGE");
    same_bytes(c, loop.b().data() + 40, loop.a().data() + 100, 60, "the bytes behind an empty SGE");
    untouched(c, loop.b().data() + 100, 100, kOld, "behind the message");
  }
}

/// Reads scatter into that many SGEs of different lengths that lie apart.
void scatter_read(Case& c, std::uint32_t count) {
  LoopShape shape;
  shape.cap.max_send_sge = count;
  shape.bytes = std::max<std::size_t>(1U << 16, (std::size_t{count} + 2) * 2048);
  Loop loop(c, shape);
  c.need(c.holds(loop.a().cap.max_send_sge >= count, Seen::value, "creation granted fewer SGEs than it was asked for"));
  Lengths lengths;
  for (std::uint32_t at = 0; at < count; ++at) lengths.push_back(1 + at * 13 % 97);
  loop.b().memory->fill(6);
  std::memset(loop.a().data(), kOld, loop.a().memory->size());
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_RDMA_READ,
                                            .wr_id = 5,
                                            .sges = apart(loop.a(), lengths),
                                            .remote = loop.b().remote(0),
                                            .rkey = loop.b().rkey()}),
                    "ibv_post_send of a read into " + std::to_string(count) + " SGEs"));
  c.need(
      c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a read into " + std::to_string(count) + " SGEs"));
  same_bytes(c, gathered(loop.a(), lengths).data(), loop.b().data(), sum(lengths),
             "a read into " + std::to_string(count) + " SGEs");
  for (std::size_t at = 0; at < lengths.size(); ++at) {
    untouched(c, loop.a().data() + place(at, lengths.size()) + lengths[at], 64, kOld, "behind an SGE of a read");
  }
}

std::uint32_t most_of_read(const Case& c) {
  const std::uint64_t most = std::min(c.contract().domain(Field::read_sge).largest_grant(),
                                      c.contract().domain(Field::max_send_sge).largest_grant());
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, 64));
}

/// What the device says of itself, max_sge_rd, not what rules make of it.
void read_scatter(Case& c) {
  ibv_device_attr attr{};
  c.need(c.accepted(c.verbs().query_device(c.context(), attr), "ibv_query_device"));
  const auto declared = static_cast<std::uint32_t>(std::clamp(attr.max_sge_rd, 1, 64));
  const std::uint32_t most = std::min(declared, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                                    c.contract().domain(Field::max_send_sge).largest_grant(), 64)));
  for (const std::uint32_t count : {1U, (most + 1) / 2, most}) scatter_read(c, count);
}

void read_sge_at_limit(Case& c) {
  scatter_read(c, most_of_read(c));
}

}  // namespace

Bodies data_sges_bodies() {
  static constexpr Body kBodies[] = {
      {"data.sge.gather_order", gather_order},
      {"data.sge.scatter_order", scatter_order},
      {"data.sge.borders_need_not_match", borders_need_not_match},
      {"data.sge.short_message", short_message},
      {"data.sge.several_regions", several_regions},
      {"data.sge.none", none},
      {"data.sge.empty_among_others", empty_among_others},
      {"data.sge.read_scatter", read_scatter},
      {"data.read.sge_at_limit", read_sge_at_limit},
  };
  return kBodies;
}

}  // namespace conform
