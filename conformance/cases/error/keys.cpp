// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// Keys that give no right, here and at the peer.
namespace conform {

namespace {

using verbena::QpType;

bool nothing_received(Case& c, Loop& loop, std::string_view what) {
  ibv_wc wc{};
  bool arrived = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  do {
    while (c.way().poll(loop.b().recv_cq.raw(), 1, &wc) == 1) arrived = arrived || wc.status == IBV_WC_SUCCESS;
  } while (!arrived && std::chrono::steady_clock::now() < end);
  return c.holds(!arrived, Seen::data, std::string(what) + " was received");
}

/// A send whose one SGE has this key: refused when posted, or LOC_PROT_ERR; and nothing of it comes.
void bad_send(Case& c, Loop& loop, std::uint32_t lkey, const std::string& what) {
  const std::size_t head = head_of(loop.shape().type);
  std::memset(loop.b().data(), kOld, 1024);
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, head + kBytes), "ibv_post_recv"));
  ibv_sge sge = loop.a().sge(0, kBytes);
  sge.lkey = lkey;
  const int error = post(loop.a(), SendWork{.wr_id = 2, .sges = {sge}});
  if (error == 0) {
    const auto wc = next(c, loop.a().send_cq.raw());
    if (fails(c, wc, what, {IBV_WC_LOC_PROT_ERR})) c.equal(wc->wr_id, 2U, "wr_id of " + what);
  }
  nothing_received(c, loop, what);
  untouched(c, loop.b().data() + head, kBytes, kOld, what);
}

void bad_lkey_send(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    bad_send(c, loop, unknown_key(loop.a().mr->lkey), "a send with an lkey that nobody has");
  }
}

void other_pd_send(Case& c) {
  Loop loop(c, {});
  const auto domain = c.made(loop.a().way->pd(), "ibv_alloc_pd");
  const auto region = c.made(
      loop.a().way->mr(domain.raw(), {.address = loop.a().data(), .length = 4096, .access = IBV_ACCESS_LOCAL_WRITE}),
      "ibv_reg_mr");
  bad_send(c, loop, region->lkey, "a send with the lkey of another domain");
}

/// b's receive has a key that nobody has; gives what became of the sender.
std::optional<ibv_wc> bad_receive(Case& c, Loop& loop, std::optional<ibv_wc>& received) {
  std::memset(loop.b().data(), kOld, 1024);
  ibv_sge sge = loop.b().sge(0, kBytes);
  sge.lkey = unknown_key(sge.lkey);
  c.need(c.accepted(post(loop.b(), ReceiveWork{1, {sge}}), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  received = next(c, loop.b().recv_cq.raw());
  return next(c, loop.a().send_cq.raw());
}

void bad_lkey_receive(Case& c) {
  Loop loop(c, {});
  std::optional<ibv_wc> received;
  static_cast<void>(bad_receive(c, loop, received));
  if (fails(c, received, "a receive with an lkey that nobody has")) c.equal(received->wr_id, 1U, "wr_id");
  untouched(c, loop.b().data(), 1024, kOld, "a message for a receive with an lkey that nobody has");
}

void bad_receive_fails_sender(Case& c) {
  Loop loop(c, {});
  std::optional<ibv_wc> received;
  fails(c, bad_receive(c, loop, received), "a message for a receive with an lkey that nobody has", {IBV_WC_REM_OP_ERR});
}

void bad_lkey_read(Case& c) {
  Loop loop(c, {});
  std::memset(loop.a().data(), kOld, 1024);
  ibv_sge sge = loop.a().sge(0, kBytes);
  sge.lkey = unknown_key(sge.lkey);
  const int error = post(loop.a(), SendWork{.opcode = IBV_WR_RDMA_READ,
                                            .wr_id = 2,
                                            .sges = {sge},
                                            .remote = loop.b().remote(0),
                                            .rkey = loop.b().rkey()});
  if (error == 0) fails(c, next(c, loop.a().send_cq.raw()), "a read into an SGE with an lkey that nobody has");
  untouched(c, loop.a().data(), 1024, kOld, "a read into an SGE with an lkey that nobody has");
}

constexpr unsigned kAllRemote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

LoopShape shape_with(unsigned more) {
  LoopShape shape;
  shape.access |= more;
  shape.terms.access |= more;
  return shape;
}

/// An RDMA operation or an atomic on the peer that must be refused for its rights: REM_ACCESS_ERR, and no byte changed.
void refused_by_peer(Case& c, Loop& loop, ibv_wr_opcode opcode, std::uint64_t remote, std::uint32_t rkey,
                     const std::string& what, std::initializer_list<ibv_wc_status> statuses) {
  const bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  loop.a().memory->fill(1);
  std::memset(loop.a().data() + 4096, kOld, kBytes);
  std::memset(loop.b().data(), kOld, loop.b().memory->size());
  const bool brings = atomic || opcode == IBV_WR_RDMA_READ;
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = opcode,
                                            .wr_id = 3,
                                            .sges = {loop.a().sge(brings ? 4096 : 0, atomic ? 8 : kBytes)},
                                            .remote = remote,
                                            .rkey = rkey,
                                            .compare_add = 0x5a5a5a5a5a5a5a5aU,
                                            .swap = 1}),
                    "ibv_post_send of " + what));
  const auto wc = next(c, loop.a().send_cq.raw());
  if (fails(c, wc, what, statuses)) c.equal(wc->wr_id, 3U, "wr_id of " + what);
  untouched(c, loop.b().data(), loop.b().memory->size(), kOld, what);
  if (brings) untouched(c, loop.a().data() + 4096, atomic ? 8 : kBytes, kOld, "the sink of " + what);
}

void bad_rkey(Case& c) {
  Loop loop(c, {});
  refused_by_peer(c, loop, IBV_WR_RDMA_WRITE, loop.b().remote(0), unknown_key(loop.b().rkey()),
                  "a write with an rkey that nobody has", {IBV_WC_REM_ACCESS_ERR});
}

void bad_rkey_read(Case& c) {
  Loop loop(c, {});
  refused_by_peer(c, loop, IBV_WR_RDMA_READ, loop.b().remote(0), unknown_key(loop.b().rkey()),
                  "a read with an rkey that nobody has", {IBV_WC_REM_ACCESS_ERR});
}

void bad_rkey_atomic(Case& c) {
  Loop loop(c, shape_with(IBV_ACCESS_REMOTE_ATOMIC));
  refused_by_peer(c, loop, IBV_WR_ATOMIC_FETCH_AND_ADD, loop.b().remote(0), unknown_key(loop.b().rkey()),
                  "a fetch-and-add with an rkey that nobody has", {IBV_WC_REM_ACCESS_ERR});
}

void other_pd_write(Case& c) {
  Loop loop(c, {});
  const auto domain = c.made(loop.b().way->pd(), "ibv_alloc_pd");
  const auto region = c.made(
      loop.b().way->mr(domain.raw(), {.address = loop.b().data(), .length = 4096, .access = kAllRemote}), "ibv_reg_mr");
  refused_by_peer(c, loop, IBV_WR_RDMA_WRITE, loop.b().remote(0), region->rkey,
                  "a write with the rkey of another domain", {IBV_WC_REM_ACCESS_ERR});
}

/// The queue pair of the peer lacks a right that the region has.
void queue_pair_forbids(Case& c, ibv_wr_opcode opcode, unsigned lacks, const std::string& what) {
  LoopShape shape;
  shape.access = kAllRemote & ~lacks;
  shape.terms.access = kAllRemote & ~lacks;
  Loop loop(c, shape);
  const auto region = c.made(
      loop.b().way->mr(loop.b().pd.raw(), {.address = loop.b().data(), .length = 4096, .access = kAllRemote | lacks}),
      "ibv_reg_mr");
  refused_by_peer(c, loop, opcode, loop.b().remote(0), region->rkey, what, {});
}

void qp_forbids_write(Case& c) {
  queue_pair_forbids(c, IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, "a write to a queue pair that forbids it");
}
void qp_forbids_read(Case& c) {
  queue_pair_forbids(c, IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, "a read from a queue pair that forbids it");
}
void qp_forbids_atomic(Case& c) {
  queue_pair_forbids(c, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC,
                     "a fetch-and-add to a queue pair that forbids it");
}

void responder_goes_to_err(Case& c) {
  Loop loop(c, {});
  c.need(c.accepted(loop.receive(loop.b(), 7, 0, kBytes), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), failing_work(c, loop, 3)), "ibv_post_send"));
  c.need(fails(c, next(c, loop.a().send_cq.raw()), "a write with an rkey that nobody has"));
  reaches(c, loop.b().qp.raw(), IBV_QPS_ERR, "the responder after a remote access error");
  fails(c, next(c, loop.b().recv_cq.raw()), "the responder's receive", {IBV_WC_WR_FLUSH_ERR});
}

void uc_write_dropped(Case& c) {
  Loop loop(c, {.type = QpType::uc});
  loop.a().memory->fill(1);
  std::memset(loop.b().data(), kOld, loop.b().memory->size());
  c.need(c.accepted(loop.receive(loop.b(), 7, 4096, kBytes), "ibv_post_recv"));
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_RDMA_WRITE,
                                            .wr_id = 3,
                                            .sges = {loop.a().sge(0, kBytes)},
                                            .remote = loop.b().remote(0),
                                            .rkey = unknown_key(loop.b().rkey())}),
                    "ibv_post_send of a write"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a UC write with an rkey that nobody has");
  c.need(c.accepted(loop.send(loop.a(), 4, 0, kBytes), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send behind it");
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send behind it"));
  same_bytes(c, loop.b().data() + 4096, loop.a().data(), kBytes, "a send behind it");
  untouched(c, loop.b().data(), 4096, kOld, "a UC write with an rkey that nobody has");
}

/// A row of the table of rights: which operation, and what is wrong with the key or the range. The same operation with
/// nothing wrong is carried out first.
void rights(Case& c) {
  const std::string& word = c.with("opcode");
  const std::string& fault = c.with("fault");
  const ibv_wr_opcode opcode = word == "write"      ? IBV_WR_RDMA_WRITE
                               : word == "read"     ? IBV_WR_RDMA_READ
                               : word == "cmp_swap" ? IBV_WR_ATOMIC_CMP_AND_SWP
                                                    : IBV_WR_ATOMIC_FETCH_AND_ADD;
  const bool atomic = word == "cmp_swap" || word == "fetch_add";
  const unsigned right = word == "write"  ? unsigned{IBV_ACCESS_REMOTE_WRITE}
                         : word == "read" ? unsigned{IBV_ACCESS_REMOTE_READ}
                                          : unsigned{IBV_ACCESS_REMOTE_ATOMIC};
  Loop loop(c, shape_with(atomic ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0U));
  const unsigned all = loop.shape().access;
  const std::size_t length = atomic ? 8 : kBytes;
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = opcode,
                                            .wr_id = 1,
                                            .sges = {loop.a().sge(0, length)},
                                            .remote = loop.b().remote(0),
                                            .rkey = loop.b().rkey()}),
                    "ibv_post_send of what is right"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "what is right"));
  // A region amid the peer's memory, so that what lies beside it is memory too.
  constexpr std::size_t kBegin = 8192, kLength = 4096;
  const auto domain = c.made(loop.b().way->pd(), "ibv_alloc_pd");
  auto region =
      c.made(loop.b().way->mr(fault == "other_pd" ? domain.raw() : loop.b().pd.raw(),
                              {.address = loop.b().data() + kBegin,
                               .length = kLength,
                               .access = fault == "no_right" ? IBV_ACCESS_LOCAL_WRITE | (all & ~right) : all}),
             "ibv_reg_mr");
  std::uint32_t rkey = region->rkey;
  std::uint64_t remote = loop.b().remote(kBegin);
  if (fault == "key_of_none") rkey = unknown_key(rkey);
  if (fault == "key_byte") rkey ^= 0x3c;
  if (fault == "key_zero") rkey = 0;
  if (fault == "deregistered") c.need(c.accepted(region.destroy(), "ibv_dereg_mr"));
  if (fault == "below") remote -= 8;
  if (fault == "above") remote += kLength - length + 8;
  if (fault == "far_above") remote += std::uint64_t{1} << 40;
  if (fault == "wraps") remote = ~std::uint64_t{0} - 7;
  refused_by_peer(c, loop, opcode, remote, rkey, word + " with fault " + fault, {IBV_WC_REM_ACCESS_ERR});
}

}  // namespace

Bodies error_keys_bodies() {
  static constexpr Body kBodies[] = {
      {"error.local.bad_lkey_send", bad_lkey_send},
      {"error.local.bad_lkey_receive", bad_lkey_receive},
      {"error.local.bad_lkey_read", bad_lkey_read},
      {"error.local.other_pd", other_pd_send},
      {"error.local.bad_receive_fails_sender", bad_receive_fails_sender},
      {"error.remote.bad_rkey", bad_rkey},
      {"error.remote.bad_rkey_read", bad_rkey_read},
      {"error.remote.bad_rkey_atomic", bad_rkey_atomic},
      {"error.remote.other_pd", other_pd_write},
      {"error.remote.qp_forbids_write", qp_forbids_write},
      {"error.remote.qp_forbids_read", qp_forbids_read},
      {"error.remote.qp_forbids_atomic", qp_forbids_atomic},
      {"error.remote.responder_goes_to_err", responder_goes_to_err},
      {"error.remote.uc_write_dropped", uc_write_dropped},
      {"error.rights", rights},
  };
  return kBodies;
}

}  // namespace conform
