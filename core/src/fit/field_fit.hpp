// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace verbena::fitting {

/// One number on its way from wish to grant.
struct FieldFit {
  Field field = Field::cqe;
  Policy policy = Policy::prefer;
  ProvenanceIndex by = 0;           ///< who changed it last
  std::uint32_t want = 0;
  std::uint32_t floor = 0;
  std::uint32_t value = 0;          ///< what can be granted, as far as it has been decided
  std::uint64_t passed = 0;         ///< what has to be passed for that value
  const Joint* joint = nullptr;     ///< set when a shared ring changed it last
  bool rounded = false;             ///< `by` is who has more passed than is granted, and so lowered it
  bool ignored = false;             ///< a receive number beside an SRQ, which verbs does not look at
  bool empty = false;               ///< nothing can be passed, whatever is asked for (Domain::empty)

  bool reduced() const noexcept { return value < want; }
  bool raised() const noexcept { return value > want; }
  /// The request contradicts itself: more is needed than is asked for.
  bool contradicts() const noexcept { return floor > want; }
  /// A shortfall that the floor or the policy forbids, or a domain of which nothing is left.
  bool forbidden() const noexcept { return empty || (reduced() && (value < floor || policy == Policy::require)); }
};

/// Starts with the wish and clips it into the field's own domain. What comes of it, contradicts() and forbidden() say.
void clip(Field field, const Wish& wish, Policy request_policy, const Contract& contract, FieldFit& fit) noexcept;

/// A receive number beside an SRQ: nothing is granted, since verbs ignores it then (man ibv_create_qp). A wish of 1
/// with nothing else said is what a request holds where nobody set it, and counts as nothing asked.
void ignore(Field field, const Wish& wish, Policy request_policy, FieldFit& fit) noexcept;

/// The smallest grant for which the least that the device takes is passed.
std::uint32_t least_grant(const Domain& domain) noexcept;

/// What is said of a floor above the wish.
Error floor_above_wish(const FieldFit& fit);

/// What is said of a forbidden() shortfall.
Error shortfall(const FieldFit& fit, const Contract& contract);

/// What is said where a minimum is above what can be passed: both rules, and no `allowed`, since there is none.
Error nothing_left(const FieldFit& fit, const Contract& contract);

/// What is said where a rule leaves the device none of these objects (`what`: `queue pair`); empty where it leaves
/// some. A count of 0 that the device declares is one that it doesn't fill in.
std::optional<Error> none_of(Field count, std::string_view what, const Contract& contract);

/// Which rule it is, without its reason: `rule hns-cq-depth [builtin:hns.yaml:30]`.
std::string who(const Provenance& by);

/// Another number of a request that is refused as well.
struct AlsoShort {
  std::string_view field;
  std::uint64_t asked = 0;
  std::uint64_t need = 0;  ///< what it would have to be; with all of them so, the error's own number is granted
};
/// Adds to an error that no number does alone: its `allowed` is emptied, and the text says what each has to be.
void also_short(Error& error, std::span<const AlsoShort> others);

/// Clips a number that shares nothing with another, and says what contradicts() or is forbidden(). The error's
/// `allowed` would be granted.
std::optional<Error> clip_or_refuse(Field field, const Wish& wish, Policy request_policy, const Contract& contract,
                                    FieldFit& fit);

/// The four numbers without what the provider returns.
FieldGrant grant_of(const FieldFit& fit) noexcept;

/// Something has to be said of this field: it is not granted as asked, or more than the device declares.
inline bool noteworthy(const FieldFit& fit, const Contract& contract) noexcept {
  const std::optional<std::uint64_t>& declared = contract.domain(fit.field).declared;
  return fit.value != fit.want || (declared && fit.value > *declared);
}

/// Adds the adjustments of this field. `why` is the reason to give where the contract's own is too general (a formula's
/// arithmetic); empty otherwise.
void note(const FieldFit& fit, const Contract& contract, std::string why, GrantNotes& notes);

/// The default floors of Wish: an eighth rounded up for depths and CQs, 1 for SGEs, 0 for inline bytes.
std::uint32_t default_floor(Field field, std::uint32_t want) noexcept;

}  // namespace verbena::fitting
