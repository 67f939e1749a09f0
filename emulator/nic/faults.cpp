// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/faults.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace verbena::emulator::faults {

namespace {

constexpr std::uint64_t kNoBound = UINT64_MAX;

bool on(const Nic& nic, Fault fault) {
  return nic.profile().fault(fault) != nullptr;
}

std::uint64_t number(const Nic& nic, Fault fault, const char* parameter) {
  return nic.profile().number(fault, parameter, kNoBound);
}

/// The model's errno for too much, else EINVAL.
int over(const Nic& nic, const char* part) {
  const Creation* const creation = nic.profile().creation();
  const int error = creation == nullptr ? 0 : creation->error(part, "over");
  return error > 0 ? error : EINVAL;
}

/// Rings and regions together.
int pinned(const Nic& nic, std::uint64_t more) {
  return nic.counts.pinned + more > number(nic, Fault::pinned_bytes_run_out, "bytes") ? ENOMEM : 0;
}

int regions(const Nic& nic) {
  return nic.counts.regions + nic.counts.windows >= number(nic, Fault::regions_run_out, "count") ? ENOMEM : 0;
}

}  // namespace

int in_cq(const Nic& nic, std::uint32_t depth) {
  const std::uint64_t extra = nic.profile().number(Fault::max_cqe_one_too_many, "extra", 0);
  if (extra > 0 && depth + extra > nic.profile().figure(Cap::max_cqe)) return over(nic, "cq");
  return pinned(nic, ring_bytes(depth));
}

std::uint32_t cq_held(const Nic& nic, std::uint32_t depth) {
  return on(nic, Fault::cqe_one_less) && depth > 1 && std::has_single_bit(depth) ? depth - 1 : depth;
}

int in_qp(const Nic& nic, const ibv_qp_cap& passed) {
  const std::uint64_t depth = std::max(passed.max_send_wr, passed.max_recv_wr);
  const std::uint64_t both = std::uint64_t{passed.max_send_wr} + passed.max_recv_wr;
  const std::uint64_t extra = nic.profile().number(Fault::max_qp_wr_one_too_many, "extra", 0);
  if (extra > 0 && depth + extra > nic.profile().figure(Cap::max_qp_wr)) return over(nic, "qp");
  if (nic.counts.queue_pairs >= number(nic, Fault::max_qp_not_reached, "made")) return ENOMEM;
  if (nic.counts.work_requests + both > number(nic, Fault::work_requests_run_out, "total")) return ENOMEM;
  return pinned(nic, ring_bytes(both));
}

int in_srq(const Nic& nic, std::uint32_t depth) {
  return pinned(nic, ring_bytes(depth));
}

int in_region(const Nic& nic, const void* address, std::size_t length, unsigned access) {
  if (on(nic, Fault::strict_order_refused) && (access & IBV_ACCESS_RELAXED_ORDERING) == 0) return EINVAL;
  if (on(nic, Fault::region_pages_limited) && length > 0) {
    const std::uint64_t page = number(nic, Fault::region_pages_limited, "page_size");
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t pages = (first + length - 1) / page - first / page + 1;
    if (pages > number(nic, Fault::region_pages_limited, "pages")) return ENOMEM;
  }
  if (const int error = regions(nic); error != 0) return error;
  return pinned(nic, length);
}

int in_window(const Nic& nic) {
  return regions(nic);
}

int in_rtr(const Nic& nic, std::uint64_t held, std::uint64_t wanted) {
  if (nic.profile().does(Behaviour::rd_atomic_budget) != Choice::shared) return 0;
  std::uint64_t budget = nic.profile().number(Fault::budget_shared, "budget", 0);
  if (budget == 0) budget = nic.profile().figure(Cap::max_res_rd_atom);
  if (budget == 0) return 0;  // neither the model nor a switch has a number
  return nic.counts.read_atomics - held + wanted > budget ? EINVAL : 0;
}

int in_destroy(const Nic& nic) {
  return nic.stopped() ? EIO : 0;
}

ibv_qp_cap asked_of(const Nic& nic, ibv_qp_cap passed) {
  if (on(nic, Fault::inline_over_limit_taken) || on(nic, Fault::inline_accepted_but_dropped)) {
    const Creation* const creation = nic.profile().creation();
    const auto most = creation == nullptr ? std::nullopt : creation->number("qp", "inline_max");
    const std::uint64_t held = most ? static_cast<std::uint64_t>(*most) : nic.profile().figure(Cap::max_inline_data);
    passed.max_inline_data = static_cast<std::uint32_t>(std::min<std::uint64_t>(passed.max_inline_data, held));
  }
  return passed;
}

std::uint32_t inline_returned(const Nic& nic, std::uint32_t passed, std::uint32_t held) {
  if (on(nic, Fault::inline_accepted_but_dropped)) return std::max(passed, held);
  return nic.profile().word(Fault::inline_over_limit_taken, "returned") == "zero" ? 0 : held;
}

}  // namespace verbena::emulator::faults
