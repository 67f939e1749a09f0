// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <infiniband/verbs.h>

#include "verbena/caps.hpp"
#include "verbena/contract.hpp"
#include "verbena/device_id.hpp"
#include "verbena/fit.hpp"
#include "verbena/joint.hpp"
#include "verbena/registry.hpp"
#include "verbena/result.hpp"

namespace verbena {

class Verbs;

/// What creation needs besides the fitted numbers.
struct QpCreate {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_srq* srq = nullptr;
  void* qp_context = nullptr;
  bool sq_sig_all = false;
};

/// A vendor module: probes what only the vendor's own query tells, holds the vendor's joint limits, creates, decodes
/// the vendor's errors. Stateless: one static object a vendor, reached through the registry. Backends know core's
/// plain data and their own vendor library; core knows this interface and no vendor.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string_view name() const noexcept = 0;
  /// Drivers served: `mlx5`; the generic backend serves whatever no other one does.
  virtual std::span<const std::string_view> drivers() const noexcept = 0;
  /// Ring formulas that tables may choose with `joint:`.
  virtual std::span<const JointFormula> formulas() const noexcept = 0;
  /// Adds what the vendor's own query tells; leaves what it cannot ask. Only asks, never creates. Returns a sentence
  /// for the log on what of the vendor's library was found and what is lost without the rest; empty when there is none.
  virtual std::string probe(Verbs& verbs, ibv_context* context, const DeviceId& device, Caps& caps) const = 0;
  /// Makes the QP as fitted: `cap` comes back as the provider wrote it. Null on refusal, with errno_value the positive
  /// errno, or 0 when the driver set none.
  virtual ibv_qp* create_qp(Verbs& verbs, const QpCreate& what, const QpFit& fit, ibv_qp_cap& cap,
                            int& errno_value) const = 0;
  /// The same for a CQ; `cqe` comes back as the provider wrote it.
  virtual ibv_cq* create_cq(Verbs& verbs, ibv_context* context, const CqRequest& request, const CqGrant& grant,
                            ibv_comp_channel* channel, void* cq_context, std::uint32_t& cqe,
                            int& errno_value) const = 0;
  /// What a work completion's vendor_err means on this vendor's devices; empty when no source says.
  virtual std::string_view vendor_error(std::uint32_t vendor_err) const noexcept = 0;
};

}  // namespace verbena
