// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/behaviours.hpp"

#include <array>

#include "names/word_table.hpp"

namespace verbena {
namespace {

// clang-format off: grouped by hand
constexpr names::WordTable<kChoiceCount> kChoices{
    "unknown",      "yes",         "no",          "none",                     "caller",
    "rdma_cm",      "harmless",    "spoils",      "refused",                  "ignored",
    "accepted",     "kept_in_ring", "clamped",    "taken",                    "skipped",
    "dangerous",    "dropped",     "min_rnr_timer", "positive",               "negative",
    "mixed",        "set",         "unreliable",  "unset",                    "error_event",
    "error_event_and_qp_error",    "entries",     "one_less_possible",        "unverified",
    "honoured",     "milliseconds", "jiffies",    "not_applicable",           "seven",
    "infinite",     "power_of_two", "derived",    "shared",                   "grow_only",
    "remote_always_on",            "unchecked",   "complete",                 "may_lose",
    "raised",       "not_raised",  "firmware_byte", "major_minor",            "cqe_sub_status",
    "opaque",       "enomem",      "efault",      "eio"};
// clang-format on
static_assert(names::word_of(kChoices, Choice::eio) == "eio");
static_assert(names::word_of(kChoices, Choice::error_event_and_qp_error) == "error_event_and_qp_error");
static_assert(names::word_of(kChoices, Choice::not_applicable) == "not_applicable");
static_assert(names::word_of(kChoices, Choice::unchecked) == "unchecked");

// Each list runs from the choice that asks least of a caller to the one that asks most.
constexpr Choice kRtsDrivenBy[]{Choice::caller, Choice::rdma_cm};
constexpr Choice kRecycle[]{Choice::yes, Choice::unknown, Choice::no};
constexpr Choice kNoopReset[]{Choice::harmless, Choice::unknown, Choice::spoils};
constexpr Choice kYesUnknownNo[]{Choice::yes, Choice::unknown, Choice::no};
constexpr Choice kIgnoredRefused[]{Choice::ignored, Choice::refused};
constexpr Choice kNoneMinRnr[]{Choice::none, Choice::min_rnr_timer};
constexpr Choice kReturnSign[]{Choice::positive, Choice::negative, Choice::mixed};
constexpr Choice kBadWr[]{Choice::set, Choice::unreliable};
constexpr Choice kPostSendEarly[]{Choice::refused, Choice::unknown, Choice::kept_in_ring};
constexpr Choice kPostRecvEarly[]{Choice::accepted, Choice::unknown, Choice::refused};
constexpr Choice kNoYes[]{Choice::no, Choice::yes};
constexpr Choice kYesNo[]{Choice::yes, Choice::no};
constexpr Choice kTakenRefused[]{Choice::taken, Choice::refused};
constexpr Choice kZeroLengthSge[]{Choice::taken, Choice::skipped, Choice::dangerous};
constexpr Choice kCqOverflow[]{Choice::error_event, Choice::unknown, Choice::error_event_and_qp_error};
constexpr Choice kCqeReported[]{Choice::entries, Choice::one_less_possible, Choice::unset};
constexpr Choice kInlineOver[]{Choice::refused, Choice::clamped, Choice::unverified};
constexpr Choice kAckTimeout[]{Choice::honoured, Choice::jiffies,        Choice::milliseconds,
                               Choice::clamped,  Choice::not_applicable, Choice::ignored};
constexpr Choice kRnrTimer[]{Choice::honoured, Choice::not_applicable, Choice::ignored};
constexpr Choice kRetrySeven[]{Choice::seven, Choice::not_applicable, Choice::infinite};
constexpr Choice kRefusedClamped[]{Choice::refused, Choice::clamped};
constexpr Choice kRounding[]{Choice::none, Choice::power_of_two};
constexpr Choice kBudget[]{Choice::derived, Choice::shared};
constexpr Choice kAccessFlags[]{Choice::honoured, Choice::grow_only, Choice::remote_always_on};
constexpr Choice kMtuOverPort[]{Choice::refused, Choice::clamped, Choice::unchecked};
constexpr Choice kFlush[]{Choice::complete, Choice::may_lose};
constexpr Choice kLastWqe[]{Choice::raised, Choice::unknown, Choice::not_raised};
constexpr Choice kRemoteAtomic[]{Choice::honoured, Choice::dropped};
constexpr Choice kVendorErr[]{Choice::opaque, Choice::firmware_byte, Choice::major_minor, Choice::cqe_sub_status,
                              Choice::none};
constexpr Choice kMemoryErrno[]{Choice::enomem, Choice::eio, Choice::efault};

constexpr std::array<BehaviourInfo, kBehaviourCount> kBehaviours{{
    {Behaviour::rts_driven_by, "rts_driven_by", kRtsDrivenBy, Choice::caller,
     "who moves a queue pair to RTS: the caller with ibv_modify_qp, or the connection manager"},
    {Behaviour::recycle_through_reset, "recycle_through_reset", kRecycle, Choice::unknown,
     "whether ERR, RESET, INIT gives a usable queue pair again"},
    {Behaviour::noop_reset, "noop_reset", kNoopReset, Choice::unknown,
     "what RESET to RESET does to a fresh queue pair"},
    {Behaviour::reset_removes_completions, "reset_removes_completions", kYesUnknownNo, Choice::unknown,
     "whether moving to RESET takes the queue pair's entries out of its completion queues"},
    {Behaviour::superfluous_attributes, "superfluous_attributes", kIgnoredRefused, Choice::refused,
     "what becomes of an attribute bit that the transition does not take"},
    {Behaviour::rtr_to_rts_also_needs, "rtr_to_rts_also_needs", kNoneMinRnr, Choice::none,
     "an attribute that RTR to RTS needs beyond the standard's"},
    {Behaviour::post_return_sign, "post_return_sign", kReturnSign, Choice::positive,
     "the sign of the errno that post_send and post_recv return"},
    {Behaviour::bad_wr, "bad_wr", kBadWr, Choice::set, "whether a failing post always sets bad_wr"},
    {Behaviour::post_send_before_rts, "post_send_before_rts", kPostSendEarly, Choice::unknown,
     "what becomes of a send posted before RTS"},
    {Behaviour::post_recv_in_reset, "post_recv_in_reset", kPostRecvEarly, Choice::unknown,
     "what becomes of a receive posted in RESET"},
    {Behaviour::every_wr_signaled, "every_wr_signaled", kNoYes, Choice::no, "whether unsignalled sends are refused"},
    {Behaviour::fence_and_solicited, "fence_and_solicited", kTakenRefused, Choice::taken,
     "whether IBV_SEND_FENCE and IBV_SEND_SOLICITED are taken"},
    {Behaviour::fence_orders, "fence_orders", kYesNo, Choice::yes,
     "whether a fence really orders after reads and atomics"},
    {Behaviour::zero_length_sge, "zero_length_sge", kZeroLengthSge, Choice::taken,
     "what the device makes of a scatter/gather element of length 0"},
    {Behaviour::cq_overflow, "cq_overflow", kCqOverflow, Choice::unknown,
     "what happens when a completion queue overflows"},
    {Behaviour::cqe_reported, "cqe_reported", kCqeReported, Choice::entries, "what cq->cqe holds after creation"},
    {Behaviour::inline_over_limit, "inline_over_limit", kInlineOver, Choice::refused,
     "what creation does with more inline data than the device has"},
    {Behaviour::caps_written_back, "caps_written_back", kYesNo, Choice::yes,
     "whether ibv_create_qp writes its real caps back"},
    {Behaviour::ack_timeout, "ack_timeout", kAckTimeout, Choice::honoured,
     "what becomes of the local ack timeout code"},
    {Behaviour::min_rnr_timer, "min_rnr_timer", kRnrTimer, Choice::honoured, "what becomes of min_rnr_timer"},
    {Behaviour::retry_cnt_seven, "retry_cnt_seven", kRetrySeven, Choice::seven, "what a retry count of 7 means"},
    {Behaviour::rd_atomic_over_limit, "rd_atomic_over_limit", kRefusedClamped, Choice::refused,
     "what becomes of more read/atomic resources than the device has"},
    {Behaviour::rd_atomic_rounding, "rd_atomic_rounding", kRounding, Choice::none,
     "how the device rounds read/atomic resources up"},
    {Behaviour::rd_atomic_budget, "rd_atomic_budget", kBudget, Choice::derived,
     "whether max_res_rd_atom is a real budget that all queue pairs share"},
    {Behaviour::qp_access_flags, "qp_access_flags", kAccessFlags, Choice::honoured,
     "what becomes of a queue pair's access flags"},
    {Behaviour::path_mtu_over_port, "path_mtu_over_port", kMtuOverPort, Choice::refused,
     "what becomes of a path MTU above the port's"},
    {Behaviour::flush_on_error, "flush_on_error", kFlush, Choice::complete,
     "whether a failed queue pair completes every outstanding work request"},
    {Behaviour::last_wqe_reached, "last_wqe_reached", kLastWqe, Choice::unknown,
     "whether the last-WQE-reached event is raised"},
    {Behaviour::read_sink_needs_remote_write, "read_sink_needs_remote_write", kNoYes, Choice::no,
     "whether the sink of an RDMA READ must be registered with remote write (iWARP)"},
    {Behaviour::remote_atomic_on_mr, "remote_atomic_on_mr", kRemoteAtomic, Choice::honoured,
     "what becomes of IBV_ACCESS_REMOTE_ATOMIC on a memory region"},
    {Behaviour::caps_shrink_with_use, "caps_shrink_with_use", kNoYes, Choice::no,
     "whether max_qp, max_cq, max_mr and max_pd are what is left"},
    {Behaviour::reg_mr_sets_errno, "reg_mr_sets_errno", kYesNo, Choice::yes,
     "whether a failing registration always sets errno"},
    {Behaviour::vendor_err, "vendor_err", kVendorErr, Choice::opaque, "what vendor_err of a work completion holds"},
    {Behaviour::memory_failure_errno, "memory_failure_errno", kMemoryErrno, Choice::enomem,
     "the errno of a creation that finds no memory"},
}};

constexpr bool sound() {
  for (std::size_t at = 0; at < kBehaviours.size(); ++at) {
    const BehaviourInfo& flag = kBehaviours[at];
    if (static_cast<std::size_t>(flag.behaviour) != at) return false;
    bool listed = false;
    for (const Choice choice : flag.choices) listed = listed || choice == flag.fallback;
    if (!listed) return false;
  }
  return true;
}
static_assert(sound());

}  // namespace

std::span<const BehaviourInfo> all_behaviours() noexcept {
  return kBehaviours;
}
const BehaviourInfo& info(Behaviour behaviour) noexcept {
  return kBehaviours[static_cast<std::size_t>(behaviour)];
}
std::string_view name(Behaviour behaviour) noexcept {
  return info(behaviour).name;
}
std::string_view name(Choice choice) noexcept {
  return names::word_of(kChoices, choice);
}

std::optional<Behaviour> find_behaviour(std::string_view name) noexcept {
  for (const BehaviourInfo& flag : kBehaviours) {
    if (flag.name == name) return flag.behaviour;
  }
  return std::nullopt;
}

std::optional<Choice> find_choice(std::string_view name) noexcept {
  return names::find_word<Choice>(kChoices, name);
}

}  // namespace verbena
