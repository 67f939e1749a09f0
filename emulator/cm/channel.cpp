// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cm/identifier.hpp"

namespace verbena::emulator::cm {

Channel::Channel() {
  base.fd = eventfd(0, EFD_CLOEXEC);
}

Channel::~Channel() {
  if (base.fd >= 0) close(base.fd);
}

void Channel::end() noexcept {
  close(std::exchange(base.fd, -1));
  events_.clear();
}

void Channel::push(std::unique_ptr<Event> event) {
  const bool first = events_.empty();
  events_.push_back(std::move(event));
  if (first) ring();
}

std::unique_ptr<Event> Channel::pop() {
  if (events_.empty()) return nullptr;
  std::unique_ptr<Event> event = std::move(events_.front());
  events_.pop_front();
  if (events_.empty()) silence();
  return event;
}

void Channel::ring() const noexcept {
  const std::uint64_t one = 1;
  while (write(base.fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

/// It is never read but here, so it can be.
void Channel::silence() const noexcept {
  std::uint64_t count = 0;
  while (read(base.fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace verbena::emulator::cm
