// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tuple.hpp"
#include "verbena/contract.hpp"
#include "verbena/provenance.hpp"

namespace agreement {

verbena::Feature feature_of(verbena::QpType type) noexcept;

/// A request as numbers in the order of Tuple, with the floors that it gives.
struct Wishes {
  Kind kind = Kind::qp;
  verbena::QpType type = verbena::QpType::rc;
  verbena::SendOps ops{};
  Numbers want{};
  std::array<std::optional<std::uint32_t>, 5> at_least{};
};

/// What fit makes of it.
struct Fitted {
  Tuple tuple;          ///< what is to be passed
  Numbers asked{};
  Numbers granted{};
  bool adjusted = false;
  /// Who changed a number: a rule, also one that chose a formula, or the device's own declaration.
  std::array<std::optional<verbena::Provenance>, 5> changed_by{};
  std::uint64_t bytes = 0;   ///< ring memory that the rules' formulas expect
};

/// Empty where fit refuses.
std::optional<Fitted> fit(const Wishes& wishes, const verbena::Contract& contract);
/// Ring memory that a tuple would take, as far as a formula knows.
std::uint64_t bytes_of(const Tuple& tuple, const verbena::Contract& contract);
std::string to_string(const Fitted& fitted);

/// Seeded wishes, log-uniform up to four times each bound, so that about a third lies beyond it.
class Draw {
public:
  Draw(const verbena::Contract& contract, std::uint64_t seed);
  Wishes random();
  /// Each bound of each field at -1, 0 and +1, for every type, with the other fields at their smallest; and the deepest
  /// queues for several SGEs and inline sizes, where they share a ring.
  std::vector<Wishes> bounds() const;
  /// True once in `n` calls, on average.
  bool once_in(unsigned n) { return random_() % n == 0; }
  const std::vector<verbena::QpType>& types() const noexcept { return types_; }
  std::size_t below(std::size_t n) { return random_() % n; }

private:
  std::vector<Wishes> deepest(verbena::QpType type) const;
  std::uint32_t number(Kind kind, std::size_t index);
  verbena::SendOps some_ops(verbena::QpType type);

  const verbena::Contract* contract_;
  std::mt19937_64 random_;
  std::vector<verbena::QpType> types_;  ///< those that are native; all where none is
};

}  // namespace agreement
