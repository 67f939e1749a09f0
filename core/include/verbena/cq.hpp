// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

#include "verbena/comp_channel.hpp"
#include "verbena/device.hpp"
#include "verbena/grant.hpp"
#include "verbena/ownership.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// A completion queue. Control calls are thread-safe; polling is the caller's own through raw(), as libibverbs says.
/// Its queue pairs keep it alive.
class Cq {
public:
  /// Fits, creates, reads back, and steps down within the floor where the device refuses what its contract allows.
  /// `cq_context` comes back with each event of the channel. Errors: those of fit(), no_memory (with the lock limit and
  /// the need), device_gone, refused (with every try).
  [[nodiscard]] static Result<Cq> create(const Device& device, const CqRequest& request,
                                         const CompChannel* channel = nullptr, void* cq_context = nullptr);
  /// The grant is built from what the handle says. Error: invalid_request for null or for another context's handle.
  [[nodiscard]] static Result<Cq> adopt(const Device& device, ibv_cq* cq, Ownership ownership = Ownership::taken);

  Cq(Cq&&) noexcept = default;
  Cq& operator=(Cq&&) noexcept = default;
  ~Cq() = default;

  ibv_cq* raw() const noexcept { return raw_.get(); }
  /// For ibv_start_poll and friends; null unless the request had wc_flags, single_threaded or ignore_overrun.
  ibv_cq_ex* raw_ex() const noexcept { return raw_ex_.get(); }
  /// As fitted and read back when the CQ was made; resize() returns a grant of its own.
  const CqGrant& grant() const noexcept;

  /// After it returns the CQ holds the granted number. No other thread may poll meanwhile. Errors: unsupported where
  /// the device has no resize, limit when fewer entries than outstanding ones are asked for, those of create().
  [[nodiscard]] Result<CqGrant> resize(const Wish& cqe, Policy policy = Policy::prefer) const;
  /// One event for `count` completions or after `microseconds`, whichever comes first. Errors: unsupported, limit.
  [[nodiscard]] Result<void> moderate(std::uint16_t count, std::uint16_t microseconds) const;
  /// The next completion (or the next solicited or failed one) raises an event of the channel. Error: refused.
  [[nodiscard]] Result<void> arm(bool solicited_only = false) const;
  Device device() const noexcept;
  /// The caller destroys the handle from now on, after the queue pairs that use it.
  ibv_cq* release() noexcept;

  struct State;
  explicit Cq(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_cq> raw_;
  RawHandle<ibv_cq_ex> raw_ex_;
};

}  // namespace verbena
#pragma GCC visibility pop
