// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/srq/pool.hpp"
#include "rig/beyond.hpp"
#include "rig/events.hpp"
#include "verbena/errno_family.hpp"

namespace conform {

namespace {

using verbena::Cap;
using verbena::Field;

/// The deepest queue that a case asks for: 32 MiB at 128 bytes a receive.
constexpr std::uint64_t kMostReceives = 1U << 18;

/// Posts `count` receives of `sges` SGEs each, in lists; how many were taken.
std::uint32_t post_many(const Pool& pool, std::uint32_t count, std::uint32_t sges = 1) {
  std::vector<ibv_sge> list;
  for (std::uint32_t index = 0; index < sges; ++index) list.push_back(pool.sge(index, 16));
  std::vector<ibv_recv_wr> wrs(std::min(count, 512U));
  std::uint32_t taken = 0;
  while (taken < count) {
    const std::uint32_t round = std::min<std::uint32_t>(count - taken, static_cast<std::uint32_t>(wrs.size()));
    for (std::uint32_t index = 0; index < round; ++index) {
      ibv_recv_wr& wr = wrs[index];
      wr = {};
      wr.wr_id = taken + index;
      wr.sg_list = list.data();
      wr.num_sge = static_cast<int>(sges);
      wr.next = index + 1 < round ? &wrs[index + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    if (pool.post(wrs.front(), bad) != 0) {
      if (bad != nullptr) taken += static_cast<std::uint32_t>(bad - wrs.data());
      break;
    }
    taken += round;
  }
  return taken;
}

std::uint32_t declared(Case& c, Cap cap) {
  return static_cast<std::uint32_t>(std::min(c.caps()[cap].value_or(1), kMostReceives));
}

void at_least_asked(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  for (const std::uint32_t wr : {1U, 3U, 16U, 100U, 255U}) {
    for (const std::uint32_t sge : {1U, 2U, 3U}) {
      const ibv_srq_attr asked{c.within(Field::max_wr, wr), c.within(Field::max_sge, sge), 0};
      ibv_srq_attr returned{};
      const Object<ibv_srq> srq = c.way().srq(pd.raw(), asked, &returned);
      const std::string what = std::to_string(asked.max_wr) + " receives of " + std::to_string(asked.max_sge) + " SGEs";
      if (!c.accepted(srq, "ibv_create_srq of " + what)) continue;
      c.holds(returned.max_wr >= asked.max_wr, Seen::value, what + ": max_wr is " + std::to_string(returned.max_wr));
      c.holds(returned.max_sge >= asked.max_sge, Seen::value,
              what + ": max_sge is " + std::to_string(returned.max_sge));
    }
  }
}

void depth_usable(Case& c) {
  for (const std::uint32_t wr : {1U, 16U, 100U}) {
    const Pool pool(c, {.max_wr = c.within(Field::max_wr, wr), .max_sge = 1, .srq_limit = 0});
    c.equal(post_many(pool, pool.returned().max_wr), pool.returned().max_wr, "receives taken of max_wr");
  }
}

void depth_at_max(Case& c) {
  const std::uint32_t most = declared(c, Cap::max_srq_wr);
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  for (const std::uint32_t depth : {most - 1, most}) {
    c.accepted(c.way().srq(pd.raw(), {.max_wr = depth, .max_sge = 1, .srq_limit = 0}),
               "ibv_create_srq of " + std::to_string(depth) + " receives");
  }
}

void sge_at_max(Case& c) {
  const std::uint32_t most = declared(c, Cap::max_srq_sge);
  for (const std::uint32_t sges : {std::max(1U, most - 1), most}) {
    const Pool pool(c, {.max_wr = 1, .max_sge = sges, .srq_limit = 0});
    c.holds(pool.returned().max_sge >= sges, Seen::value, "max_sge is less than was asked for");
    c.equal(post_many(pool, 1, sges), 1U, "receives of max_sge SGEs taken");
  }
}

/// A creation beyond the device's number: refused, or as good as it says.
void above_refused(Case& c, const ibv_srq_attr& asked, std::string_view what) {
  const Object<ibv_pd> pd = c.made(c.other_way().pd(), "ibv_alloc_pd");
  ibv_srq_attr returned{};
  Beyond beyond(c);
  const Object<ibv_srq> srq = c.other_way().srq(pd.raw(), asked, &returned);
  if (!srq) {
    c.holds(srq.error() != 0, Seen::refused, std::string(what) + " was refused without an errno");
    return;
  }
  if (c.through_verbena()) {
    c.holds(beyond.adjusted() || (returned.max_wr >= asked.max_wr && returned.max_sge >= asked.max_sge), Seen::value,
            std::string(what) + " was granted less and nothing said of it");
    return;
  }
  const Pool pool(c, asked);
  const std::uint32_t count = asked.max_sge > 1 ? 1 : asked.max_wr;
  c.equal(post_many(pool, count, asked.max_sge), count, std::string(what) + ": receives taken");
}

void depth_above_max_refused(Case& c) {
  const std::uint64_t most = c.caps()[Cap::max_srq_wr].value_or(0);
  if (most > kMostReceives) c.note("the depth asked for takes more memory than it is given to receives");
  above_refused(c, {.max_wr = static_cast<std::uint32_t>(most + 1), .max_sge = 1, .srq_limit = 0},
                "a queue of max_srq_wr + 1 receives");
}

void sge_above_max_refused(Case& c) {
  const std::uint64_t most = c.caps()[Cap::max_srq_sge].value_or(0);
  above_refused(c, {.max_wr = 1, .max_sge = static_cast<std::uint32_t>(most + 1), .srq_limit = 0},
                "a queue of receives with max_srq_sge + 1 SGEs");
}

void limit_ignored(Case& c) {
  const Pool pool(c, {.max_wr = 16, .max_sge = 1, .srq_limit = 8});
  AsyncEvents events(c, c.other().raw());
  Loop loop(c, {.b = pool.given()});
  pool.fill(10);
  consume(c, loop, 6);
  c.holds(events.none(IBV_EVENT_SRQ_LIMIT_REACHED, pool.srq()), Seen::event,
          "a srq_limit given at creation raised IBV_EVENT_SRQ_LIMIT_REACHED");
}

/// The verb itself in both columns: an Srq of Verbena's lives as long as its queue pairs.
void busy_with_qp(Case& c) {
  const Pool pool(c);
  Loop loop(c, {.b = pool.given()});
  pool.fill(4);
  c.refused(c.verbs().destroy_srq(pool.srq()), "ibv_destroy_srq of a queue that a queue pair uses");
  consume(c, loop, 3);
}

void as_created(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  for (const std::uint32_t wr : {1U, 16U, 100U}) {
    // By the verb in both columns: what Verbena grants is what was asked for, and a surplus it keeps to itself.
    ibv_srq_init_attr init{};
    init.attr = {.max_wr = c.within(Field::max_wr, wr), .max_sge = c.within(Field::max_sge, 2), .srq_limit = 0};
    const verbena::Made<ibv_srq> srq = c.verbs().create_srq(pd.raw(), init);
    c.need(c.accepted(srq.error, "ibv_create_srq"));
    ibv_srq_attr now{};
    const int error = c.verbs().query_srq(srq.handle, now);
    c.verbs().destroy_srq(srq.handle);
    if (!c.accepted(error, "ibv_query_srq")) return;
    c.equal(now.max_wr, init.attr.max_wr, "max_wr of ibv_query_srq");
    c.equal(now.max_sge, init.attr.max_sge, "max_sge of ibv_query_srq");
  }
}

void srq_native(Case& c) {
  const Object<ibv_pd> pd = c.made(c.other_way().pd(), "ibv_alloc_pd");
  const Object<ibv_srq> srq = c.other_way().srq(pd.raw(), {.max_wr = 16, .max_sge = 1, .srq_limit = 0});
  switch (c.contract().feature(verbena::Feature::srq).support) {
    case verbena::Support::native: {
      if (!c.accepted(srq, "ibv_create_srq, which the contract calls native")) return;
      const Pool pool(c);
      Loop loop(c, {.b = pool.given()});
      pool.fill(2);
      consume(c, loop, 2);
      break;
    }
    case verbena::Support::absent:
      c.refused(srq, "ibv_create_srq, which the contract calls absent");
      break;
    default:
      c.note(srq ? "shared receive queues are made" : "shared receive queues are refused");
  }
}

void depth_at_limit(Case& c) {
  const std::uint64_t limit = c.contract().domain(Field::max_wr).largest_grant();
  const auto most = static_cast<std::uint32_t>(std::min(limit, kMostReceives));
  const Pool pool(c, {.max_wr = most, .max_sge = 1, .srq_limit = 0});
  c.holds(pool.returned().max_wr >= most, Seen::value, "max_wr is less than was asked for");
  c.equal(post_many(pool, most), most, "receives taken of the largest depth that the contract allows");
}

void sge_at_limit(Case& c) {
  const auto sges = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(c.contract().domain(Field::max_sge).largest_grant(), Pool::kSlots - 1));
  const Pool pool(c, {.max_wr = 4, .max_sge = sges, .srq_limit = 0});
  Loop loop(c, {.b = pool.given()});
  std::vector<ibv_sge> list;
  constexpr std::size_t kPart = 8;
  for (std::uint32_t index = 0; index < sges; ++index) list.push_back(pool.sge(index, kPart));
  ibv_recv_wr wr{};
  wr.wr_id = 5;
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(sges);
  ibv_recv_wr* bad = nullptr;
  c.need(c.accepted(pool.post(wr, bad), "ibv_post_srq_recv of " + std::to_string(sges) + " SGEs"));
  loop.a().memory->fill(9);
  c.need(c.accepted(loop.send(loop.a(), 1, 0, kPart * sges), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send"));
  const auto wc = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive"));
  c.equal(wc->byte_len, static_cast<std::uint32_t>(kPart * sges), "byte_len");
  for (std::uint32_t index = 0; index < sges; ++index) {
    if (!c.holds(std::memcmp(pool.slot(index), loop.a().data() + index * kPart, kPart) == 0, Seen::data,
                 "other bytes arrived in SGE " + std::to_string(index))) {
      break;
    }
  }
}

}  // namespace

Bodies srq_create_bodies() {
  static constexpr Body kBodies[] = {
      {"srq.create.at_least_asked", at_least_asked},
      {"srq.create.depth_usable", depth_usable},
      {"srq.create.depth_at_max", depth_at_max},
      {"srq.create.sge_at_max", sge_at_max},
      {"srq.create.depth_above_max_refused", depth_above_max_refused},
      {"srq.create.sge_above_max_refused", sge_above_max_refused},
      {"srq.create.limit_ignored", limit_ignored},
      {"srq.create.native", srq_native},
      {"srq.create.depth_at_limit", depth_at_limit},
      {"srq.create.sge_at_limit", sge_at_limit},
      {"srq.destroy.busy_with_qp", busy_with_qp},
      {"srq.query.as_created", as_created},
  };
  return kBodies;
}

}  // namespace conform
