// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "json.hpp"
#include "session.hpp"
#include "verbena/fit.hpp"

namespace cli {

/// What one run of explain asks for.
struct Asked {
  std::vector<verbena::CqRequest> cqs;
  std::vector<verbena::QpRequest> qps;
  std::vector<verbena::SrqRequest> srqs;
  std::vector<verbena::MrRequest> mrs;
  bool empty() const noexcept { return cqs.empty() && qps.empty() && srqs.empty() && mrs.empty(); }
};

/// One number of one object.
struct FieldLine {
  std::string field;
  std::uint64_t asked = 0;
  std::optional<std::uint64_t> at_least;
  std::optional<std::uint64_t> granted, passed, returned;
};

/// Why more is passed than was granted.
struct Passing {
  std::string field;
  std::uint64_t from = 0, to = 0;
  verbena::Provenance by;
};

/// One object: what was asked of the device and what came of it.
struct Explained {
  std::string kind;   ///< `qp`, `cq`, `srq`, `mr`
  std::string title;  ///< `qp rc, ops send+write`
  Json words;         ///< what is asked besides numbers: type, ops, access
  std::vector<FieldLine> fields;
  std::vector<verbena::Adjustment> adjustments;
  std::vector<Passing> passings;
  std::vector<std::string> unbounded;  ///< fields granted of which nobody says how much there is
  std::vector<verbena::LadderStep> ladder;
  std::optional<verbena::Error> error;
};

/// Fits every object that is asked for; creates none.
std::vector<Explained> explain(const Target& target, const Asked& asked);

/// Creates every object on the device, each on its own, and tells what the provider returned. A region is registered
/// over fresh memory.
std::vector<Explained> create(const Target& target, const Asked& asked);

Json to_json(const Explained& object);
std::string to_text(const Explained& object);

}  // namespace cli
