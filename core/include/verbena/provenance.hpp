// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// Who fixed a value.
enum class SetBy : std::uint8_t {
  declared,  ///< the device says so of itself (ibv_query_device_ex, ibv_query_port)
  probed,    ///< found by asking a vendor's own query, or by a trial
  rule,      ///< a quirk rule; its id, layer, file and line are given
  formula,   ///< worked out by a backend from a shared ring; the arithmetic is in the reason
  site,      ///< a setting of this site forbids or prefers it
  request,   ///< the caller's own floor, policy or attribute
  build,     ///< this build of Verbena does not do it, or the verbs interface itself bounds it
};

/// How well a rule is founded, best first.
enum class Evidence : std::uint8_t { measured, driver_source, vendor_doc, field_report, claim };

/// What happens to somebody who ignores the rule.
enum class Severity : std::uint8_t { safety, correctness, performance };

std::string_view name(SetBy value) noexcept;
std::string_view name(Evidence value) noexcept;  ///< as written in tables: `driver-source`
std::string_view name(Severity value) noexcept;

/// Where a value comes from. Every limit, flag, adjustment and refusal carries one.
struct Provenance {
  SetBy set_by = SetBy::declared;
  std::string rule{};    ///< rule id, empty unless a rule is behind it (a formula's parameters come from a rule too)
  std::string reason{};  ///< one sentence that an operator understands
  std::string source{};  ///< where the fact is established (driver file and function, list message, erratum)
  Evidence evidence = Evidence::driver_source;    ///< meaningful with a rule
  Severity severity = Severity::correctness;      ///< meaningful with a rule
  std::string layer{};   ///< `builtin`, `installed`, `etc`, `run`, `env`; empty without a rule
  std::string file{};    ///< the table's path; `builtin:irdma.yaml` for a built-in one
  int line = 0;         ///< 1-based; 0 when there is no file

  friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// `rule irdma-gen2-inline-101 [builtin:irdma.yaml:12]: reason — source`; what is empty is left out.
std::string to_string(const Provenance& provenance);

}  // namespace verbena
#pragma GCC visibility pop
