// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/faults.hpp"

#include <algorithm>
#include <array>

namespace verbena {
namespace {

constexpr std::uint64_t kMost = 0xffffffff;

using Parameters = std::span<const FaultParameterInfo>;

constexpr std::array<FaultParameterInfo, 1> kExtra{{{.name = "extra",
                                                     .meaning = "how many too many are declared",
                                                     .words = {},
                                                     .least = 1,
                                                     .most = 65536,
                                                     .fallback = 1}}};
constexpr std::array<FaultParameterInfo, 1> kMade{{{.name = "made",
                                                    .meaning = "queue pairs that can be made",
                                                    .words = {},
                                                    .least = 1,
                                                    .most = kMost,
                                                    .fallback = 64}}};
constexpr std::array<FaultParameterInfo, 1> kTotal{{{.name = "total",
                                                     .meaning = "work requests of all queue pairs, of both queues",
                                                     .words = {},
                                                     .least = 1,
                                                     .most = kMost,
                                                     .fallback = 16384}}};
constexpr std::array<FaultParameterInfo, 1> kResponderBudget{
    {{.name = "budget",
      .meaning = "responder resources of the whole device; 0: what max_res_rd_atom says",
      .words = {},
      .least = 0,
      .most = kMost,
      .fallback = 16}}};
constexpr std::array<FaultParameterInfo, 1> kReturned{
    {{.name = "returned",
      .meaning = "what creation writes back: nothing at all, or what is held",
      .words = "zero held"}}};
constexpr std::array<FaultParameterInfo, 1> kErrno{
    {{.name = "errno", .meaning = "the errno in place of EOPNOTSUPP", .words = "ENOSYS EPROTONOSUPPORT EINVAL"}}};
constexpr std::array<FaultParameterInfo, 1> kState{{{.name = "state",
                                                     .meaning = "the number that stands in place of the state",
                                                     .words = {},
                                                     .least = 8,
                                                     .most = 255,
                                                     .fallback = 192}}};
constexpr std::array<FaultParameterInfo, 1> kHeldSges{{{.name = "held",
                                                        .meaning = "SGEs of a send that are carried",
                                                        .words = {},
                                                        .least = 1,
                                                        .most = 255,
                                                        .fallback = 6}}};
constexpr std::array<FaultParameterInfo, 1> kHeldInline{{{.name = "held",
                                                          .meaning = "inline bytes that are carried",
                                                          .words = {},
                                                          .least = 0,
                                                          .most = kMost,
                                                          .fallback = 0}}};
constexpr std::array<FaultParameterInfo, 1> kAtomicErrno{
    {{.name = "errno", .meaning = "what the post call returns", .words = "ENOSYS EOPNOTSUPP EINVAL"}}};
constexpr std::array<FaultParameterInfo, 1> kBytes{{{.name = "bytes",
                                                     .meaning = "bytes of rings and regions together",
                                                     .words = {},
                                                     .least = std::uint64_t{1} << 12U,
                                                     .most = ~0ULL,
                                                     .fallback = 65536}}};
constexpr std::array<FaultParameterInfo, 2> kPages{
    {{.name = "pages", .meaning = "pages of one region", .words = {}, .least = 1, .most = kMost, .fallback = 256},
     {.name = "page_size",
      .meaning = "bytes of a page, a power of two",
      .words = {},
      .least = std::uint64_t{1} << 12U,
      .most = std::uint64_t{1} << 30U,
      .fallback = std::uint64_t{1} << 12U}}};
constexpr std::array<FaultParameterInfo, 1> kRegions{{{.name = "count",
                                                       .meaning = "regions and windows at once",
                                                       .words = {},
                                                       .least = 1,
                                                       .most = kMost,
                                                       .fallback = 256}}};
constexpr std::array<FaultParameterInfo, 1> kLate{
    {{.name = "microseconds",
      .meaning = "how much later than the completion the last bytes are seen",
      .words = {},
      .least = 1,
      .most = 10000000,
      .fallback = 100}}};
constexpr std::array<FaultParameterInfo, 2> kTimeout{
    {{.name = "milliseconds",
      .meaning = "the wait before the first retry",
      .words = {},
      .least = 1,
      .most = 600000,
      .fallback = 2},
     {.name = "then", .meaning = "each later wait: as the first, or twice the one before", .words = "same doubled"}}};
constexpr std::array<FaultParameterInfo, 1> kOneIn{{{.name = "one_in",
                                                     .meaning = "one flushed work request of so many is lost",
                                                     .words = {},
                                                     .least = 1,
                                                     .most = kMost,
                                                     .fallback = 2}}};
constexpr std::array<FaultParameterInfo, 1> kStatus{
    {{.name = "status",
      .meaning = "the status of enum ibv_wc_status in place of the right one",
      .words = "fatal_err general_err loc_qp_op_err rem_op_err"}}};
constexpr std::array<FaultParameterInfo, 1> kVendorCode{
    {{.name = "code", .meaning = "what vendor_err holds", .words = {}, .least = 1, .most = kMost, .fallback = 0x8a}}};
constexpr std::array<FaultParameterInfo, 1> kAfter{{{.name = "posts",
                                                     .meaning = "send work requests that are taken before",
                                                     .words = {},
                                                     .least = 0,
                                                     .most = kMost,
                                                     .fallback = 16}}};

constexpr FaultBehaviour same(Behaviour flag, Choice choice) {
  return {flag, choice};
}

constexpr std::array<FaultInfo, kFaultCount> kFaults{{
    {Fault::max_qp_wr_one_too_many,
     "max_qp_wr_one_too_many",
     "refuses a queue of exactly the declared depth",
     kExtra,
     {}},
    {Fault::max_cqe_one_too_many,
     "max_cqe_one_too_many",
     "refuses a completion queue of exactly the declared depth",
     kExtra,
     {}},
    {Fault::cqe_one_less,
     "cqe_one_less",
     "makes a completion queue of one entry less than asked for when that is a power of two",
     {},
     same(Behaviour::cqe_reported, Choice::one_less_possible)},
    {Fault::max_qp_not_reached,
     "max_qp_not_reached",
     "makes fewer queue pairs than it declares, then fails with ENOMEM",
     kMade,
     {}},
    {Fault::work_requests_run_out,
     "work_requests_run_out",
     "fails creation with ENOMEM when the depths of all queue pairs together pass a number that nothing declares",
     kTotal,
     {}},
    {Fault::budget_shared, "budget_shared",
     "counts responder resources of all queue pairs together, and refuses RTR with EINVAL when they are used up",
     kResponderBudget, same(Behaviour::rd_atomic_budget, Choice::shared)},
    {Fault::inline_over_limit_taken,
     "inline_over_limit_taken",
     "makes a queue pair with more inline bytes than it holds, and refuses the posts",
     kReturned,
     {}},
    {Fault::unsupported_errno,
     "unsupported_errno",
     "refuses a verb that it lacks with an errno of its own",
     kErrno,
     {}},
    {Fault::errno_left_alone, "errno_left_alone", "leaves errno as it was when a verb fails", {}, {}},
    {Fault::windows_declared, "windows_declared", "declares memory windows and makes none", {}, {}},
    {Fault::query_qp_state_wrong,
     "query_qp_state_wrong",
     "gives a state that no queue pair can have when one in ERR is queried",
     kState,
     {}},
    {Fault::sge_overrun,
     "sge_overrun",
     "fails the queue pair when more of the declared SGEs are used than it holds",
     kHeldSges,
     {}},
    {Fault::inline_accepted_but_dropped, "inline_accepted_but_dropped",
     "answers with the inline size that was asked for, and sends zeros", kHeldInline,
     same(Behaviour::inline_over_limit, Choice::unverified)},
    {Fault::inline_multi_sge_sends_first_only,
     "inline_multi_sge_sends_first_only",
     "sends the bytes of the first SGE of an inline work request and leaves out the others",
     {},
     {}},
    {Fault::kept_in_ring,
     "kept_in_ring",
     "refuses a send before RTS, and sends it all the same later",
     {},
     same(Behaviour::post_send_before_rts, Choice::kept_in_ring)},
    {Fault::negative_errno,
     "negative_errno",
     "returns negative errnos from post calls",
     {},
     same(Behaviour::post_return_sign, Choice::negative)},
    {Fault::fence_ignored,
     "fence_ignored",
     "starts a fenced work request before earlier READs have finished",
     {},
     same(Behaviour::fence_orders, Choice::no)},
    {Fault::atomics_refused_when_posted,
     "atomics_refused_when_posted",
     "declares atomics and refuses their posts",
     kAtomicErrno,
     {}},
    {Fault::atomic_result_swapped,
     "atomic_result_swapped",
     "returns the former value of an atomic in the other byte order",
     {},
     {}},
    {Fault::pinned_bytes_run_out,
     "pinned_bytes_run_out",
     "fails creation and registration with ENOMEM when rings and regions together pass a lock limit",
     kBytes,
     {}},
    {Fault::region_pages_limited,
     "region_pages_limited",
     "refuses a region of more pages than it can name with ENOMEM, whatever max_mr_size says",
     kPages,
     {}},
    {Fault::regions_run_out,
     "regions_run_out",
     "fails registration with ENOMEM after fewer regions than it declares",
     kRegions,
     {}},
    {Fault::strict_order_refused,
     "strict_order_refused",
     "refuses a region without IBV_ACCESS_RELAXED_ORDERING with EINVAL",
     {},
     {}},
    {Fault::payload_after_completion,
     "payload_after_completion",
     "shows a completion before the last bytes of its message",
     kLate,
     {}},
    {Fault::reset_spoils,
     "reset_spoils",
     "refuses INIT with EINVAL after any move to RESET",
     {},
     same(Behaviour::noop_reset, Choice::spoils)},
    {Fault::reset_leaves_completions,
     "reset_leaves_completions",
     "leaves old completions in the queue at RESET",
     {},
     same(Behaviour::reset_removes_completions, Choice::no)},
    {Fault::rtr_to_rts_wants_rnr_timer,
     "rtr_to_rts_wants_rnr_timer",
     "refuses RTS with EINVAL where min_rnr_timer does not come along",
     {},
     same(Behaviour::rtr_to_rts_also_needs, Choice::min_rnr_timer)},
    {Fault::access_flags_grow,
     "access_flags_grow",
     "never takes remote access away from a queue pair",
     {},
     same(Behaviour::qp_access_flags, Choice::grow_only)},
    {Fault::qp_number_reused_at_once,
     "qp_number_reused_at_once",
     "gives the number of a destroyed queue pair to the next one, which takes late packets of the first for its own",
     {},
     {}},
    {Fault::timeout_ignored, "timeout_ignored", "waits for times of its own whatever the ack timeout is", kTimeout,
     same(Behaviour::ack_timeout, Choice::ignored)},
    {Fault::flush_lost, "flush_lost", "never completes some of the work requests that an error flushes", kOneIn,
     same(Behaviour::flush_on_error, Choice::may_lose)},
    {Fault::flush_to_other_cq,
     "flush_to_other_cq",
     "puts the flushes of a send queue into the completion queue of the receives",
     {},
     {}},
    {Fault::last_wqe_not_raised,
     "last_wqe_not_raised",
     "raises no event when the last receive of a failed queue pair is taken",
     {},
     same(Behaviour::last_wqe_reached, Choice::not_raised)},
    {Fault::errors_reported_as,
     "errors_reported_as",
     "completes work requests that failed, flushed ones apart, with one status whatever the cause",
     kStatus,
     {}},
    {Fault::vendor_err_undocumented, "vendor_err_undocumented", "puts a code that no document names into vendor_err",
     kVendorCode, same(Behaviour::vendor_err, Choice::opaque)},
    {Fault::device_stops,
     "device_stops",
     "raises IBV_EVENT_DEVICE_FATAL, then moves no more data and answers every destroy with EIO",
     kAfter,
     {}},
}};

constexpr bool faults_in_order() {
  for (std::size_t at = 0; at < kFaultCount; ++at)
    if (static_cast<std::size_t>(kFaults[at].fault) != at) return false;
  return true;
}
static_assert(faults_in_order());

}  // namespace

std::span<const FaultInfo> all_faults() noexcept {
  return kFaults;
}

const FaultInfo& info(Fault fault) noexcept {
  return kFaults[static_cast<std::size_t>(fault)];
}

std::string_view name(Fault fault) noexcept {
  return info(fault).name;
}

std::optional<Fault> find_fault(std::string_view name) noexcept {
  const auto found =
      std::find_if(kFaults.begin(), kFaults.end(), [&](const FaultInfo& one) { return one.name == name; });
  if (found == kFaults.end()) return std::nullopt;
  return found->fault;
}

}  // namespace verbena
