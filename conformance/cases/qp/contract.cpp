// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the contract says of creation, shown on the device: the proofs of quirk rules.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/qp/shape.hpp"
#include "cases/steps.hpp"

namespace conform {

namespace {

using verbena::Choice;
using verbena::Feature;
using verbena::Field;
using verbena::QpType;
using verbena::Support;

/// Depths that a case asks for; a deeper ring costs seconds each time that it is made.
constexpr std::uint32_t kDeepEnough = 1U << 13;

ibv_qp_cap clipped(ibv_qp_cap cap) {
  cap.max_send_wr = std::min(cap.max_send_wr, kDeepEnough);
  cap.max_recv_wr = std::min(cap.max_recv_wr, kDeepEnough);
  return cap;
}

void at_limit(Case& c, CapField field) {
  const QpType type = first_type(c);
  const ibv_qp_cap cap = clipped(most(c, type, {field}));
  const Stand stand(c);
  ibv_qp_cap returned{};
  Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, cap), &returned);
  if (!c.accepted(qp, "ibv_create_qp of " + text(type, cap))) return;
  c.accepted(qp.destroy(), "ibv_destroy_qp");
  takes_all(c, type, cap, text(type, cap));
}

void send_wr_at_limit(Case& c) {
  at_limit(c, CapField::send_wr);
}
void recv_wr_at_limit(Case& c) {
  at_limit(c, CapField::recv_wr);
}

/// The deepest queue for shapes that compete for its bytes.
void ring_at_limit(Case& c) {
  const QpType type = first_type(c);
  for (const ibv_qp_cap& cap : {most(c, type, {CapField::send_wr, CapField::inline_data}),
                                most(c, type, {CapField::send_wr, CapField::send_sge}),
                                most(c, type, {CapField::send_sge, CapField::inline_data})}) {
    takes_all(c, type, clipped(cap), text(type, cap));
  }
}

void depth_beyond_declared(Case& c) {
  const std::uint64_t declared = c.caps()[verbena::Cap::max_qp_wr].value_or(0);
  const ibv_qp_cap cap = most(c, first_type(c), {CapField::send_wr});
  if (declared == 0 || cap.max_send_wr <= declared) {
    c.note("the contract allows no more than the device declares");
    return;
  }
  const Stand stand(c);
  c.accepted(c.way().qp(stand.pd.raw(), stand.shape(first_type(c), cap)),
             "ibv_create_qp of " + text(first_type(c), cap));
}

/// A message whose bytes are gathered from, or scattered to, as many SGEs as the contract allows.
void sges_carry(Case& c, bool sending) {
  const QpType type = first_type(c);
  const CapField field = sending ? CapField::send_sge : CapField::recv_sge;
  ibv_qp_cap cap = most(c, type, {field});
  const std::uint32_t sges = of(cap, field);
  cap.max_send_wr = cap.max_recv_wr = 2;
  Loop loop(c, {.type = type, .cap = cap});
  const std::size_t head = type == QpType::ud ? kGrhBytes : 0;
  constexpr std::size_t kPart = 8;
  const std::size_t bytes = sges * kPart;
  std::vector<ibv_sge> list;
  // Every other piece, so that a device which takes the first SGE for the whole is seen.
  for (std::uint32_t index = 0; index < sges; ++index) {
    const std::size_t length = !sending && index == 0 ? head + kPart : kPart;
    const std::size_t at = index == 0 ? 0 : head + index * 2 * kPart;
    list.push_back((sending ? loop.a() : loop.b()).sge(at, length));
  }
  loop.a().memory->fill(3);
  loop.b().memory->clear();
  ibv_recv_wr receive{};
  ibv_sge whole = loop.b().sge(0, head + bytes);
  receive.sg_list = sending ? &whole : list.data();
  receive.num_sge = sending ? 1 : static_cast<int>(sges);
  c.need(c.accepted(loop.post(loop.b(), receive), "ibv_post_recv"));
  ibv_send_wr send{};
  ibv_sge source = loop.a().sge(0, bytes);
  send.sg_list = sending ? list.data() : &source;
  send.num_sge = sending ? static_cast<int>(sges) : 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  c.need(c.accepted(loop.post(loop.a(), send), "ibv_post_send of " + std::to_string(sges) + " SGEs"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  for (std::uint32_t index = 0; index < sges; ++index) {
    const auto* piece = reinterpret_cast<const std::uint8_t*>(list[index].addr) + (!sending && index == 0 ? head : 0);
    const std::uint8_t* other = (sending ? loop.b().data() + head : loop.a().data()) + index * kPart;
    if (!c.holds(std::memcmp(piece, other, kPart) == 0, Seen::no_data,
                 "the bytes of SGE " + std::to_string(index) + " of " + std::to_string(sges) + " did not arrive")) {
      return;
    }
  }
}

void send_sge_at_limit(Case& c) {
  sges_carry(c, true);
}
void recv_sge_at_limit(Case& c) {
  sges_carry(c, false);
}

/// An inline send of `bytes`, whose source is overwritten as soon as the post returns.
bool inline_carries(Case& c, Loop& loop, std::uint32_t bytes, std::string_view what) {
  const std::size_t head = loop.shape().type == QpType::ud ? kGrhBytes : 0;
  loop.a().memory->fill(bytes + 1);
  const std::vector<std::uint8_t> expected(loop.a().data(), loop.a().data() + bytes);
  loop.b().memory->clear();
  if (!c.accepted(loop.receive(loop.b(), 1, 0, head + bytes + 1), "ibv_post_recv")) return false;
  if (!c.accepted(loop.send(loop.a(), 2, 0, bytes, IBV_SEND_SIGNALED | IBV_SEND_INLINE),
                  std::string(what) + ": ibv_post_send"))
    return false;
  loop.a().memory->clear();
  if (!c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, what)) return false;
  if (!c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, what)) return false;
  return c.holds(std::equal(expected.begin(), expected.end(), loop.b().data() + head), Seen::data,
                 std::string(what) + ": other bytes arrived");
}

void inline_at_limit(Case& c) {
  for (const QpType type : c.qp_types()) {
    ibv_qp_cap cap = most(c, type, {CapField::inline_data});
    cap.max_send_wr = cap.max_recv_wr = 4;
    if (cap.max_inline_data == 0) continue;
    Loop loop(c, {.type = type, .cap = cap});
    const std::uint32_t room = std::min(cap.max_inline_data, loop.mtu());
    inline_carries(c, loop, room, text(type, cap));
    inline_carries(c, loop, room - 1, text(type, cap) + ", one byte less");
  }
}

void inline_over_limit(Case& c) {
  const QpType type = first_type(c);
  ibv_qp_cap cap = most(c, type, {CapField::inline_data});
  cap.max_send_wr = cap.max_recv_wr = 4;
  const std::uint32_t limit = cap.max_inline_data;
  cap.max_inline_data = limit + 1;
  ibv_qp_cap returned{};
  Beyond noted(c);
  {
    const Stand stand(c);
    const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, cap), &returned);
    if (!qp) {
      c.holds(qp.error() != 0, Seen::refused, "refused without an errno: " + text(type, cap));
      return;
    }
  }
  if (c.through_verbena()) {
    c.holds(noted.adjusted() && returned.max_inline_data <= limit, Seen::accepted,
            "more inline bytes than the contract allows were granted");
  } else if (c.contract().is(verbena::Behaviour::inline_over_limit, Choice::refused)) {
    c.refused(0, "more inline bytes than the contract allows, which it says are refused");
    return;
  }
  Loop loop(c, {.type = type, .cap = cap});
  if (returned.max_inline_data != 0) {
    inline_carries(c, loop, std::min(returned.max_inline_data, loop.mtu()), "as many as creation returned");
  }
}

void inline_carries_data(Case& c) {
  for (const QpType type : c.qp_types()) {
    const std::uint32_t limit = most(c, type, {CapField::inline_data}).max_inline_data;
    for (const std::uint32_t wish : {1U, 8U, 16U, 17U, 32U, 33U, 64U, 65U}) {
      if (wish > limit) continue;
      Loop loop(c, {.type = type, .cap = {4, 4, 1, 1, wish}});
      const std::uint32_t room = std::min(loop.a().cap.max_inline_data, loop.mtu());
      inline_carries(c, loop, std::max(room, wish), std::to_string(wish) + " inline bytes");
      if (room > 1) inline_carries(c, loop, room / 2, std::to_string(wish) + " inline bytes, half of them");
    }
  }
}

/// A queue without room: through Verbena it is raised to what the device makes.
void zero(Case& c, CapField field) {
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    ibv_qp_cap asked = kLeast;
    of(asked, field) = 0;
    const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked));
    const std::uint64_t least =
        c.contract().domain(field == CapField::send_wr ? Field::max_send_wr : Field::max_recv_wr).min;
    if (!qp && !c.through_verbena()) {
      c.holds(least > 0, Seen::refused, "the contract allows none, and the device refuses " + text(type, asked));
      continue;
    }
    c.accepted(qp, "ibv_create_qp of " + text(type, asked));
  }
}
void zero_send_wr(Case& c) {
  zero(c, CapField::send_wr);
}
void zero_recv_wr(Case& c) {
  zero(c, CapField::recv_wr);
}

void caps_read_back(Case& c) {
  const Stand stand(c);
  const bool written = !c.contract().is(verbena::Behaviour::caps_written_back, Choice::no);
  for (const QpType type : c.qp_types()) {
    ibv_qp_cap asked = within(c, type, {21, 22, 2, 2, 20});
    ibv_qp_cap returned{};
    const Object<ibv_qp> qp = c.made(c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned), "ibv_create_qp");
    for (const CapField field : kCapFields) {
      c.holds(of(returned, field) >= of(asked, field), Seen::value,
              text(type, asked) + " came back as " + text(type, returned));
    }
    if (!written && !c.through_verbena()) {
      c.holds(std::memcmp(&asked, &returned, sizeof asked) == 0, Seen::value,
              "the contract says that nothing is written back, and " + text(type, returned) + " was");
    }
  }
}

void type_as_declared(Case& c, QpType type, Feature feature) {
  const verbena::FeatureState& state = c.contract().feature(feature);
  // What a safety rule takes away the driver may well give, to the harm of who takes it.
  if (!c.through_verbena() && state.support == Support::absent &&
      c.contract().provenance(state.by).severity == verbena::Severity::safety) {
    c.denied(std::string(verbena::name(feature)), "a safety rule takes it away from the device, which is not asked");
  }
  const Stand stand(c);
  const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type));
  switch (state.support) {
    case Support::native:
      if (!c.accepted(qp, "ibv_create_qp of a type that the contract calls native")) return;
      if (type != QpType::ud) {
        Loop loop(c, {.type = type});
        carries(c, loop, "a queue pair of a type that the contract calls native");
      }
      break;
    case Support::unknown:
      break;
    default:
      c.refused(qp, "ibv_create_qp of a type that the contract calls absent");
  }
}
void type_rc(Case& c) {
  type_as_declared(c, QpType::rc, Feature::rc);
}
void type_uc(Case& c) {
  type_as_declared(c, QpType::uc, Feature::uc);
}
void type_ud(Case& c) {
  type_as_declared(c, QpType::ud, Feature::ud);
}

/// Types that Verbena's requests don't have, by the verb.
void type_further(Case& c) {
  const Stand stand(c);
  for (const auto& [type, feature] :
       {std::pair(IBV_QPT_RAW_PACKET, Feature::raw_packet), std::pair(IBV_QPT_XRC_SEND, Feature::xrc),
        std::pair(IBV_QPT_DRIVER, Feature::driver_qp)}) {
    if (c.contract().feature(feature).support != Support::absent) continue;
    // What this version leaves out the device may well have.
    if (left_out(c, feature)) continue;
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = stand.cq.raw();
    init.cap = kLeast;
    init.qp_type = type;
    const verbena::Made<ibv_qp> qp = c.verbs().create_qp(stand.pd.raw(), init);
    c.refused(qp ? 0 : qp.error, "ibv_create_qp of type " + std::to_string(type) + ", which is absent");
    if (qp) c.verbs().destroy_qp(qp.handle);
  }
}

/// Watches the last byte of a message until it is there, and then asks the completion queue. A device that keeps small
/// messages in the completion shows nothing until it is polled.
void small_data_in_place(Case& c) {
  if (!c.native(Feature::in_place_data)) c.absent("the device doesn't promise data in place");
  Loop loop(c);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, std::size_t{32}, std::size_t{64}}) {
    loop.a().memory->fill(static_cast<std::uint32_t>(bytes));
    loop.b().memory->clear();
    loop.a().data()[bytes - 1] = 0xa5;
    c.need(c.accepted(loop.receive(loop.b(), 1, 0, 128), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 2, 0, bytes), "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send"));
    const auto end = std::chrono::steady_clock::now() + c.ground().completion_within / 5;
    const volatile std::uint8_t* last = loop.b().data() + bytes - 1;
    while (*last != 0xa5 && std::chrono::steady_clock::now() < end) {
    }
    c.holds(*last == 0xa5, Seen::no_data, std::to_string(bytes) + " bytes are not in the buffer before a poll");
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  }
  if (c.native(Feature::rdma_read)) {
    loop.a().memory->clear();
    loop.b().data()[512] = 0x5a;
    ibv_sge sge = loop.a().sge(0, 1);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_READ;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {loop.b().remote(512), loop.b().rkey()};
    c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send of a READ"));
    const auto end = std::chrono::steady_clock::now() + c.ground().completion_within / 5;
    const volatile std::uint8_t* first = loop.a().data();
    while (*first != 0x5a && std::chrono::steady_clock::now() < end) {
    }
    c.holds(*first == 0x5a, Seen::no_data, "a byte that was READ is not in the buffer before a poll");
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the READ");
  }
}

}  // namespace

Bodies qp_contract_bodies() {
  static constexpr Body kBodies[] = {
      {"qp.create.send_wr_at_limit", send_wr_at_limit},
      {"qp.create.recv_wr_at_limit", recv_wr_at_limit},
      {"qp.create.ring_at_limit", ring_at_limit},
      {"qp.create.depth_beyond_declared", depth_beyond_declared},
      {"qp.create.send_sge_at_limit", send_sge_at_limit},
      {"qp.create.recv_sge_at_limit", recv_sge_at_limit},
      {"qp.create.small_data_in_place", small_data_in_place},
      {"qp.create.inline_at_limit", inline_at_limit},
      {"qp.create.inline_over_limit", inline_over_limit},
      {"qp.create.inline_carries_data", inline_carries_data},
      {"qp.create.zero_send_wr", zero_send_wr},
      {"qp.create.zero_recv_wr", zero_recv_wr},
      {"qp.create.caps_read_back", caps_read_back},
      {"qp.create.type_rc", type_rc},
      {"qp.create.type_uc", type_uc},
      {"qp.create.type_ud", type_ud},
      {"qp.create.type_further", type_further},
  };
  return kBodies;
}

}  // namespace conform
