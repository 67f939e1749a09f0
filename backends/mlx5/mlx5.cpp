// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/mlx5.hpp"

#include <array>

#include "backends/mlx5/hca_caps.hpp"
#include "backends/mlx5/wqe_blocks.hpp"

namespace verbena::mlx5 {
namespace {

class Mlx5Backend final : public GenericBackend {
public:
  std::string_view name() const noexcept override { return "mlx5"; }
  std::span<const std::string_view> drivers() const noexcept override {
    static constexpr std::array<std::string_view, 1> served{"mlx5"};
    return served;
  }
  std::span<const JointFormula> formulas() const noexcept override { return {&kWqeBlocks, 1}; }
  void probe(Verbs& verbs, ibv_context* context, const DeviceId&, Caps& caps) const override {
    probe_hca_caps(verbs, context, caps);
  }
  std::string_view vendor_error(std::uint32_t vendor_err) const noexcept override {
    // The one value that the provider itself names. Source: rdma-core providers/mlx5/cq.c is_odp_pfault_err.
    return vendor_err == 0x93 ? "page fault of an on-demand paging region" : std::string_view{};
  }
};

}  // namespace

const Backend& backend() noexcept {
  static const Mlx5Backend instance;
  return instance;
}

}  // namespace verbena::mlx5
