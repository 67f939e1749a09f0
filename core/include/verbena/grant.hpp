// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbena/features.hpp"
#include "verbena/fields.hpp"
#include "verbena/provenance.hpp"
#include "verbena/request.hpp"

#pragma GCC visibility push(default)
namespace verbena {

enum class AdjustmentKind : std::uint8_t {
  reduced,          ///< less than asked
  raised,           ///< zero or too little is refused by the device
  substituted,      ///< done another way; the meaning may differ
  beyond_declared,  ///< more granted than the device says it has (a site may forbid that)
};
std::string_view name(AdjustmentKind kind) noexcept;

/// One change, and why. Exists only where `granted` falls short of `asked` or means something else.
struct Adjustment {
  std::string field;            ///< verbs' name, or a feature's
  std::uint64_t asked = 0;
  std::uint64_t granted = 0;
  AdjustmentKind kind = AdjustmentKind::reduced;
  Provenance by{};

  friend bool operator==(const Adjustment&, const Adjustment&) = default;
};

/// `max_inline_data: asked 256, granted 101 (reduced) by rule irdma-gen2-inline-101 [builtin:irdma.yaml:12]: ... —
/// source`
std::string to_string(const Adjustment& adjustment);

/// Four numbers a field.
struct FieldGrant {
  Field field = Field::cqe;
  std::uint32_t asked = 0;
  std::uint32_t granted = 0;               ///< what the caller may count on; never above the contract
  std::uint32_t passed = 0;                ///< what goes to create: roundings, reserves and hidden slots included
  std::optional<std::uint32_t> returned{}; ///< what the provider wrote back; empty for a model or a fit alone

  friend bool operator==(const FieldGrant&, const FieldGrant&) = default;
};

/// One try of the ladder: what was passed and what the device answered.
struct LadderStep {
  std::string passed;       ///< `max_send_wr=4063 max_send_sge=13 ...`
  int errno_value = 0;      ///< 0: accepted
  std::string changed;      ///< the field that the next try lowered, empty on the last

  friend bool operator==(const LadderStep&, const LadderStep&) = default;
};

/// What every grant carries. Nothing in it is allocated when nothing was changed.
struct GrantNotes {
  std::vector<Adjustment> adjustments;
  std::vector<LadderStep> ladder;          ///< only when the device refused what the contract allows
  std::uint64_t quirks_hash = 0;           ///< the rule set in force

  friend bool operator==(const GrantNotes&, const GrantNotes&) = default;
};

struct QpGrant : GrantNotes {
  QpType type = QpType::rc;
  SendOps ops{};
  std::array<FieldGrant, 5> fields{FieldGrant{Field::max_send_wr}, FieldGrant{Field::max_recv_wr},
                                   FieldGrant{Field::max_send_sge}, FieldGrant{Field::max_recv_sge},
                                   FieldGrant{Field::max_inline_data}};

  const FieldGrant& max_send_wr() const noexcept { return fields[0]; }
  const FieldGrant& max_recv_wr() const noexcept { return fields[1]; }
  const FieldGrant& max_send_sge() const noexcept { return fields[2]; }
  const FieldGrant& max_recv_sge() const noexcept { return fields[3]; }
  const FieldGrant& max_inline_data() const noexcept { return fields[4]; }
  friend bool operator==(const QpGrant&, const QpGrant&) = default;
};

struct CqGrant : GrantNotes {
  FieldGrant cqe{Field::cqe};
  friend bool operator==(const CqGrant&, const CqGrant&) = default;
};

struct SrqGrant : GrantNotes {
  FieldGrant max_wr{Field::max_wr};
  FieldGrant max_sge{Field::max_sge};
  FieldGrant srq_limit{Field::srq_limit};
  friend bool operator==(const SrqGrant&, const SrqGrant&) = default;
};

struct MrGrant : GrantNotes {
  std::uint64_t length = 0;
  std::uint32_t access = 0;   ///< passed access flags; each that was asked and left out has an adjustment
  friend bool operator==(const MrGrant&, const MrGrant&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
