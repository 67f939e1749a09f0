// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace verbena::fitting {

/// One number on its way from wish to grant.
struct FieldFit {
  Field field = Field::cqe;
  std::uint32_t want = 0;
  std::uint32_t floor = 0;
  std::uint32_t value = 0;          ///< what can be granted, as far as it has been decided
  Policy policy = Policy::prefer;
  ProvenanceIndex by = 0;           ///< who changed it last
  const Joint* joint = nullptr;     ///< set when a shared ring changed it last

  bool reduced() const noexcept { return value < want; }
  bool raised() const noexcept { return value > want; }
};

/// Starts with the wish and clips it into the field's own domain. Errors: invalid_request (a floor above the wish),
/// limit (below the floor, or short of the wish under `require`).
Result<FieldFit> clip(Field field, const Wish& wish, Policy request_policy, const Contract& contract);

/// A shortfall that the floor or the policy forbids; empty when the value may stand. `why` is the reason to give where
/// the contract's own is too general (a formula's arithmetic).
std::optional<Error> forbidden(const FieldFit& fit, const Contract& contract, const std::string& why = {});

/// The four numbers without what the provider returns.
FieldGrant grant_of(const FieldFit& fit, const Contract& contract) noexcept;

/// Adds the adjustments of this field: none when it is granted as asked and declared.
void note(const FieldFit& fit, const Contract& contract, const std::string& why, GrantNotes& notes);

/// The default floors of Wish: an eighth rounded up for depths and CQs, 1 for SGEs, 0 for inline bytes.
std::uint32_t default_floor(Field field, std::uint32_t want) noexcept;

}  // namespace verbena::fitting
