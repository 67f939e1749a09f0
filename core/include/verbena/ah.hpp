// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

#include "verbena/ownership.hpp"
#include "verbena/pd.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// An address handle: where a UD send goes. Must outlive the completion of every send that names it. Thread-safe, but
/// for move and release.
class Ah {
public:
  /// Errors: unsupported where user space cannot make one, invalid_request for a port the device has not or for an
  /// address that needs a GRH and has none (RoCE always does), no_memory, device_gone, refused.
  [[nodiscard]] static Result<Ah> create(const Pd& pd, const ibv_ah_attr& attr);
  /// The way back to the sender of a receive. `grh` is the first 40 bytes of what was received, null where wc.wc_flags
  /// has no IBV_WC_GRH. Errors: as create.
  [[nodiscard]] static Result<Ah> create_from_wc(const Pd& pd, const ibv_wc& wc, ibv_grh* grh, std::uint8_t port);
  /// Error: invalid_request for null or for another context's handle.
  [[nodiscard]] static Result<Ah> adopt(const Pd& pd, ibv_ah* ah, Ownership ownership = Ownership::taken);

  Ah(Ah&&) noexcept = default;
  Ah& operator=(Ah&&) noexcept = default;
  ~Ah() = default;

  ibv_ah* raw() const noexcept { return raw_.get(); }
  Device device() const noexcept;
  /// The caller destroys the handle from now on.
  ibv_ah* release() noexcept;

  struct State;
  explicit Ah(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_ah> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
