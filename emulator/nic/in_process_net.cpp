// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/in_process_net.hpp"

#include <algorithm>
#include <chrono>

#include "nic/quiet_thread.hpp"

namespace verbena::emulator {

using engine::transport::Time;

InProcessNet::InProcessNet(const engine::fabric::Impairments& impairments, std::uint64_t seed, HostMutex& mutex,
                           engine::transport::Clock& clock)
    : mutex_(mutex), clock_(clock), fabric_(clock, seed) {
  fabric_.impair(impairments);
}

InProcessNet::~InProcessNet() {
  thread_.request_stop();
  {
    const std::scoped_lock lock(mutex_);
    earlier_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::optional<Time> InProcessNet::do_what_is_due() {
  std::optional<Time> next;
  const auto at = [&next](std::optional<Time> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  for (bool served = true; served;) {
    while (fabric_.deliver()) {
    }
    next.reset();
    for (engine::transport::Adapter* const adapter : adapters_) {
      if (adapter->next()) at(adapter->expire(clock_.now()));
    }
    while (fabric_.deliver()) {
    }
    served = false;
    for (engine::transport::Served* const each : served_) served = each->serve() || served;
  }
  for (const engine::transport::Served* const each : served_) at(each->next());
  at(fabric_.next());
  return next;
}

void InProcessNet::progress() {
  if (served_.empty() && !fabric_.next() &&
      std::none_of(adapters_.begin(), adapters_.end(),
                   [](const engine::transport::Adapter* adapter) { return adapter->next().has_value(); })) {
    return;
  }
  const auto next = do_what_is_due();
  if (!next || (serving_at_ && *serving_at_ <= *next)) return;
  serving_at_ = next;
  if (thread_.joinable()) {
    earlier_.notify_all();
  } else {
    thread_ = quiet_thread([this](const std::stop_token& stop) { serve(stop); });
  }
}

void InProcessNet::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!serving_at_) {
      earlier_.wait(lock);
      continue;
    }
    const std::chrono::steady_clock::time_point until(*serving_at_);
    if (std::chrono::steady_clock::now() < until) {
      earlier_.wait_until(lock, until);
      continue;
    }
    serving_at_ = do_what_is_due();
  }
}

}  // namespace verbena::emulator
