// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <utility>

#include <infiniband/verbs.h>

#include "verbena/device.hpp"
#include "verbena/ownership.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// A protection domain. Like every object here it is never null until it is moved from or released, keeps its device
/// open, and is destroyed once neither it nor a child of it is left. Thread-safe, but for move and release.
class Pd {
public:
  /// Errors: device_gone, no_memory, refused.
  [[nodiscard]] static Result<Pd> alloc(const Device& device);
  /// Error: invalid_request for null or for a handle of another context.
  [[nodiscard]] static Result<Pd> adopt(const Device& device, ibv_pd* pd, Ownership ownership = Ownership::taken);

  Pd(Pd&&) noexcept = default;
  Pd& operator=(Pd&&) noexcept = default;
  ~Pd() = default;

  ibv_pd* raw() const noexcept { return raw_; }
  Device device() const noexcept;
  /// The caller destroys the handle from now on; children that exist stay usable, and the device stays open for them.
  ibv_pd* release() noexcept;

  struct State;  // core/src/objects
  explicit Pd(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  ibv_pd* raw_ = nullptr;
};

}  // namespace verbena
#pragma GCC visibility pop
