// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "posting.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "builder.hpp"
#include "verbena/errno_family.hpp"

namespace agreement {
namespace {

constexpr std::uint32_t kQkey = 0x1234;
constexpr std::uint32_t kSgeBytes = 8;
/// Work requests handed over in one call; after a refusal the rest goes one by one.
constexpr std::uint32_t kChain = 64;
/// No queue here is deeper, so that a driver that never refuses ends.
constexpr std::uint64_t kMostPosts = 1U << 22;

/// A chain of equal work requests, so that a deep queue takes few calls.
template <class Wr>
class Chain {
public:
  explicit Chain(const Wr& one) : requests_(kChain, one) {
    for (std::size_t i = 0; i + 1 < requests_.size(); ++i) requests_[i].next = &requests_[i + 1];
  }
  /// Posts until refused; returns how many were taken. `error` is the positive errno of the refusal.
  template <class Post>
  std::uint64_t fill(Post&& post, int& error) {
    std::uint64_t taken = 0;
    while (taken < kMostPosts) {
      Wr* bad = nullptr;
      const int result = post(requests_.data(), &bad);
      error = verbena::normalise_errno(result);
      if (result == 0) {
        taken += requests_.size();
        continue;
      }
      return taken + (bad == nullptr ? 0 : static_cast<std::uint64_t>(bad - requests_.data()));
    }
    return taken;
  }

private:
  std::vector<Wr> requests_;
};

}  // namespace

Posting::~Posting() {
  if (ah_ != nullptr) ibv_destroy_ah(ah_);
  if (mr_ != nullptr) ibv_dereg_mr(mr_);
}

bool Posting::start(ibv_pd* pd) {
  pd_ = pd;
  memory_.resize(std::size_t{1} << 16);
  const int access = IBV_ACCESS_LOCAL_WRITE;  // as an int: the macro joins it with flags of another enumeration
  mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), access);
  ibv_gid gid{};
  if (ibv_query_gid(pd_->context, contract_->port(), 0, &gid) == 0) gid_ = gid;
  return mr_ != nullptr;
}

ibv_ah* Posting::address() {
  if (ah_ == nullptr && !no_ah_ && gid_) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = contract_->port();
    attr.grh.dgid = *gid_;
    attr.grh.hop_limit = 64;
    ah_ = ibv_create_ah(pd_, &attr);
    no_ah_ = ah_ == nullptr;
  }
  return ah_;
}

bool Posting::to_rts(ibv_qp* qp, const Tuple& tuple) {
  const bool ud = tuple.type == verbena::QpType::ud, rc = tuple.type == verbena::QpType::rc;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = contract_->port();
  attr.qkey = kQkey;
  if (ibv_modify_qp(qp, &attr,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) != 0)
    return false;
  if (!gid_) return false;
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = qp->qp_num;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = contract_->port();
  attr.ah_attr.grh.dgid = *gid_;
  attr.ah_attr.grh.hop_limit = 64;
  int mask = IBV_QP_STATE;
  if (!ud) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (rc) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (ibv_modify_qp(qp, &attr, mask) != 0) return false;
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (rc) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (ibv_modify_qp(qp, &attr, mask) != 0) return false;
  return !ud || address() != nullptr;
}

bool Posting::ready(ibv_qp* qp, const Tuple& tuple) {
  return to_rts(qp, tuple) || contract_->is(verbena::Behaviour::post_send_before_rts, verbena::Choice::kept_in_ring);
}

namespace {

ibv_sge piece(const ibv_mr& mr, std::uint32_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(mr.addr), bytes, mr.lkey};
}

ibv_send_wr send_request(ibv_sge* sges, std::uint32_t count, ibv_ah* ah, std::uint32_t qpn, bool immediate) {
  ibv_send_wr request{};
  request.sg_list = sges;
  request.num_sge = static_cast<int>(count);
  request.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  if (ah != nullptr) {
    request.wr.ud.ah = ah;
    request.wr.ud.remote_qpn = qpn;
    request.wr.ud.remote_qkey = kQkey;
  }
  return request;
}

}  // namespace

std::optional<bool> Posting::takes_inline(ibv_qp* qp, const Tuple& tuple, std::uint32_t bytes) {
  if (!ready(qp, tuple)) return std::nullopt;
  ibv_sge sge = piece(*mr_, bytes);
  ibv_send_wr request = send_request(&sge, 1, tuple.type == verbena::QpType::ud ? ah_ : nullptr, qp->qp_num, false),
              *bad = nullptr;
  request.send_flags |= IBV_SEND_INLINE;
  return ibv_post_send(qp, &request, &bad) == 0;
}

std::optional<bool> Posting::takes_sges(ibv_qp* qp, const Tuple& tuple, bool send, std::uint32_t count) {
  if (!ready(qp, tuple) && send) return std::nullopt;
  std::vector<ibv_sge> sges(count, piece(*mr_, kSgeBytes));
  if (send) {
    ibv_ah* ah = tuple.type == verbena::QpType::ud ? ah_ : nullptr;
    ibv_send_wr request = send_request(sges.data(), count, ah, qp->qp_num, false), *bad = nullptr;
    return ibv_post_send(qp, &request, &bad) == 0;
  }
  ibv_recv_wr receive{}, *bad = nullptr;
  receive.sg_list = sges.data();
  receive.num_sge = static_cast<int>(count);
  return ibv_post_recv(qp, &receive, &bad) == 0;
}

bool Posting::takes_sges(ibv_srq* srq, std::uint32_t count) {
  std::vector<ibv_sge> sges(count, piece(*mr_, kSgeBytes));
  ibv_recv_wr receive{}, *bad = nullptr;
  receive.sg_list = sges.data();
  receive.num_sge = static_cast<int>(count);
  return ibv_post_srq_recv(srq, &receive, &bad) == 0;
}

std::vector<std::string> Posting::fill(ibv_qp* qp, const Tuple& tuple, const Numbers& granted, const Outcome& made) {
  std::vector<std::string> faults;
  const bool sends = ready(qp, tuple);
  const auto returned = [&](std::size_t i) { return static_cast<std::uint32_t>(made.returned[i].value_or(0)); };

  // Receives.
  std::vector<ibv_sge> sges(std::max({returned(kRecvSge), returned(kSendSge), granted[kRecvSge]}) + 2,
                            piece(*mr_, kSgeBytes));
  ibv_recv_wr receive{};
  receive.sg_list = sges.data();
  ibv_recv_wr* bad_receive = nullptr;
  if (granted[kRecvWr] > 0) {
    receive.num_sge = static_cast<int>(returned(kRecvSge)) + 1;
    const unsigned surplus = ibv_post_recv(qp, &receive, &bad_receive) == 0 ? 1 : 0;
    surplus_ += surplus;
    receive.num_sge = static_cast<int>(granted[kRecvSge]);
    int error = 0;
    const std::uint64_t taken =
        surplus + Chain<ibv_recv_wr>(receive).fill(
                      [&](ibv_recv_wr* list, ibv_recv_wr** bad) { return ibv_post_recv(qp, list, bad); }, error);
    posted_ += taken;
    if (taken < granted[kRecvWr])
      faults.push_back(fmt::format("only {} receives of {} SGEs were taken, then {}", taken, granted[kRecvSge],
                                   verbena::errno_name(error)));
  }
  if (!sends) return faults;

  // Sends: inline ones, then too much of one, then plain ones.
  // Where operations were named, through the builder that naming them gives; but not into a queue of no depth, where
  // libmlx5 writes through a null pointer (rdma-core 44 mlx5/qp.c _common_wqe_init_op, _common_wqe_finalize).
  const bool ud = tuple.type == verbena::QpType::ud, built = !tuple.ops.is_all() && returned(kSendWr) > 0;
  const auto post = [&](ibv_send_wr* list, ibv_send_wr** bad_one) {
    return built ? post_send_built(qp, list, bad_one) : ibv_post_send(qp, list, bad_one);
  };
  built_ += built ? 1 : 0;
  ibv_ah* ah = ud ? ah_ : nullptr;
  ibv_send_wr* bad = nullptr;
  ibv_sge inlined = piece(*mr_, granted[kInline]);
  ibv_send_wr request{};
  std::uint64_t taken = 0;
  int error = 0;
  const bool any_sends = granted[kSendWr] > 0 && granted[kSendSge] > 0;
  if (any_sends && granted[kInline] > 0) {
    request = send_request(&inlined, 1, ah, qp->qp_num, false);
    request.send_flags |= IBV_SEND_INLINE;
    const std::uint32_t half = std::max(granted[kSendWr] / 2, 1U);
    for (std::uint32_t i = 0; i < half; ++i) {
      error = verbena::normalise_errno(post(&request, &bad));
      if (error != 0) {
        faults.push_back(fmt::format("send {} of {} inline bytes was refused with {}{}", i + 1, inlined.length,
                                     verbena::errno_name(error), built ? " by the builder" : ""));
        break;
      }
      ++taken;
    }
  }
  std::uint64_t surplus = 0;
  inlined.length = returned(kInline) + 1;
  request = send_request(&inlined, 1, ah, qp->qp_num, false);
  request.send_flags |= IBV_SEND_INLINE;
  if (returned(kSendSge) > 0 && post(&request, &bad) == 0) ++surplus;
  request = send_request(sges.data(), returned(kSendSge) + 1, ah, qp->qp_num, false);
  if (post(&request, &bad) == 0) ++surplus;
  surplus_ += static_cast<unsigned>(surplus);
  taken += surplus;
  if (!any_sends) return faults;
  const bool immediate =
      contract_->native(verbena::Feature::send_with_imm) && tuple.ops.has(verbena::SendOps::kSendWithImm);
  request = send_request(sges.data(), granted[kSendSge], ah, qp->qp_num, immediate);
  taken += Chain<ibv_send_wr>(request).fill(post, error);
  posted_ += taken;
  if (taken < granted[kSendWr])
    faults.push_back(fmt::format("only {} sends of {} SGEs and {} inline bytes were taken{}, then {}", taken,
                                 granted[kSendSge], granted[kInline], built ? " by the builder" : "",
                                 verbena::errno_name(error)));
  return faults;
}

std::vector<std::string> Posting::fill(ibv_srq* srq, const Numbers& granted, const Outcome& made) {
  std::vector<std::string> faults;
  const auto most = static_cast<std::uint32_t>(made.returned[kSges].value_or(0));
  std::vector<ibv_sge> sges(std::max(most, granted[kSges]) + 1, piece(*mr_, kSgeBytes));
  ibv_recv_wr receive{}, *bad = nullptr;
  receive.sg_list = sges.data();
  receive.num_sge = static_cast<int>(most) + 1;
  const unsigned surplus = ibv_post_srq_recv(srq, &receive, &bad) == 0 ? 1 : 0;
  surplus_ += surplus;
  receive.num_sge = static_cast<int>(granted[kSges]);
  int error = 0;
  const std::uint64_t taken =
      surplus +
      Chain<ibv_recv_wr>(receive).fill(
          [&](ibv_recv_wr* list, ibv_recv_wr** bad_one) { return ibv_post_srq_recv(srq, list, bad_one); }, error);
  posted_ += taken;
  if (taken < granted[kDepth])
    faults.push_back(fmt::format("only {} receives of {} SGEs were taken, then {}", taken, granted[kSges],
                                 verbena::errno_name(error)));
  return faults;
}

}  // namespace agreement
