// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "rig/beyond.hpp"
#include "rig/traffic.hpp"

namespace conform {

/// The five numbers of a queue pair, by the names that verbs give them.
enum class CapField : std::uint8_t { send_wr, recv_wr, send_sge, recv_sge, inline_data };
inline constexpr CapField kCapFields[] = {CapField::send_wr, CapField::recv_wr, CapField::send_sge, CapField::recv_sge,
                                          CapField::inline_data};
CapField cap_field(std::string_view name);
std::uint32_t& of(ibv_qp_cap& cap, CapField field);
std::string text(verbena::QpType type, const ibv_qp_cap& cap);

/// RC where the device has it.
verbena::QpType first_type(Case& c);

/// One of each, and no inline data: what every device makes.
inline constexpr ibv_qp_cap kLeast{1, 1, 1, 1, 0};

/// A domain and a completion queue to make queue pairs on.
struct Stand {
  explicit Stand(Case& c)
      : pd(c.made(c.way().pd(), "ibv_alloc_pd")), cq(c.made(c.way().cq({.cqe = 16}), "ibv_create_cq")) {}
  QpShape shape(verbena::QpType type, const ibv_qp_cap& cap = kLeast) const {
    QpShape out;
    out.type = type;
    out.cap = cap;
    out.send_cq = cq.raw();
    return out;
  }
  Object<ibv_pd> pd;
  Object<ibv_cq> cq;
};

/// What the contract allows of each field that `at_limit` names, all of them together, the rest being kLeast.
ibv_qp_cap most(Case& c, verbena::QpType type, std::initializer_list<CapField> at_limit);
/// That wish, or what the contract allows of it where that is less, all of it together.
ibv_qp_cap within(Case& c, verbena::QpType type, const ibv_qp_cap& wish);

/// The posts that one queue is tried with: all of them up to this many, since each costs time, and a ring that is there
/// in part is seen in its memory too.
inline constexpr std::uint32_t kMostPosts = 300;

/// Whether two ends of that shape take, from a to b, `posts` sends (the queue's depth at most, at most kMostPosts) of
/// as many SGEs, or with inline data as many inline bytes, as `cap` says, and complete the last.
bool takes_sends(Case& c, Loop& loop, const ibv_qp_cap& cap, std::uint32_t posts, std::string_view what);
/// Whether a queue pair of that shape takes so many receives of so many SGEs.
bool takes_receives(Case& c, ibv_qp* qp, const Memory& memory, std::uint32_t lkey, std::uint32_t posts,
                    std::uint32_t sges, std::string_view what);
/// Both, on two ends made for it.
bool takes_all(Case& c, verbena::QpType type, const ibv_qp_cap& cap, std::string_view what);

}  // namespace conform
