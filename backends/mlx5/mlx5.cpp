// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/mlx5.hpp"

#include <array>

#include "backends/mlx5/direct_verbs.hpp"
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
  std::string probe(Verbs& verbs, ibv_context* context, const DeviceId&, Caps& caps) const override {
    return probe_direct_verbs(verbs, context, caps);
  }
  ibv_qp* create_qp(Verbs& verbs, const QpCreate& what, const QpFit& fit, ibv_qp_cap& cap,
                    int& errno_value) const override {
    // Datagrams are never left in the completion. Source: Linux hw/mlx5/qp.c create_user_qp (cs_res).
    if (!fit.in_place || fit.grant.type == QpType::ud)
      return GenericBackend::create_qp(verbs, what, fit, cap, errno_value);
    auto attr = extended_attr(what, fit);
    ibv_qp* const qp = create_qp_in_place(verbs, what.context, attr, errno_value);
    cap = attr.cap;
    return qp;
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
