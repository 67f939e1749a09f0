// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/comp_channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "objects/adopted.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"
#include "verbena/errno_family.hpp"

namespace verbena {

CompChannel::State::~State() {
  if (owned) device->destroyed("ibv_destroy_comp_channel", device->verbs().destroy_comp_channel(raw));
}

CompChannel::CompChannel(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

Result<CompChannel> CompChannel::create(const Device& device) {
  Device::State& on = *device.state();
  if (on.gone()) return gone(on);
  auto state = std::make_shared<State>();
  state->owned = false;
  state->device = device.state();
  const Made<ibv_comp_channel> made = on.verbs().create_comp_channel(on.context);
  if (!made) {
    return Failure(
        refusal(on, {"ibv_create_comp_channel", "completion channel"}, {false, made.error, made.errno_missing}));
  }
  state->raw = made.handle;
  state->owned = true;
  CountersState::add(on.counters.created);
  return CompChannel(std::move(state));
}

Result<CompChannel> CompChannel::adopt(const Device& device, ibv_comp_channel* channel, Ownership ownership) {
  if (auto error = not_adoptable(channel, *device.state(), "completion channel")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->device = device.state();
  state->raw = channel;
  state->owned = ownership == Ownership::taken;
  return CompChannel(std::move(state));
}

Result<CqEvent> CompChannel::wait(int timeout_ms) const {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  Device::State& on = *state_->device;
  Verbs& verbs = on.verbs();
  const std::uint64_t end = timeout_ms < 0 ? std::numeric_limits<std::uint64_t>::max()
                                           : verbs.monotonic_ns() + static_cast<std::uint64_t>(timeout_ms) * kNsPerMs;
  for (int left = timeout_ms;;) {
    int error = verbs.wait_readable(raw_->fd, left);
    if (error == 0) {
      CqEvent event;
      error = verbs.get_cq_event(raw_.get(), &event.cq, &event.cq_context);
      if (error == 0) {
        verbs.ack_cq_events(event.cq, 1);
        return event;
      }
    }
    Error failed;
    failed.errno_value = error;
    if (error == ETIMEDOUT) {
      failed.kind = ErrorKind::timeout;
      failed.text = fmt::format("no completion event on {} within {} ms", on.name(), timeout_ms);
      return Failure(std::move(failed));
    }
    if (error != EINTR && errno_family(error) != ErrnoFamily::again) {
      if (on.look_at(error)) return gone(on);
      failed.kind = ErrorKind::io;
      failed.text = fmt::format("waiting for a completion event on {} failed with {}", on.name(), errno_name(error));
      return Failure(std::move(failed));
    }
    // Interrupted, or another thread took the event first.
    if (timeout_ms >= 0) {
      const std::uint64_t now = verbs.monotonic_ns();
      left = now < end ? static_cast<int>((end - now + kNsPerMs - 1) / kNsPerMs) : 0;
    }
  }
}

Result<void> CompChannel::set_nonblocking(bool nonblocking) const {
  const int error = state_->device->verbs().set_nonblocking(raw_->fd, nonblocking);
  if (error == 0) return {};
  Error failed;
  failed.kind = ErrorKind::io;
  failed.errno_value = error;
  failed.text = fmt::format("fcntl on the completion channel's descriptor failed with {}", errno_name(error));
  return Failure(std::move(failed));
}

Device CompChannel::device() const noexcept {
  return Device(state_->device);
}

ibv_comp_channel* CompChannel::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_.reset();
  return raw_.take();
}

}  // namespace verbena
