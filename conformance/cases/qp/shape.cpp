// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/qp/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "verbena/fit.hpp"

namespace conform {

using verbena::QpType;

QpType first_type(Case& c) {
  c.needs_queue_pairs();
  return c.qp_types().front();
}

CapField cap_field(std::string_view name) {
  constexpr std::pair<std::string_view, CapField> kNames[] = {{"max_send_wr", CapField::send_wr},
                                                              {"max_recv_wr", CapField::recv_wr},
                                                              {"max_send_sge", CapField::send_sge},
                                                              {"max_recv_sge", CapField::recv_sge},
                                                              {"max_inline_data", CapField::inline_data}};
  for (const auto& [word, field] : kNames) {
    if (word == name) return field;
  }
  throw std::logic_error(fmt::format("no number of a queue pair is called '{}'", name));
}

std::uint32_t& of(ibv_qp_cap& cap, CapField field) {
  switch (field) {
    case CapField::send_wr:
      return cap.max_send_wr;
    case CapField::recv_wr:
      return cap.max_recv_wr;
    case CapField::send_sge:
      return cap.max_send_sge;
    case CapField::recv_sge:
      return cap.max_recv_sge;
    case CapField::inline_data:
      break;
  }
  return cap.max_inline_data;
}

std::string text(QpType type, const ibv_qp_cap& cap) {
  return fmt::format("{} with {}/{} work requests, {}/{} SGEs, {} inline bytes", verbena::name(type), cap.max_send_wr,
                     cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data);
}

ibv_qp_cap most(Case& c, QpType type, std::initializer_list<CapField> at_limit) {
  // Far above what any device has, and not so far that a sum overflows.
  constexpr std::uint32_t kMuch = 1U << 28;
  verbena::QpRequest request;
  request.type = type;
  const auto wish = [&](CapField field, verbena::Wish& out) {
    if (std::find(at_limit.begin(), at_limit.end(), field) == at_limit.end()) return;
    out.want = kMuch;
    out.at_least = field == CapField::inline_data ? 0 : 1;
  };
  wish(CapField::send_wr, request.max_send_wr);
  wish(CapField::recv_wr, request.max_recv_wr);
  wish(CapField::send_sge, request.max_send_sge);
  wish(CapField::recv_sge, request.max_recv_sge);
  wish(CapField::inline_data, request.max_inline_data);
  const auto fitted = verbena::fit(request, c.contract());
  c.need(c.holds(fitted.has_value(), Seen::refused, "the contract's largest queue pair could not be worked out"));
  const verbena::QpGrant& grant = fitted->grant;
  return {grant.max_send_wr().granted, grant.max_recv_wr().granted, grant.max_send_sge().granted,
          grant.max_recv_sge().granted, grant.max_inline_data().granted};
}

ibv_qp_cap within(Case& c, QpType type, const ibv_qp_cap& wish) {
  verbena::QpRequest request;
  request.type = type;
  request.max_send_wr.want = wish.max_send_wr;
  request.max_recv_wr.want = wish.max_recv_wr;
  request.max_send_sge.want = wish.max_send_sge;
  request.max_recv_sge.want = wish.max_recv_sge;
  request.max_inline_data = {wish.max_inline_data, 0, {}};
  const auto fitted = verbena::fit(request, c.contract());
  c.need(c.holds(fitted.has_value(), Seen::refused, "the contract has nothing of " + text(type, wish)));
  const verbena::QpGrant& grant = fitted->grant;
  return {std::min(wish.max_send_wr, grant.max_send_wr().granted),
          std::min(wish.max_recv_wr, grant.max_recv_wr().granted),
          std::min(wish.max_send_sge, grant.max_send_sge().granted),
          std::min(wish.max_recv_sge, grant.max_recv_sge().granted),
          std::min(wish.max_inline_data, grant.max_inline_data().granted)};
}

namespace {

/// Where a device takes no other send, each of them is in the completion queue.
bool every_signalled(const Case& c) {
  return c.contract().is(verbena::Behaviour::every_wr_signaled, verbena::Choice::yes);
}

}  // namespace

bool takes_sends(Case& c, Loop& loop, const ibv_qp_cap& cap, std::uint32_t posts, std::string_view what) {
  const QpType type = loop.shape().type;
  const std::string name(what);
  // A datagram that finds no receive is lost, and a write needs none; else each send gets its receive.
  const bool write = type != QpType::ud && c.native(verbena::Feature::rdma_write);
  const bool receives = type != QpType::ud && !write;
  const bool each = every_signalled(c);
  End& a = loop.a();
  End& b = loop.b();
  posts = std::min(posts, kMostPosts);
  const std::uint32_t sges = std::min(cap.max_send_sge, 64U);
  const bool with_inline = cap.max_inline_data != 0;
  std::vector<ibv_sge> list;
  if (with_inline) {
    list.push_back(a.sge(0, std::min(cap.max_inline_data, loop.mtu() / 2)));
  } else {
    for (std::uint32_t index = 0; index < sges; ++index) list.push_back(a.sge(index, 1));
  }
  for (std::uint32_t index = 0; index < posts; ++index) {
    if (receives) {
      if (!c.accepted(loop.receive(b, index, 0, loop.mtu()), name + ": ibv_post_recv")) return false;
    }
    ibv_send_wr wr{};
    wr.wr_id = index;
    wr.sg_list = list.data();
    wr.num_sge = static_cast<int>(list.size());
    wr.opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
    if (write) wr.wr.rdma = {b.remote(0), b.rkey()};
    if (with_inline) wr.send_flags |= IBV_SEND_INLINE;
    if (each || index + 1 == posts) wr.send_flags |= IBV_SEND_SIGNALED;
    if (!c.accepted(loop.post(a, wr), fmt::format("{}: ibv_post_send {} of {}", name, index + 1, posts))) return false;
  }
  for (std::uint32_t index = 1; each && index < posts; ++index) {
    if (!c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, name + ": a send")) return false;
  }
  const auto wc = next(c, a.send_cq.raw());
  return c.completed(wc, IBV_WC_SUCCESS, name + ": the last send") &&
         c.equal(wc->wr_id, std::uint64_t{posts} - 1, name + ": wr_id of the last send");
}

bool takes_receives(Case& c, ibv_qp* qp, const Memory& memory, std::uint32_t lkey, std::uint32_t posts,
                    std::uint32_t sges, std::string_view what) {
  std::vector<ibv_sge> list;
  for (std::uint32_t index = 0; index < sges; ++index) {
    list.push_back({memory.address() + index * 64U % memory.size(), 64, lkey});
  }
  posts = std::min(posts, kMostPosts);
  for (std::uint32_t index = 0; index < posts; ++index) {
    ibv_recv_wr wr{};
    wr.wr_id = index;
    wr.sg_list = list.data();
    wr.num_sge = static_cast<int>(list.size());
    ibv_recv_wr* bad = nullptr;
    if (!c.accepted(c.way().post_recv(qp, wr, bad), fmt::format("{}: ibv_post_recv {} of {}", what, index + 1, posts)))
      return false;
  }
  return true;
}

bool takes_all(Case& c, QpType type, const ibv_qp_cap& cap, std::string_view what) {
  LoopShape shape{.type = type, .cap = cap};
  if (every_signalled(c)) {
    shape.cqe = std::max(shape.cqe, c.within(verbena::Field::cqe, std::min(cap.max_send_wr, kMostPosts)));
  }
  Loop loop(c, shape);
  return takes_sends(c, loop, cap, cap.max_send_wr, what) &&
         takes_receives(c, loop.a().qp.raw(), *loop.a().memory, loop.a().mr->lkey, cap.max_recv_wr, cap.max_recv_sge,
                        what);
}

}  // namespace conform
