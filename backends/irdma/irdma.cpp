// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/irdma/irdma.hpp"

#include <array>

#include "backends/irdma/quanta.hpp"

namespace verbena::irdma {
namespace {

class IrdmaBackend final : public GenericBackend {
public:
  std::string_view name() const noexcept override { return "irdma"; }
  std::span<const std::string_view> drivers() const noexcept override {
    static constexpr std::array<std::string_view, 1> served{"irdma"};
    return served;
  }
  std::span<const JointFormula> formulas() const noexcept override { return {&kQuanta, 1}; }
  std::string_view vendor_error(std::uint32_t vendor_err) const noexcept override {
    // major << 16 | minor; the meaning of the minor codes is the firmware's.
    // Source: rdma-core providers/irdma/uverbs.c irdma_process_cqe.
    return vendor_err == 0 ? std::string_view{} : "major code in the upper 16 bits, minor code in the lower 16";
  }
};

}  // namespace

const Backend& backend() noexcept {
  static const IrdmaBackend instance;
  return instance;
}

}  // namespace verbena::irdma
