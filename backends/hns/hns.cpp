// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/hns/hns.hpp"

#include <array>

#include "backends/hns/extended_sge.hpp"

namespace verbena::hns {
namespace {

class HnsBackend final : public GenericBackend {
public:
  std::string_view name() const noexcept override { return "hns"; }
  std::span<const std::string_view> drivers() const noexcept override {
    static constexpr std::array<std::string_view, 1> served{"hns"};
    return served;
  }
  std::span<const JointFormula> formulas() const noexcept override { return {&kExtendedSge, 1}; }
  std::string_view vendor_error(std::uint32_t vendor_err) const noexcept override {
    // Source: rdma-core providers/hns/hns_roce_u_hw_v2.c, which hands on the sub-status of the CQE.
    return vendor_err == 0 ? std::string_view{} : "sub-status of the completion entry; the values are the firmware's";
  }
};

}  // namespace

const Backend& backend() noexcept {
  static const HnsBackend instance;
  return instance;
}

}  // namespace verbena::hns
