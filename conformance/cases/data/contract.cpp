// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// What the contract says of posting and of completions, held against the device: these prove rules.
namespace conform {

namespace {

using verbena::Behaviour;
using verbena::Choice;
using verbena::Field;
using verbena::QpType;

/// The post as the driver answers it, sign and all.
int raw_post(End& from, ibv_send_wr& wr, ibv_send_wr*& bad) {
  return from.qp->context->ops.post_send(from.qp.raw(), &wr, &bad);
}

/// A post that every driver refuses, one SGE more than any queue has, and what was returned.
void return_value(Case& c) {
  Loop loop(c, {});
  const auto most = std::min<std::uint64_t>(c.contract().domain(Field::max_send_sge).largest_grant(), 255);
  std::vector<ibv_sge> sges(most + 1, loop.a().sge(0, 1));
  ibv_send_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  wr.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  const int returned = raw_post(loop.a(), wr, bad);
  if (!c.refused(returned < 0 ? -returned : returned, "ibv_post_send with too many SGEs")) return;
  if (c.contract().is(Behaviour::post_return_sign, Choice::positive)) {
    c.holds(returned > 0, Seen::value, "a refused post returned a negative number where the contract says positive");
  } else if (c.contract().is(Behaviour::post_return_sign, Choice::negative)) {
    c.holds(returned < 0, Seen::value, "a refused post returned a positive number where the contract says negative");
  }
  if (c.contract().is(Behaviour::bad_wr, Choice::set)) {
    c.holds(bad == &wr, Seen::value, "a refused post did not point bad_wr at the work request");
  }
  // As Verbena gives it: positive, and bad_wr at the work request, on every driver.
  ibv_send_wr* normalised = nullptr;
  const int error = c.way().post_send(loop.a().qp.raw(), wr, normalised);
  c.holds(error > 0, Seen::value, "a refused post has no positive errno");
  if (c.through_verbena()) c.holds(normalised == &wr, Seen::value, "bad does not point at the refused work request");
}

/// A completion within half a second, where none may well be what the contract says.
std::optional<ibv_wc> soon(Case& c, ibv_cq* cq) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  do {
    ibv_wc wc{};
    if (c.way().poll(cq, 1, &wc) == 1) return wc;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  } while (std::chrono::steady_clock::now() < end);
  return std::nullopt;
}

/// What becomes of a send that was posted in INIT, or on iWARP before the connection.
void before_rts(Case& c) {
  Loop loop(c, {}, false);
  loop.a().memory->fill(3);
  std::memset(loop.b().data(), 0x5a, 4096);
  const Terms terms;
  if (!by_cm(c)) {
    const Move init = to_init(QpType::rc, loop.a().port, terms);
    c.need(c.accepted(loop.a().way->modify(loop.a().qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
  }
  const int error = loop.send(loop.a(), 1, 0, kBytes);
  if (by_cm(c)) {
    loop.connect();
  } else {
    loop.connect_by_states(terms, terms);
  }
  for (const std::uint64_t wr_id : {10U, 11U}) {
    c.need(c.accepted(loop.receive(loop.b(), wr_id, (wr_id - 10) * kBytes, kBytes), "ibv_post_recv"));
  }
  c.need(c.accepted(loop.send(loop.a(), 2, kBytes, kBytes), "ibv_post_send in RTS"));
  const bool kept = c.contract().is(Behaviour::post_send_before_rts, Choice::kept_in_ring);
  if (kept) {
    // Sent with the one behind it, or in its way for ever; never left out.
    const auto first = soon(c, loop.a().send_cq.raw());
    if (!first) {
      c.note("a send before RTS keeps those behind it from being sent");
      return;
    }
    c.need(c.completed(first, IBV_WC_SUCCESS, "a send"));
    c.holds(first->wr_id == 1, Seen::no_data,
            "a send before RTS was not sent later, where the contract says kept in the ring");
    return;
  }
  const auto first = next(c, loop.a().send_cq.raw());
  c.need(c.completed(first, IBV_WC_SUCCESS, "a send in RTS"));
  const bool was_sent = first->wr_id == 1;
  if (c.contract().is(Behaviour::post_send_before_rts, Choice::refused)) {
    c.holds(error != 0, Seen::accepted, "a send before RTS was taken, where the contract says refused");
    c.holds(!was_sent, Seen::data, "a send before RTS was sent later, where the contract says refused");
  } else {
    c.note(was_sent ? "a send before RTS was sent later" : "a send before RTS was never sent");
  }
}

/// Between others, where a driver that mishandles it shows; left out by the caller where the contract says dangerous.
void zero_length_sge(Case& c) {
  LoopShape shape;
  shape.cap.max_send_sge = c.within(Field::max_send_sge, 3);
  c.need(c.holds(shape.cap.max_send_sge >= 3, Seen::value, "fewer than 3 SGEs can be had"));
  Loop loop(c, shape);
  loop.a().memory->fill(3);
  std::memset(loop.b().data(), 0x5a, 256);
  std::vector<ibv_sge> sges = {loop.a().sge(0, 40), loop.a().sge(40, 0), loop.a().sge(100, 60)};
  if (c.contract().is(Behaviour::zero_length_sge, Choice::dangerous)) {
    sges.erase(sges.begin() + 1);
    c.note("the contract says that an SGE of length 0 is dangerous; it was left out");
  }
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 256), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), SendWork{.wr_id = 2, .sges = sges}), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send with an empty SGE"));
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a send with an empty SGE"));
  c.equal(received->byte_len, 100U, "byte_len");
  same_bytes(c, loop.b().data(), loop.a().data(), 40, "the bytes before an empty SGE");
  same_bytes(c, loop.b().data() + 40, loop.a().data() + 100, 60, "the bytes behind an empty SGE");
}

/// The queue pair types that the device has, the first of those that the case names.
QpType one_type(Case& c) {
  const std::vector<QpType> types = c.qp_types();
  c.need(c.holds(!types.empty(), Seen::refused, "the device has none of the queue pair types"));
  return types.front();
}

/// One send with these flags: taken and carried, or refused.
void flagged(Case& c, unsigned flags, bool refused, const std::string& what) {
  const QpType type = one_type(c);
  Loop loop(c, {.type = type});
  const std::size_t head = head_of(type);
  loop.a().memory->fill(3);
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, head + kBytes), "ibv_post_recv"));
  const int error = loop.send(loop.a(), 2, 0, kBytes, flags);
  if (refused) {
    c.refused(error, "ibv_post_send of " + what);
    return;
  }
  c.need(c.accepted(error, "ibv_post_send of " + what));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of " + what));
  same_bytes(c, loop.b().data() + head, loop.a().data(), kBytes, what);
  if ((flags & IBV_SEND_SIGNALED) != 0) {
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, what);
  } else {
    c.holds(quiet(c, loop.a().send_cq.raw()), Seen::completion, what + " completed");
  }
}

void every_signaled(Case& c) {
  flagged(c, 0, c.contract().is(Behaviour::every_wr_signaled, Choice::yes), "an unsignalled send");
}

void fence_solicited(Case& c) {
  const bool refused = c.contract().is(Behaviour::fence_and_solicited, Choice::refused);
  flagged(c, IBV_SEND_SIGNALED | IBV_SEND_FENCE, refused, "a fenced send");
  flagged(c, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED, refused, "a solicited send");
}

/// The sink has no access but what the contract asks for.
void sink_access(Case& c) {
  Loop loop(c, {});
  loop.b().memory->fill(3);
  Memory sink(c.verbs().page_size(), c.verbs().page_size());
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  if (c.contract().is(Behaviour::read_sink_needs_remote_write, Choice::yes)) access |= IBV_ACCESS_REMOTE_WRITE;
  const auto region =
      c.made(loop.a().way->mr(loop.a().pd.raw(), {.address = sink.data(), .length = sink.size(), .access = access}),
             "ibv_reg_mr of the sink");
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_RDMA_READ,
                                            .wr_id = 1,
                                            .sges = {{sink.address(), 1000, region->lkey}},
                                            .remote = loop.b().remote(0),
                                            .rkey = loop.b().rkey()}),
                    "ibv_post_send of a read"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a read into that sink"));
  same_bytes(c, sink.data(), loop.b().data(), 1000, "a read into that sink");
}

/// A failed completion: a send with a key that nobody has.
void vendor_err(Case& c) {
  Loop loop(c, {});
  ibv_sge sge = loop.a().sge(0, kBytes);
  sge.lkey = unknown_key(sge.lkey);
  const int error = post(loop.a(), SendWork{.wr_id = 1, .sges = {sge}});
  if (error != 0) {
    c.note("a key that nobody has is refused when it is posted, so nothing completes in error");
    return;
  }
  const auto wc = next(c, loop.a().send_cq.raw());
  c.need(c.holds(wc && wc->status != IBV_WC_SUCCESS, Seen::completion, "a send with a wrong key did not fail"));
  const std::uint32_t code = wc->vendor_err;
  switch (c.contract().behaviour(Behaviour::vendor_err).choice) {
    case Choice::none:
      c.equal(code, 0U, "vendor_err where the contract says none");
      break;
    case Choice::firmware_byte:
    case Choice::cqe_sub_status:
      c.holds(code != 0 && code <= 0xff, Seen::value, "vendor_err is not the byte that the contract says");
      break;
    case Choice::major_minor:
      c.holds(code >> 16 != 0, Seen::value, "vendor_err has no major part where the contract says major and minor");
      break;
    default:
      c.note("vendor_err is opaque: " + std::to_string(code));
      break;
  }
}

}  // namespace

Bodies data_contract_bodies() {
  static constexpr Body kBodies[] = {
      {"data.post.return_value", return_value},       {"data.post.before_rts", before_rts},
      {"data.post.zero_length_sge", zero_length_sge}, {"data.post.every_signaled", every_signaled},
      {"data.post.fence_solicited", fence_solicited}, {"data.read.sink_access", sink_access},
      {"data.completion.vendor_err", vendor_err},
  };
  return kBodies;
}

}  // namespace conform
