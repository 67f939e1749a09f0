// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>

#include <infiniband/verbs.h>

#include "verbena/ownership.hpp"
#include "verbena/pd.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// A memory window; binding goes through the queue pair (ibv_bind_mw for type 1, a work request for type 2).
/// Thread-safe, but for move and release.
class Mw {
public:
  /// Errors: unsupported where the device has no windows of that type, no_memory, device_gone, refused.
  [[nodiscard]] static Result<Mw> alloc(const Pd& pd, ibv_mw_type type);
  /// Error: invalid_request for null or for another context's handle.
  [[nodiscard]] static Result<Mw> adopt(const Pd& pd, ibv_mw* mw, Ownership ownership = Ownership::taken);

  Mw(Mw&&) noexcept = default;
  Mw& operator=(Mw&&) noexcept = default;
  ~Mw() = default;

  ibv_mw* raw() const noexcept { return raw_.get(); }
  std::uint32_t rkey() const noexcept { return raw_->rkey; }
  Device device() const noexcept;
  /// The caller deallocates the handle from now on.
  ibv_mw* release() noexcept;

  struct State;
  explicit Mw(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_mw> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
