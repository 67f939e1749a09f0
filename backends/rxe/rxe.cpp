// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/rxe/rxe.hpp"

#include <array>

#include "backends/rxe/shared_bytes.hpp"

namespace verbena::rxe {
namespace {

class RxeBackend final : public GenericBackend {
public:
  std::string_view name() const noexcept override { return "rxe"; }
  std::span<const std::string_view> drivers() const noexcept override {
    static constexpr std::array<std::string_view, 1> served{"rxe"};
    return served;
  }
  std::span<const JointFormula> formulas() const noexcept override { return {&kSharedBytes, 1}; }
};

}  // namespace

const Backend& backend() noexcept {
  static const RxeBackend instance;
  return instance;
}

}  // namespace verbena::rxe
