// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>

#include "verbena/caps.hpp"
#include "verbena/contract.hpp"
#include "verbena/counters.hpp"
#include "verbena/device_id.hpp"
#include "verbena/ledger.hpp"
#include "verbena/result.hpp"

struct ibv_context;

#pragma GCC visibility push(default)
namespace verbena {

class Pd;
class Verbs;
class Backend;

/// An open device. A handle that shares ownership with its children: the context is closed when the last of device and
/// children goes. Thread-safe.
class Device {
public:
  ibv_context* raw() const noexcept;
  const DeviceId& id() const noexcept;
  /// What the device said when it was probed. Counts that shrink with use are asked anew by contract().
  const Caps& caps() const noexcept;
  /// The contract of one port (from 1) under the rules in force now. Error: invalid_request for a port it has not.
  [[nodiscard]] Result<std::shared_ptr<const Contract>> contract(std::uint8_t port = 1) const;
  [[nodiscard]] Result<Pd> alloc_pd() const;
  /// Budgets that this device's QPs share (read/atomic responder resources, total work requests).
  LedgerSnapshot ledger() const;
  CountersSnapshot counters() const;
  /// True once a fatal event or EIO told that the hardware is gone; then every call fails with device_gone and
  /// destruction counts EIO as done.
  bool gone() const noexcept;
  const Verbs& verbs() const noexcept;
  const Backend& backend() const noexcept;

  struct State;
  explicit Device(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
};

}  // namespace verbena
#pragma GCC visibility pop
