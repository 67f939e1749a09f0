// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>

#include <infiniband/verbs.h>

#include "verbena/device.hpp"
#include "verbena/ownership.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Which CQ has something to poll.
struct CqEvent {
  ibv_cq* cq = nullptr;
  void* cq_context = nullptr;  ///< as given when the CQ was made
};

/// A file descriptor that tells of completions. Thread-safe, but for move and release.
class CompChannel {
public:
  /// Errors: device_gone, no_memory, refused.
  [[nodiscard]] static Result<CompChannel> create(const Device& device);
  /// Error: invalid_request for null or for a handle of another context.
  [[nodiscard]] static Result<CompChannel> adopt(const Device& device, ibv_comp_channel* channel,
                                                 Ownership ownership = Ownership::taken);

  CompChannel(CompChannel&&) noexcept = default;
  CompChannel& operator=(CompChannel&&) noexcept = default;
  ~CompChannel() = default;

  ibv_comp_channel* raw() const noexcept { return raw_.get(); }
  int descriptor() const noexcept { return raw_->fd; }
  /// Waits for one event, at most `timeout_ms` (-1: without limit), and acknowledges it, so that destroying the CQ
  /// never waits for it. Arm the CQ again before it is polled. Errors: timeout, device_gone, io.
  [[nodiscard]] Result<CqEvent> wait(int timeout_ms) const;
  /// From now on wait() does not block in the kernel, whoever else takes the event first.
  [[nodiscard]] Result<void> set_nonblocking(bool nonblocking) const;
  Device device() const noexcept;
  /// The caller destroys the handle from now on, after the CQs that use it.
  ibv_comp_channel* release() noexcept;

  struct State;
  explicit CompChannel(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_comp_channel> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
