// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/mman.h>

#include <optional>

#include "explain_steps.hpp"
#include "explained.hpp"
#include "numbers.hpp"
#include "verbena/cq.hpp"
#include "verbena/mr.hpp"
#include "verbena/pd.hpp"
#include "verbena/qp.hpp"
#include "verbena/srq.hpp"

namespace cli {
namespace {

using verbena::Failure;
using verbena::Result;

/// Puts the outcome of a creation into `object`: `made` is a Result of an object that has a grant.
template <class Made>
void settle(Explained& object, const Made& made) {
  if (made) {
    finish(object, made->grant());
  } else {
    object.error = made.error();
  }
}

Result<verbena::Qp> make_qp(const verbena::Device& device, const verbena::Pd& pd, const verbena::QpRequest& request,
                            std::uint8_t port) {
  verbena::CqRequest small;
  small.cqe = verbena::Wish{1};
  Result<verbena::Cq> cq = verbena::Cq::create(device, small);
  if (!cq) return Failure(cq.error());
  std::optional<verbena::Srq> srq;
  if (request.srq) {
    Result<verbena::Srq> made = verbena::Srq::create(pd, verbena::SrqRequest{});
    if (!made) return Failure(made.error());
    srq = *std::move(made);
  }
  return verbena::Qp::create(pd, request, verbena::QpQueues{&*cq, nullptr, srq ? &*srq : nullptr}, port);
}

/// Memory that nobody touched before, so that a large region costs no more than its pinning.
class Pages {
public:
  explicit Pages(std::size_t bytes) noexcept
      : bytes_(bytes), at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
  }
  void* at() const noexcept { return at_ == MAP_FAILED ? nullptr : at_; }

private:
  std::size_t bytes_;
  void* at_;
};

void make_mr(Explained& object, const verbena::Pd& pd, const verbena::MrRequest& request) {
  const Pages pages(request.length);
  if (pages.at() == nullptr && request.length != 0) {
    object.error = bad_argument("length", "this host has no memory of that size to register");
    object.error->kind = verbena::ErrorKind::no_memory;
    return;
  }
  settle(object, verbena::Mr::reg(pd, pages.at(), request));
}

}  // namespace

std::vector<Explained> create(const Target& target, const Asked& asked) {
  std::vector<Explained> objects;
  const Result<verbena::Pd> pd = target.device->alloc_pd();
  const auto each = [&](const auto& requests, auto&& make) {
    for (const auto& request : requests) {
      Explained object = begin(request);
      if (pd) {
        make(object, request);
      } else {
        object.error = pd.error();
      }
      note_passings(object, *target.contract);
      objects.push_back(std::move(object));
    }
  };
  each(asked.cqs,
       [&](Explained& object, const auto& request) { settle(object, verbena::Cq::create(*target.device, request)); });
  each(asked.qps, [&](Explained& object, const auto& request) {
    settle(object, make_qp(*target.device, *pd, request, target.contract->port()));
  });
  each(asked.srqs, [&](Explained& object, const auto& request) { settle(object, verbena::Srq::create(*pd, request)); });
  each(asked.mrs, [&](Explained& object, const auto& request) { make_mr(object, *pd, request); });
  return objects;
}

}  // namespace cli
