// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace verbena {

class Backend;
struct JointFormula;

/// The backends of one library object. A caller can see it, and pass one of its own: there is no static registry.
class BackendRegistry {
public:
  /// All backends of this build, the generic one last.
  static BackendRegistry builtin();

  void add(const Backend& backend);
  /// The backend that serves this driver; the generic one when none does. Never null after builtin().
  const Backend* for_driver(std::string_view driver) const noexcept;
  std::span<const Backend* const> all() const noexcept { return backends_; }
  /// The formula of that name in any backend; null when there is none.
  const JointFormula* formula(std::string_view name) const noexcept;
  /// Every formula that a table may choose, backend by backend.
  std::vector<const JointFormula*> formulas() const;

private:
  std::vector<const Backend*> backends_;
};

}  // namespace verbena
#pragma GCC visibility pop
