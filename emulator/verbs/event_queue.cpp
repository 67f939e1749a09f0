// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "verbs/objects.hpp"

namespace verbena::emulator {

template <class Event>
EventQueue<Event>::EventQueue() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {}

template <class Event>
EventQueue<Event>::~EventQueue() {
  if (descriptor_ >= 0) close(descriptor_);
}

template <class Event>
void EventQueue<Event>::push(const Event& event) {
  events_.push_back(event);
  const std::uint64_t one = 1;
  while (write(descriptor_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

template <class Event>
bool EventQueue<Event>::pop(Event& event) {
  if (events_.empty()) return false;
  event = events_.front();
  events_.pop_front();
  return true;
}

template class EventQueue<AsyncEvent>;
template class EventQueue<ibv_cq*>;

}  // namespace verbena::emulator
