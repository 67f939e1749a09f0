// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/generic/generic.hpp"

#include "backends/generic/wqe_units.hpp"

namespace verbena::generic {
namespace {

class AnyBackend final : public GenericBackend {
public:
  std::string_view name() const noexcept override { return "generic"; }
  std::span<const std::string_view> drivers() const noexcept override { return {}; }
  std::span<const JointFormula> formulas() const noexcept override { return {&kWqeUnits, 1}; }
};

}  // namespace

const Backend& backend() noexcept {
  static const AnyBackend instance;
  return instance;
}

}  // namespace verbena::generic
