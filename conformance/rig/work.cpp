// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/work.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "verbena/device_id.hpp"

namespace conform {

namespace {

ibv_send_wr request_of(const SendWork& work, const End& from) {
  ibv_send_wr wr{};
  wr.wr_id = work.wr_id;
  wr.sg_list = const_cast<ibv_sge*>(work.sges.data());  // verbs read the list only
  wr.num_sge = static_cast<int>(work.sges.size());
  wr.opcode = work.opcode;
  wr.send_flags = work.flags;
  switch (work.opcode) {
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      wr.wr.atomic.remote_addr = work.remote;
      wr.wr.atomic.rkey = work.rkey;
      wr.wr.atomic.compare_add = work.compare_add;
      wr.wr.atomic.swap = work.swap;
      break;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
      wr.invalidate_rkey = work.invalidate;
      break;
    default:
      wr.imm_data = work.imm;
      wr.wr.rdma.remote_addr = work.remote;
      wr.wr.rdma.rkey = work.rkey;
      break;
  }
  if (from.qp->qp_type == IBV_QPT_UD) {
    wr.wr.ud.ah = from.ah.raw();
    wr.wr.ud.remote_qpn = from.peer_qp_num;
    wr.wr.ud.remote_qkey = from.qkey;
  }
  return wr;
}

template <class Wr>
int place_of(const std::vector<Wr>& list, const Wr* bad) {
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (&list[at] == bad) return static_cast<int>(at);
  }
  return -1;
}

template <class Wr>
void chain(std::vector<Wr>& list) {
  for (std::size_t at = 0; at + 1 < list.size(); ++at) list[at].next = &list[at + 1];
}

}  // namespace

Posted post_list(End& from, std::span<const SendWork> list) {
  std::vector<ibv_send_wr> requests;
  requests.reserve(list.size());
  for (const SendWork& work : list) requests.push_back(request_of(work, from));
  chain(requests);
  ibv_send_wr* bad = nullptr;
  const int error = from.way->post_send(from.qp.raw(), requests.front(), bad);
  return {error, error == 0 ? -1 : place_of(requests, bad)};
}

Posted post_list(End& at, std::span<const ReceiveWork> list) {
  std::vector<ibv_recv_wr> requests;
  for (const ReceiveWork& work : list) {
    ibv_recv_wr wr{};
    wr.wr_id = work.wr_id;
    wr.sg_list = const_cast<ibv_sge*>(work.sges.data());  // verbs read the list only
    wr.num_sge = static_cast<int>(work.sges.size());
    requests.push_back(wr);
  }
  chain(requests);
  ibv_recv_wr* bad = nullptr;
  int error = 0;
  if (at.srq) {
    error = at.srq->context->ops.post_srq_recv(at.srq.raw(), requests.data(), &bad);
    if (error < 0) error = -error;
  } else {
    error = at.way->post_recv(at.qp.raw(), requests.front(), bad);
  }
  return {error, error == 0 ? -1 : place_of(requests, bad)};
}

int post(End& from, const SendWork& work) {
  return post_list(from, std::span(&work, 1)).error;
}

int post(End& at, const ReceiveWork& work) {
  return post_list(at, std::span(&work, 1)).error;
}

std::uint32_t unknown_key(std::uint32_t key) noexcept {
  return key ^ 0x3f5a00U;
}

bool iwarp(const Case& c) {
  const verbena::PortId* port = c.contract().device().port(c.port());
  return port != nullptr && port->transport == verbena::Transport::iwarp;
}

bool same_bytes(Case& c, const std::uint8_t* is, const std::uint8_t* must, std::size_t length, std::string_view what) {
  const auto* const end = is + length;
  const auto* const differs = std::mismatch(is, end, must).first;
  if (differs == end) return true;
  return c.holds(false, Seen::no_data,
                 std::string(what) + ": byte " + std::to_string(differs - is) + " of " + std::to_string(length) +
                     " is not what was sent");
}

bool untouched(Case& c, const std::uint8_t* at, std::size_t length, std::uint8_t value, std::string_view what) {
  const auto* const end = at + length;
  const auto* const changed = std::find_if(at, end, [value](std::uint8_t byte) { return byte != value; });
  if (changed == end) return true;
  return c.holds(
      false, Seen::data,
      std::string(what) + ": byte " + std::to_string(changed - at) + " of " + std::to_string(length) + " was changed");
}

std::size_t head_of(verbena::QpType type) noexcept {
  return type == verbena::QpType::ud ? kGrhBytes : 0;
}

bool fails(Case& c, const std::optional<ibv_wc>& wc, std::string_view what,
           std::initializer_list<ibv_wc_status> statuses) {
  if (statuses.size() != 0) {
    if (wc && std::find(statuses.begin(), statuses.end(), wc->status) != statuses.end()) return true;
    return c.completed(wc, *statuses.begin(), what);
  }
  if (wc && wc->status != IBV_WC_SUCCESS) return true;
  Finding found;
  found.seen = wc ? Seen::completion : Seen::no_completion;
  if (wc) found.status = "SUCCESS";
  found.text = std::string(what) + (wc ? " completed with SUCCESS" : " did not complete") + " and was to fail";
  c.finding(std::move(found));
  return false;
}

SendWork failing_work(const Case& c, Loop& loop, std::uint64_t wr_id, unsigned flags) {
  End& from = loop.a();
  SendWork work{.wr_id = wr_id, .sges = {from.sge(0, 8)}, .flags = flags};
  if (iwarp(c)) {
    work.sges[0].lkey = unknown_key(work.sges[0].lkey);
  } else {
    work.opcode = IBV_WR_RDMA_WRITE;
    work.remote = loop.b().remote(0);
    work.rkey = unknown_key(loop.b().rkey());
  }
  return work;
}

bool reaches(Case& c, ibv_qp* qp, ibv_qp_state state, std::string_view what) {
  const auto end = std::chrono::steady_clock::now() + c.ground().completion_within;
  do {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (!c.accepted(c.verbs().query_qp(qp, attr, IBV_QP_STATE, init), "ibv_query_qp of the state")) return false;
    if (attr.qp_state == state) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  } while (std::chrono::steady_clock::now() < end);
  return c.in_state(qp, state, what);
}

}  // namespace conform
