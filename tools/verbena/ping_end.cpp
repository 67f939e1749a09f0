// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "ping_end.hpp"

#include <fmt/format.h>

#include <cstring>

#include "errno_text.hpp"
#include "verbena/fit.hpp"
#include "verbena/post.hpp"

namespace cli {

using verbena::Failure;
using verbena::Result;

namespace {

Result<verbena::Mr> region(const verbena::Pd& pd, std::span<std::uint8_t> bytes, int access) {
  verbena::MrRequest request;
  request.length = bytes.size();
  request.access = static_cast<std::uint32_t>(access);
  return verbena::Mr::reg(pd, bytes.data(), request);
}

}  // namespace

Result<std::unique_ptr<End>> End::make(const Target& target, verbena::QpType type, std::size_t bytes,
                                       verbena::SendOps ops) {
  auto end = std::make_unique<End>();
  end->name_ = target.name;
  end->contract_ = target.contract;
  end->caps_ = target.caps;
  end->local_.resize(bytes + kGrhBytes);
  end->shared_.resize(bytes);
  const verbena::Contract& contract = *target.contract;

  Result<verbena::Pd> pd = verbena::Pd::alloc(*target.device);
  if (!pd) return Failure(pd.error());
  end->pd_ = *std::move(pd);

  int local_access = IBV_ACCESS_LOCAL_WRITE;
  if (contract.is(verbena::Behaviour::read_sink_needs_remote_write, verbena::Choice::yes)) {
    local_access |= IBV_ACCESS_REMOTE_WRITE;
  }
  Result<verbena::Mr> local = region(*end->pd_, end->local_, local_access);
  if (!local) return Failure(local.error());
  end->local_mr_ = *std::move(local);

  int shared_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (contract.native(verbena::Feature::compare_swap) || contract.native(verbena::Feature::fetch_add)) {
    shared_access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  Result<verbena::Mr> shared = region(*end->pd_, end->shared_, shared_access);
  if (!shared) return Failure(shared.error());
  end->shared_mr_ = *std::move(shared);

  end->request_.type = type;
  end->request_.ops = ops;
  end->request_.max_send_wr = end->request_.max_recv_wr = verbena::Wish{16};
  const Result<verbena::QpFit> fitted = verbena::fit(end->request_, contract);
  if (!fitted) return Failure(fitted.error());
  const std::span<const verbena::QpGrant> queues(&fitted->grant, 1);
  verbena::CqRequest entries;
  entries.cqe = verbena::Wish{static_cast<std::uint32_t>(verbena::cq_entries_needed(queues, queues))};
  Result<verbena::Cq> cq = verbena::Cq::create(*target.device, entries);
  if (!cq) return Failure(cq.error());
  end->cq_ = *std::move(cq);

  verbena::QpQueues attached;
  attached.send_cq = &*end->cq_;
  Result<verbena::Qp> qp = verbena::Qp::create(*end->pd_, end->request_, attached, contract.port());
  if (!qp) return Failure(qp.error());
  end->qp_ = *std::move(qp);
  return end;
}

ibv_sge End::local_sge(std::size_t bytes) noexcept {
  return {reinterpret_cast<std::uintptr_t>(local_.data()), static_cast<std::uint32_t>(bytes), local_mr_->lkey()};
}

std::string End::post_receive(std::size_t bytes) {
  ibv_sge sge = local_sge(bytes);
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  const verbena::PostRecvResult posted = verbena::post_recv(qp_->raw(), &wr);
  return posted ? std::string()
                : fmt::format("the receive was not taken: {} ({})", errno_text(posted.error),
                              verbena::name(verbena::post_fault(posted, qp_->grant())));
}

std::string End::post_send(ibv_send_wr& wr) {
  wr.send_flags |= IBV_SEND_SIGNALED;
  const verbena::PostSendResult posted = verbena::post_send(qp_->raw(), &wr);
  return posted ? std::string()
                : fmt::format("the send was not taken: {} ({})", errno_text(posted.error),
                              verbena::name(verbena::post_fault(posted, qp_->grant())));
}

std::string End::wait(ibv_wc& completion, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    const int count = verbena::poll(cq_->raw(), 1, &completion);
    if (count < 0) return fmt::format("the completion queue of {} cannot be polled", name_);
    if (count == 0) continue;
    if (completion.status == IBV_WC_SUCCESS) return {};
    return fmt::format("{}: {}, vendor_err 0x{:x}", name_, ibv_wc_status_str(completion.status), completion.vendor_err);
  }
  return fmt::format("{}: no completion before the deadline", name_);
}

}  // namespace cli
