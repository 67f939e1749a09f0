// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/qp/shape.hpp"
#include "cases/steps.hpp"

namespace conform {

namespace {

using verbena::Cap;
using verbena::Field;
using verbena::QpType;

/// The deepest queue that a case asks for more than once: the memory of a deeper one, some 100 bytes a work request, is
/// cleared by the kernel at each creation.
constexpr std::uint32_t kMostDepth = 1U << 13;
/// And once.
constexpr std::uint32_t kDeepest = 1U << 17;

std::uint32_t declared(Case& c, CapField field) {
  const bool depth = field == CapField::send_wr || field == CapField::recv_wr;
  const std::uint64_t value = c.caps()[depth ? Cap::max_qp_wr : Cap::max_sge].value_or(1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, depth ? kMostDepth : value));
}

/// Through Verbena a depth beyond the limit comes back as the limit, and so is made: not where that is very deep.
bool too_deep(Case& c, CapField field) {
  if (!c.through_verbena() || (field != CapField::send_wr && field != CapField::recv_wr)) return false;
  const auto limit = field == CapField::send_wr ? Field::max_send_wr : Field::max_recv_wr;
  if (c.contract().domain(limit).largest_grant() <= kDeepest) return false;
  c.note("a queue of the largest depth takes longer to make than a case may");
  return true;
}

ibv_qp_cap with(CapField field, std::uint32_t value) {
  ibv_qp_cap cap = kLeast;
  of(cap, field) = value;
  return cap;
}

/// A creation that must succeed and give at least that.
void granted(Case& c, CapField field, std::uint32_t value, std::optional<QpType> only = {}) {
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    if (only && *only != type) continue;
    const ibv_qp_cap asked = with(field, value);
    ibv_qp_cap returned{};
    const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned);
    if (!c.accepted(qp, "ibv_create_qp of " + text(type, asked))) continue;
    c.holds(of(returned, field) >= value, Seen::value, text(type, asked) + " came back as " + text(type, returned));
  }
}

/// One above: refused with an errno, or as good as it says. Through Verbena it may come back smaller, and says so.
void beyond(Case& c, CapField field, std::uint32_t value) {
  if (too_deep(c, field)) return;
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    const ibv_qp_cap asked = with(field, value);
    ibv_qp_cap returned{};
    Beyond noted(c);
    {
      const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned);
      if (!qp) {
        c.holds(qp.error() != 0, Seen::refused, "refused without an errno: " + text(type, asked));
        continue;
      }
    }
    if (of(returned, field) < value) {
      // A smaller number that is written back is an answer for inline bytes alone, and through Verbena for all.
      c.holds(c.through_verbena() ? noted.adjusted() : field == CapField::inline_data, Seen::value,
              text(type, asked) + " came back as " + text(type, returned));
      if (field != CapField::inline_data) continue;
    }
    // Each post costs time, so a queue that is that deep is asked for its last ones only by its memory.
    takes_all(c, type, with(field, of(returned, field)), text(type, asked));
  }
}

/// The declared depth as it is, of one type.
void whole_depth(Case& c, CapField field) {
  const std::uint64_t value = c.caps()[Cap::max_qp_wr].value_or(0);
  if (value <= kMostDepth || c.qp_types().empty()) return;
  if (value > kDeepest) c.note("max_qp_wr is more than a case may take memory for");
  granted(c, field, static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kDeepest)), c.qp_types().front());
}

void send_wr_at_declared(Case& c) {
  granted(c, CapField::send_wr, declared(c, CapField::send_wr));
  whole_depth(c, CapField::send_wr);
}
void send_wr_below_declared(Case& c) {
  granted(c, CapField::send_wr, declared(c, CapField::send_wr) - 1);
}
void send_wr_above_declared(Case& c) {
  beyond(c, CapField::send_wr, static_cast<std::uint32_t>(c.caps()[Cap::max_qp_wr].value_or(kMostDepth)) + 1);
}
void recv_wr_at_declared(Case& c) {
  granted(c, CapField::recv_wr, declared(c, CapField::recv_wr));
  whole_depth(c, CapField::recv_wr);
}
void recv_wr_below_declared(Case& c) {
  granted(c, CapField::recv_wr, declared(c, CapField::recv_wr) - 1);
}
void recv_wr_above_declared(Case& c) {
  beyond(c, CapField::recv_wr, static_cast<std::uint32_t>(c.caps()[Cap::max_qp_wr].value_or(kMostDepth)) + 1);
}
void send_sge_at_declared(Case& c) {
  granted(c, CapField::send_sge, declared(c, CapField::send_sge));
}
void recv_sge_at_declared(Case& c) {
  granted(c, CapField::recv_sge, declared(c, CapField::recv_sge));
}

/// What the contract allows of one number, the others being as small as can be.
std::uint32_t limit(Case& c, QpType type, CapField field) {
  ibv_qp_cap cap = most(c, type, {field});
  return of(cap, field);
}

void send_sge_above_declared(Case& c) {
  beyond(c, CapField::send_sge, limit(c, first_type(c), CapField::send_sge) + 1);
}
void recv_sge_above_declared(Case& c) {
  beyond(c, CapField::recv_sge, limit(c, first_type(c), CapField::recv_sge) + 1);
}
void inline_above_refused(Case& c) {
  beyond(c, CapField::inline_data, limit(c, first_type(c), CapField::inline_data) + 1);
}
void inline_at_contract(Case& c) {
  for (const QpType type : c.qp_types()) {
    const std::uint32_t at = limit(c, type, CapField::inline_data);
    granted(c, CapField::inline_data, at, type);
    if (at != 0) granted(c, CapField::inline_data, at - 1, type);
  }
}

void send_sge_zero(Case& c) {
  for (const QpType type : c.qp_types()) {
    const ibv_qp_cap asked{1, 1, 0, 1, 0};
    {
      const Stand stand(c);
      const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked));
      if (!qp) {
        c.holds(qp.error() != 0, Seen::refused, "refused without an errno: " + text(type, asked));
        continue;
      }
    }
    Loop loop(c, {.type = type, .cap = asked});
    const std::size_t head = type == QpType::ud ? kGrhBytes : 0;
    c.need(c.accepted(loop.receive(loop.b(), 1, 0, head + 8), "ibv_post_recv"));
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (!c.accepted(loop.post(loop.a(), wr), "a send without SGEs, " + text(type, asked))) continue;
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send without SGEs");
    c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "its receive");
  }
}

void recv_sge_zero(Case& c) {
  for (const QpType type : c.qp_types()) {
    if (type == QpType::ud) continue;  // its receives hold 40 bytes at least
    const ibv_qp_cap asked{1, 1, 1, 0, 0};
    {
      const Stand stand(c);
      const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked));
      if (!qp) {
        c.holds(qp.error() != 0, Seen::refused, "refused without an errno: " + text(type, asked));
        continue;
      }
    }
    Loop loop(c, {.type = type, .cap = asked});
    ibv_recv_wr receive{};
    receive.wr_id = 3;
    if (!c.accepted(loop.post(loop.b(), receive), "a receive without SGEs, " + text(type, asked))) continue;
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    c.need(c.accepted(loop.post(loop.a(), wr), "a send without SGEs"));
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send without SGEs");
    c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive without SGEs");
  }
}

void inline_zero(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type, .cap = {2, 2, 1, 1, 0}});
    carries(c, loop, std::string(verbena::name(type)) + " without inline data");
  }
}

void huge_numbers_refused(Case& c) {
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    for (const CapField field : kCapFields) {
      if (too_deep(c, field)) continue;
      const ibv_qp_cap asked = with(field, 0xffffffffU);
      Beyond noted(c);
      noted.refused(c.way().qp(stand.pd.raw(), stand.shape(type, asked)), "ibv_create_qp of " + text(type, asked));
    }
  }
}

/// Each pair of numbers at its own limit: made and as good as it says, or refused.
void pair_at_limits(Case& c, QpType type, CapField one, CapField other) {
  ibv_qp_cap asked = kLeast;
  of(asked, one) = limit(c, type, one);
  of(asked, other) = limit(c, type, other);
  // Two depths at once take twice the memory, and one was tried alone.
  asked.max_send_wr = std::min(asked.max_send_wr, kMostDepth / 16);
  asked.max_recv_wr = std::min(asked.max_recv_wr, kMostDepth / 16);
  ibv_qp_cap returned{};
  {
    const Stand stand(c);
    const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned);
    if (!qp) {
      c.holds(qp.error() != 0, Seen::refused, "refused without an errno: " + text(type, asked));
      return;
    }
  }
  ibv_qp_cap usable = asked;
  for (const CapField field : kCapFields) of(usable, field) = std::min(of(asked, field), of(returned, field));
  takes_all(c, type, usable, text(type, asked));
}

void limits_jointly(Case& c) {
  for (const QpType type : c.qp_types()) {
    pair_at_limits(c, type, CapField::send_sge, CapField::inline_data);
    pair_at_limits(c, type, CapField::send_wr, CapField::send_sge);
  }
}

/// A row of the table: `send_wr-send_sge`.
void two_at_limits(Case& c) {
  const auto field = [](std::string_view word) {
    return word == "inline" ? CapField::inline_data : cap_field("max_" + std::string(word));
  };
  const std::string_view pair = c.with("pair");
  const std::size_t middle = pair.find('-');
  for (const QpType type : c.qp_types()) {
    pair_at_limits(c, type, field(pair.substr(0, middle)), field(pair.substr(middle + 1)));
  }
}

/// One number below, at or above its limit, which is the contract's for that shape.
void one_at_limit(Case& c) {
  const std::string& where = c.with("where");
  const CapField field = cap_field(c.with("cap"));
  if (where == "above" && too_deep(c, field)) return;
  for (const QpType type : c.qp_types()) {
    const std::uint32_t at = limit(c, type, field);
    ibv_qp_cap asked = with(field, where == "below" ? at - 1 : where == "at" ? at : at + 1);
    if (at == 0 && where == "below") continue;
    const bool depth = field == CapField::send_wr || field == CapField::recv_wr;
    if (depth && where != "above") of(asked, field) = std::min(of(asked, field), kMostDepth);
    ibv_qp_cap returned{};
    Beyond noted(c);
    const bool within = where != "above" || of(asked, field) <= at;
    {
      const Stand stand(c);
      const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned);
      if (within && !c.accepted(qp, "ibv_create_qp of " + text(type, asked))) continue;
      if (!qp) continue;
      if (!within && c.through_verbena()) {
        c.holds(noted.adjusted(), Seen::accepted, "more than the contract allows was granted: " + text(type, asked));
      }
    }
    of(asked, field) = std::min(of(asked, field), of(returned, field));
    if (depth && of(asked, field) > kMostDepth) continue;  // made twice, it takes twice the memory and shows no more
    takes_all(c, type, asked, text(type, asked));
  }
}

void all_limits_at_once(Case& c) {
  for (const QpType type : c.qp_types()) {
    ibv_qp_cap cap = most(
        c, type, {CapField::send_wr, CapField::recv_wr, CapField::send_sge, CapField::recv_sge, CapField::inline_data});
    cap.max_send_wr = std::min(cap.max_send_wr, kMostDepth / 64);
    cap.max_recv_wr = std::min(cap.max_recv_wr, kMostDepth / 64);
    ibv_qp_cap one = cap;
    one.max_send_wr = one.max_recv_wr = 1;
    Loop loop(c, {.type = type, .cap = cap});
    takes_sends(c, loop, one, 1, text(type, cap));
    one.max_inline_data = 0;
    takes_sends(c, loop, one, 1, text(type, cap) + ", without inline data");
    takes_receives(c, loop.a().qp.raw(), *loop.a().memory, loop.a().mr->lkey, 1, cap.max_recv_sge, text(type, cap));
  }
}

void depth_takes_posts(Case& c) {
  for (const QpType type : c.qp_types()) {
    for (const std::uint32_t depth : {1U, 7U, 60U}) {
      Loop loop(c, {.type = type, .cap = {depth, depth, 1, 1, 0}, .cqe = 256});
      const std::uint32_t posts = std::min(loop.a().cap.max_send_wr, 200U);
      const std::size_t head = type == QpType::ud ? kGrhBytes : 0;
      for (std::uint32_t index = 0; index < std::min(posts, depth); ++index) {
        c.need(c.accepted(loop.receive(loop.b(), index, 0, head + 8), "ibv_post_recv"));
      }
      std::uint32_t posted = 0;
      for (; posted < posts; ++posted) {
        // What returns more receives than were asked for at the other end too would wait for none; these are as many.
        if (posted >= depth && !c.accepted(loop.receive(loop.b(), posted, 0, head + 8), "ibv_post_recv")) break;
        if (!c.accepted(loop.send(loop.a(), posted, 0, 8), std::string(verbena::name(type)) + ": ibv_post_send " +
                                                               std::to_string(posted + 1) + " of " +
                                                               std::to_string(posts)))
          break;
      }
      const auto found = next(c, loop.a().send_cq.raw(), posted);
      c.equal(found.size(), std::size_t{posted}, "sends that completed");
      for (const ibv_wc& wc : found) {
        if (!c.completed(wc, IBV_WC_SUCCESS, "a send of a full queue")) break;
      }
    }
  }
}

void receive_depth_takes_posts(Case& c) {
  const Stand stand(c);
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr =
      c.made(c.way().mr(stand.pd.raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr");
  for (const QpType type : c.qp_types()) {
    for (const std::uint32_t depth : {1U, 7U, 60U, 500U}) {
      ibv_qp_cap returned{};
      const Object<ibv_qp> qp =
          c.made(c.way().qp(stand.pd.raw(), stand.shape(type, {1, depth, 1, 1, 0}), &returned), "ibv_create_qp");
      if (!by_cm(c)) {  // where rdma_cm brings it to RTS, receives are posted before
        const Move init = to_init(type, c.port());
        c.need(c.accepted(c.way().modify(qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
      }
      takes_receives(c, qp.raw(), memory, mr->lkey, returned.max_recv_wr, 1, text(type, returned));
    }
  }
}

}  // namespace

Bodies qp_limits_bodies() {
  static constexpr Body kBodies[] = {
      {"qp.create.send_wr_at_declared", send_wr_at_declared},
      {"qp.create.send_wr_below_declared", send_wr_below_declared},
      {"qp.create.send_wr_above_declared", send_wr_above_declared},
      {"qp.create.recv_wr_at_declared", recv_wr_at_declared},
      {"qp.create.recv_wr_below_declared", recv_wr_below_declared},
      {"qp.create.recv_wr_above_declared", recv_wr_above_declared},
      {"qp.create.send_sge_at_declared", send_sge_at_declared},
      {"qp.create.send_sge_above_declared", send_sge_above_declared},
      {"qp.create.send_sge_zero", send_sge_zero},
      {"qp.create.recv_sge_at_declared", recv_sge_at_declared},
      {"qp.create.recv_sge_above_declared", recv_sge_above_declared},
      {"qp.create.recv_sge_zero", recv_sge_zero},
      {"qp.create.inline_above_refused", inline_above_refused},
      {"qp.create.inline_at_contract", inline_at_contract},
      {"qp.create.inline_zero", inline_zero},
      {"qp.create.huge_numbers_refused", huge_numbers_refused},
      {"qp.create.limits_jointly", limits_jointly},
      {"qp.limit.one", one_at_limit},
      {"qp.limit.two", two_at_limits},
      {"qp.create.all_limits_at_once", all_limits_at_once},
      {"qp.create.depth_takes_posts", depth_takes_posts},
      {"qp.create.receive_depth_takes_posts", receive_depth_takes_posts},
  };
  return kBodies;
}

}  // namespace conform
