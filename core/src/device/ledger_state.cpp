// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/ledger_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "verbena/device.hpp"

namespace verbena {
namespace {

constexpr std::size_t kShownHolders = 8;

}  // namespace

LedgerLine::~LedgerLine() {
  if (ledger_ != nullptr) ledger_->release(*this);
}

LedgerState::LedgerState() noexcept {
  ends_.previous_ = ends_.next_ = &ends_;
}

void LedgerState::set_totals(std::optional<std::uint64_t> responder, bool responder_shared,
                             std::optional<std::uint64_t> work_requests) {
  const std::lock_guard lock(mutex_);
  responder_total_ = responder;
  responder_shared_ = responder_shared;
  work_request_total_ = work_requests;
}

LedgerEntry& LedgerState::listed(LedgerLine& line, std::uint32_t qp_num) noexcept {
  if (line.ledger_ == nullptr) {
    line.ledger_ = this;
    line.previous_ = ends_.previous_;
    line.next_ = &ends_;
    line.previous_->next_ = line.next_->previous_ = &line;
  }
  if (qp_num != 0) line.entry_.qp_num = qp_num;
  return line.entry_;
}

std::optional<std::uint32_t> LedgerState::reserve_responder(LedgerLine& line, std::uint32_t qp_num,
                                                            std::uint32_t wanted, std::uint32_t at_least) {
  const std::lock_guard lock(mutex_);
  LedgerEntry& entry = listed(line, qp_num);
  const std::uint64_t others = responder_used_ - entry.responder_resources;
  std::uint64_t granted = wanted;
  if (responder_shared_ && responder_total_) {
    const std::uint64_t left = *responder_total_ > others ? *responder_total_ - others : 0;
    granted = std::min<std::uint64_t>(granted, left);
  }
  if (granted < at_least) return std::nullopt;
  entry.responder_resources = static_cast<std::uint32_t>(granted);
  responder_used_ = others + granted;
  return static_cast<std::uint32_t>(granted);
}

bool LedgerState::reserve_work_requests(LedgerLine& line, std::uint32_t qp_num, std::uint64_t work_requests) {
  const std::lock_guard lock(mutex_);
  LedgerEntry& entry = listed(line, qp_num);
  const std::uint64_t others = work_requests_used_ - entry.work_requests;
  if (work_request_total_ && (others > *work_request_total_ || work_requests > *work_request_total_ - others)) {
    return false;
  }
  entry.work_requests = work_requests;
  work_requests_used_ = others + work_requests;
  return true;
}

void LedgerState::release_responder(LedgerLine& line) {
  const std::lock_guard lock(mutex_);
  responder_used_ -= std::exchange(line.entry_.responder_resources, 0U);
}

void LedgerState::release(LedgerLine& line) noexcept {
  const std::lock_guard lock(mutex_);
  if (line.ledger_ == nullptr) return;
  responder_used_ -= line.entry_.responder_resources;
  work_requests_used_ -= line.entry_.work_requests;
  line.previous_->next_ = line.next_;
  line.next_->previous_ = line.previous_;
  line.ledger_ = nullptr;
  line.entry_ = {};
}

LedgerSnapshot LedgerState::snapshot() const {
  const std::lock_guard lock(mutex_);
  LedgerSnapshot out;
  out.responder_total = responder_total_;
  out.responder_used = responder_used_;
  out.work_request_total = work_request_total_;
  out.work_requests_used = work_requests_used_;
  for (const LedgerLine* line = ends_.next_; line != &ends_; line = line->next_) {
    const LedgerEntry& entry = line->entry_;
    if (entry.responder_resources != 0 || entry.work_requests != 0) out.entries.push_back(entry);
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
