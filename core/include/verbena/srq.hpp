// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

#include "verbena/grant.hpp"
#include "verbena/ownership.hpp"
#include "verbena/pd.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// A receive queue that several queue pairs share. Thread-safe, but for move and release.
class Srq {
public:
  /// Fits, creates and reads back, as Cq::create does. Errors: those of fit(), no_memory, device_gone, refused.
  [[nodiscard]] static Result<Srq> create(const Pd& pd, const SrqRequest& request, void* srq_context = nullptr);
  /// The grant is built by ibv_query_srq. Errors: invalid_request for null or for another context's handle, refused.
  [[nodiscard]] static Result<Srq> adopt(const Pd& pd, ibv_srq* srq, Ownership ownership = Ownership::taken);

  Srq(Srq&&) noexcept = default;
  Srq& operator=(Srq&&) noexcept = default;
  ~Srq() = default;

  ibv_srq* raw() const noexcept { return raw_.get(); }
  const SrqGrant& grant() const noexcept;
  /// IBV_EVENT_SRQ_LIMIT_REACHED is raised once when fewer than `limit` receives are left. Errors: unsupported, limit.
  [[nodiscard]] Result<void> arm_limit(std::uint32_t limit) const;
  /// What the device says now. Error: refused.
  [[nodiscard]] Result<ibv_srq_attr> query() const;
  Device device() const noexcept;
  /// The caller destroys the handle from now on, after the queue pairs that use it.
  ibv_srq* release() noexcept;

  struct State;
  explicit Srq(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_srq> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
