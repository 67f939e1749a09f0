// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "trial.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <functional>

#include "errno_text.hpp"
#include "numbers.hpp"

namespace cli {
namespace {

struct Tried {
  std::uint32_t largest = 0;  ///< accepted
  int errno_above = 0;        ///< what the next one met; 0 when the bound itself was accepted
};

/// The largest number in [low, high] that `accepts` takes, where `low` is known to be taken.
Tried largest(std::uint32_t low, std::uint32_t high, const std::function<int(std::uint32_t)>& refusal) {
  Tried out{low, 0};
  std::uint64_t first = low;
  std::uint64_t last = high;
  while (first < last) {
    const std::uint64_t middle = first + (last - first + 1) / 2;
    const int error = refusal(static_cast<std::uint32_t>(middle));
    if (error == 0) {
      first = middle;
      out.largest = static_cast<std::uint32_t>(middle);
    } else {
      last = middle - 1;
      out.errno_above = error;
    }
  }
  return out;
}

std::string above(const Tried& tried) {
  if (tried.errno_above == 0) return "nothing larger was tried";
  return fmt::format("{} refused: {}", static_cast<std::uint64_t>(tried.largest) + 1, errno_text(tried.errno_above));
}

/// Creates on the raw context, since what is looked for is what the device itself takes.
class Trial {
public:
  Trial(verbena::Verbs& verbs, ibv_context* context)
      : verbs_(verbs),
        context_(context),
        pd_(verbs.alloc_pd(context).handle),
        cq_(pd_ == nullptr ? nullptr : verbs.create_cq(context, 16, nullptr, nullptr, 0).handle) {}
  ~Trial() {
    if (cq_ != nullptr) verbs_.destroy_cq(cq_);
    if (pd_ != nullptr) verbs_.dealloc_pd(pd_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  bool ready() const noexcept { return pd_ != nullptr && cq_ != nullptr; }

  int qp_refusal(const ibv_qp_cap& cap) const {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq_;
    attr.cap = cap;
    attr.qp_type = IBV_QPT_RC;
    const verbena::Made<ibv_qp> qp = verbs_.create_qp(pd_, attr);
    if (qp) verbs_.destroy_qp(qp.handle);
    return qp.error;
  }

  int cq_refusal(std::uint32_t cqe) const {
    const verbena::Made<ibv_cq> cq = verbs_.create_cq(context_, static_cast<int>(cqe), nullptr, nullptr, 0);
    if (cq) verbs_.destroy_cq(cq.handle);
    return cq.error;
  }

private:
  verbena::Verbs& verbs_;
  ibv_context* context_;
  ibv_pd* pd_;
  ibv_cq* cq_;
};

constexpr std::uint32_t kInlineBound = 16384;   ///< above what any driver of rdma-core takes
constexpr std::uint32_t kSgeBound = 1024;
constexpr std::uint32_t kDepthBound = 1U << 18;  ///< keeps one try's ring memory bounded
constexpr std::uint32_t kCqeBound = 1U << 23;

}  // namespace

verbena::Result<std::vector<std::string>> try_limits(verbena::Verbs& verbs, const verbena::Device& device,
                                                     verbena::Caps& caps) {
  const Trial trial(verbs, device.raw());
  const ibv_qp_cap least{
      .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  if (!trial.ready()) {
    return verbena::Failure(bad_argument("trial", "no protection domain or completion queue can be made to try with"));
  }
  if (const int error = trial.qp_refusal(least); error != 0) {
    return verbena::Failure(
        bad_argument("trial", fmt::format("not even the smallest queue pair can be made: {}", errno_text(error))));
  }
  std::vector<std::string> notes;
  const auto one = [&](std::string_view what, std::uint32_t low, std::uint32_t high, std::uint32_t ibv_qp_cap::* member,
                       const ibv_qp_cap& shape) {
    const Tried tried = largest(low, high, [&](std::uint32_t value) {
      ibv_qp_cap cap = shape;
      cap.*member = value;
      return trial.qp_refusal(cap);
    });
    notes.push_back(fmt::format("{} {} ({})", what, tried.largest, above(tried)));
    return tried.largest;
  };
  const std::uint32_t inline_data = one("max_inline_data", 0, kInlineBound, &ibv_qp_cap::max_inline_data, least);
  const std::uint32_t send_sge = one("max_send_sge", 1, kSgeBound, &ibv_qp_cap::max_send_sge, least);
  const std::uint32_t recv_sge = one("max_recv_sge", 1, kSgeBound, &ibv_qp_cap::max_recv_sge, least);
  caps.set(verbena::Cap::max_inline_data, inline_data);
  caps.set(verbena::Cap::max_send_sge, send_sge);
  caps.set(verbena::Cap::max_recv_sge, recv_sge);
  one("max_recv_wr at 1 SGE", 1, kDepthBound, &ibv_qp_cap::max_recv_wr, least);
  for (const std::uint32_t sge : {1U, 2U, 4U, send_sge}) {
    ibv_qp_cap shape = least;
    shape.max_send_sge = sge;
    if (sge <= send_sge && trial.qp_refusal(shape) == 0) {
      one(fmt::format("max_send_wr at {} SGE", sge), 1, kDepthBound, &ibv_qp_cap::max_send_wr, shape);
    }
  }
  ibv_qp_cap shape = least;
  shape.max_inline_data = inline_data;
  if (inline_data > 0) {
    one(fmt::format("max_send_wr at inline {}", inline_data), 1, kDepthBound, &ibv_qp_cap::max_send_wr, shape);
  }
  const Tried cqe = largest(1, kCqeBound, [&](std::uint32_t value) { return trial.cq_refusal(value); });
  notes.push_back(fmt::format("cqe {} ({})", cqe.largest, above(cqe)));
  return notes;
}

}  // namespace cli
