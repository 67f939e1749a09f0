// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/ledger_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verbena/device.hpp"

namespace verbena {
namespace {

constexpr std::size_t kShownHolders = 8;

}  // namespace

void LedgerState::set_totals(std::optional<std::uint64_t> responder, bool responder_shared,
                             std::optional<std::uint64_t> work_requests) {
  const std::lock_guard lock(mutex_);
  responder_total_ = responder;
  responder_shared_ = responder_shared;
  work_request_total_ = work_requests;
}

LedgerState::Held& LedgerState::held_by(const void* owner, std::uint32_t qp_num) {
  const auto known = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.owner == owner; });
  if (known != held_.end()) {
    if (qp_num != 0) known->entry.qp_num = qp_num;
    return *known;
  }
  held_.push_back({owner, {}});
  held_.back().entry.qp_num = qp_num;
  return held_.back();
}

std::optional<std::uint32_t> LedgerState::reserve_responder(const void* owner, std::uint32_t qp_num,
                                                            std::uint32_t wanted, std::uint32_t at_least) {
  const std::lock_guard lock(mutex_);
  Held& held = held_by(owner, qp_num);
  const std::uint64_t others = responder_used_ - held.entry.responder_resources;
  std::uint64_t granted = wanted;
  if (responder_shared_ && responder_total_) {
    const std::uint64_t left = *responder_total_ > others ? *responder_total_ - others : 0;
    granted = std::min<std::uint64_t>(granted, left);
  }
  if (granted < at_least) return std::nullopt;
  held.entry.responder_resources = static_cast<std::uint32_t>(granted);
  responder_used_ = others + granted;
  return static_cast<std::uint32_t>(granted);
}

bool LedgerState::reserve_work_requests(const void* owner, std::uint32_t qp_num, std::uint64_t work_requests) {
  const std::lock_guard lock(mutex_);
  Held& held = held_by(owner, qp_num);
  const std::uint64_t others = work_requests_used_ - held.entry.work_requests;
  if (work_request_total_ && (others > *work_request_total_ || work_requests > *work_request_total_ - others)) {
    return false;
  }
  held.entry.work_requests = work_requests;
  work_requests_used_ = others + work_requests;
  return true;
}

void LedgerState::name(const void* owner, std::uint32_t qp_num) {
  const std::lock_guard lock(mutex_);
  held_by(owner, qp_num);
}

void LedgerState::release_responder(const void* owner) {
  const std::lock_guard lock(mutex_);
  for (Held& held : held_) {
    if (held.owner != owner) continue;
    responder_used_ -= held.entry.responder_resources;
    held.entry.responder_resources = 0;
  }
}

void LedgerState::release(const void* owner) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.owner == owner; });
  if (known == held_.end()) return;
  responder_used_ -= known->entry.responder_resources;
  work_requests_used_ -= known->entry.work_requests;
  held_.erase(known);
}

LedgerSnapshot LedgerState::snapshot() const {
  const std::lock_guard lock(mutex_);
  LedgerSnapshot out;
  out.responder_total = responder_total_;
  out.responder_used = responder_used_;
  out.work_request_total = work_request_total_;
  out.work_requests_used = work_requests_used_;
  out.entries.reserve(held_.size());
  for (const Held& held : held_) {
    if (held.entry.responder_resources != 0 || held.entry.work_requests != 0) out.entries.push_back(held.entry);
  }
  return out;
}

std::string to_string(const LedgerSnapshot& ledger) {
  std::string text;
  if (ledger.responder_total) {
    text =
        fmt::format("{} of {} read/atomic responder resources in use", ledger.responder_used, *ledger.responder_total);
  } else {
    text = fmt::format("{} read/atomic responder resources in use", ledger.responder_used);
  }
  if (ledger.work_request_total) {
    text += fmt::format(", {} of {} work requests", ledger.work_requests_used, *ledger.work_request_total);
  }
  std::size_t shown = 0;
  for (const LedgerEntry& entry : ledger.entries) {
    if (shown == kShownHolders) break;
    text += fmt::format("{} QP {:#x} holds {}", shown == 0 ? ":" : ",", entry.qp_num, entry.responder_resources);
    if (ledger.work_request_total) text += fmt::format(" and {} work requests", entry.work_requests);
    ++shown;
  }
  if (ledger.entries.size() > shown) text += fmt::format(", and {} more", ledger.entries.size() - shown);
  return text;
}

}  // namespace verbena
