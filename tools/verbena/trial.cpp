// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "trial.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

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
  explicit Trial(ibv_context* context)
      : context_(context), pd_(ibv_alloc_pd(context), ibv_dealloc_pd), cq_(nullptr, ibv_destroy_cq) {
    if (pd_) cq_.reset(ibv_create_cq(context, 16, nullptr, nullptr, 0));
  }
  bool ready() const noexcept { return pd_ && cq_; }

  int qp_refusal(const ibv_qp_cap& cap) const {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq_.get();
    attr.cap = cap;
    attr.qp_type = IBV_QPT_RC;
    errno = 0;
    ibv_qp* qp = ibv_create_qp(pd_.get(), &attr);
    if (qp == nullptr) return errno == 0 ? EINVAL : errno;
    ibv_destroy_qp(qp);
    return 0;
  }

  int cq_refusal(std::uint32_t cqe) const {
    errno = 0;
    ibv_cq* cq = ibv_create_cq(context_, static_cast<int>(cqe), nullptr, nullptr, 0);
    if (cq == nullptr) return errno == 0 ? EINVAL : errno;
    ibv_destroy_cq(cq);
    return 0;
  }

private:
  ibv_context* context_;
  std::unique_ptr<ibv_pd, int (*)(ibv_pd*)> pd_;
  std::unique_ptr<ibv_cq, int (*)(ibv_cq*)> cq_;
};

constexpr std::uint32_t kInlineBound = 16384;   ///< above what any driver of rdma-core takes
constexpr std::uint32_t kSgeBound = 1024;
constexpr std::uint32_t kDepthBound = 1U << 18;  ///< keeps one try's ring memory bounded
constexpr std::uint32_t kCqeBound = 1U << 23;

}  // namespace

verbena::Result<std::vector<std::string>> try_limits(const verbena::Device& device, verbena::Caps& caps) {
  const Trial trial(device.raw());
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
