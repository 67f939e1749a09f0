// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "backends/backend.hpp"

namespace verbena {

/// What any vendor gets by plain verbs: creation through ibv_create_qp, ibv_create_qp_ex, ibv_create_cq and
/// ibv_create_cq_ex, and no query of its own. Vendors override what theirs do otherwise.
class GenericBackend : public Backend {
public:
  std::string probe(Verbs& verbs, ibv_context* context, const DeviceId& device, Caps& caps) const override;
  ibv_qp* create_qp(Verbs& verbs, const QpCreate& what, const QpFit& fit, ibv_qp_cap& cap,
                    int& errno_value) const override;
  ibv_cq* create_cq(Verbs& verbs, ibv_context* context, const CqRequest& request, const CqGrant& grant,
                    ibv_comp_channel* channel, void* cq_context, std::uint32_t& cqe, int& errno_value) const override;
  std::string_view vendor_error(std::uint32_t vendor_err) const noexcept override;

protected:
  /// What ibv_create_qp_ex is passed, with the operations where they are to be declared.
  static ibv_qp_init_attr_ex extended_attr(const QpCreate& what, const QpFit& fit) noexcept;
};

}  // namespace verbena
