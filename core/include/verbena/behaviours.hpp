// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// How a device acts where others act otherwise. A rule sets one with `set: {flag: value}`.
enum class Behaviour : std::uint8_t {
  rts_driven_by,             ///< who moves a QP to RTS: caller | rdma_cm
  recycle_through_reset,     ///< ERR -> RESET -> INIT gives a usable QP: yes | no | unknown
  noop_reset,                ///< RESET -> RESET on a fresh QP: harmless | spoils | unknown
  reset_removes_completions, ///< moving to RESET takes the QP's CQEs out of its CQs: yes | no | unknown
  superfluous_attributes,    ///< an attribute bit that the transition does not take: refused | ignored
  rtr_to_rts_also_needs,     ///< none | min_rnr_timer
  post_return_sign,          ///< positive | negative | mixed
  bad_wr,                    ///< on failure bad_wr is: set | unreliable
  post_send_before_rts,      ///< refused | kept_in_ring | unknown
  post_recv_in_reset,        ///< refused | accepted | unknown
  every_wr_signaled,         ///< unsignalled sends are refused: yes | no
  fence_and_solicited,       ///< IBV_SEND_FENCE and IBV_SEND_SOLICITED: taken | refused
  fence_orders,              ///< a fence orders after reads and atomics: yes | no
  zero_length_sge,           ///< taken | skipped | dangerous
  cq_overflow,               ///< error_event | error_event_and_qp_error | unknown
  cqe_reported,              ///< what cq->cqe holds after creation: entries | one_less_possible | unset
  inline_over_limit,         ///< refused | clamped | unverified (accepted, not proven to work)
  caps_written_back,         ///< create_qp writes its real caps back: yes | no
  ack_timeout,               ///< honoured | ignored | clamped | milliseconds | jiffies | not_applicable
  min_rnr_timer,             ///< honoured | ignored | not_applicable
  retry_cnt_seven,           ///< seven | infinite | not_applicable
  rd_atomic_over_limit,      ///< refused | clamped
  rd_atomic_rounding,        ///< none | power_of_two
  rd_atomic_budget,          ///< max_res_rd_atom is: derived | shared (a real device-wide budget)
  qp_access_flags,           ///< honoured | grow_only | remote_always_on
  path_mtu_over_port,        ///< refused | clamped | unchecked
  flush_on_error,            ///< complete | may_lose (a drain needs a deadline)
  last_wqe_reached,          ///< raised | not_raised | unknown
  read_sink_needs_remote_write, ///< yes (iWARP) | no
  remote_atomic_on_mr,       ///< honoured | dropped
  caps_shrink_with_use,      ///< max_qp, max_cq, max_mr, max_pd are what is left: yes | no
  reg_mr_sets_errno,         ///< yes | no
  vendor_err,                ///< none | firmware_byte | major_minor | cqe_sub_status | opaque
  memory_failure_errno,      ///< creation that finds no memory fails with: enomem | efault | eio
};
inline constexpr std::size_t kBehaviourCount = static_cast<std::size_t>(Behaviour::memory_failure_errno) + 1;

/// Every word that a behaviour flag may hold; which of them one flag takes is in its BehaviourInfo.
// clang-format off: grouped by hand
enum class Choice : std::uint8_t {
  unknown, yes, no, none,
  caller, rdma_cm,
  harmless, spoils,
  refused, ignored, accepted, kept_in_ring, clamped, taken, skipped, dangerous, dropped,
  min_rnr_timer,
  positive, negative, mixed,
  set, unreliable, unset,
  error_event, error_event_and_qp_error,
  entries, one_less_possible,
  unverified,
  honoured, milliseconds, jiffies, not_applicable,
  seven, infinite,
  power_of_two,
  derived, shared,
  grow_only, remote_always_on,
  unchecked,
  complete, may_lose,
  raised, not_raised,
  firmware_byte, major_minor, cqe_sub_status, opaque,
  enomem, efault, eio,
};
// clang-format on
inline constexpr std::size_t kChoiceCount = static_cast<std::size_t>(Choice::eio) + 1;

struct BehaviourInfo {
  Behaviour behaviour;
  std::string_view name;
  std::span<const Choice> choices;  ///< what a table may set
  Choice fallback;                  ///< what holds when no rule says otherwise
  std::string_view meaning;         ///< one sentence
};

std::span<const BehaviourInfo> all_behaviours() noexcept;
const BehaviourInfo& info(Behaviour behaviour) noexcept;
std::string_view name(Behaviour behaviour) noexcept;
std::string_view name(Choice choice) noexcept;
std::optional<Behaviour> find_behaviour(std::string_view name) noexcept;
std::optional<Choice> find_choice(std::string_view name) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
