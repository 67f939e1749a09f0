// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_service.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include <pthread.h>

#include "engine/fabric/futex.hpp"

namespace verbena::engine::fabric {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using transport::Time;

/// Between two looks at whether the program still polls.
constexpr Time kFirstLook = milliseconds(1);
constexpr Time kLastLook = milliseconds(4);
/// However little there is to do: a process that ended is noticed.
constexpr Time kLongestSleep = milliseconds(100);
/// Something waits for room, and the reader may have missed that.
constexpr Time kStuckSleep = milliseconds(1);
/// It stays awake behind the last train: waking costs more.
constexpr Time kLinger = microseconds(20);

std::int64_t now() noexcept {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void SharedService::start() {
  if (runs()) return;
  // The program's signals are the program's.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void SharedService::stop() noexcept {
  if (!runs()) return;
  stops_.store(true, std::memory_order_relaxed);
  ring_own();
  thread_.join();
}

void SharedService::forget() noexcept {
  if (!runs()) return;
  // It is no thread of this process, and can be neither joined nor detached: its handle is put where nobody ends it.
  alignas(std::thread) static std::array<std::byte, sizeof(std::thread)> left;
  new (left.data()) std::thread(std::move(thread_));
}

void SharedService::ring_own() noexcept {
  std::atomic<std::uint32_t>& bell = board_.own().bell;
  bell.fetch_add(1, std::memory_order_release);
  futex_wake(bell);
}

void SharedService::awake() noexcept {
  polls_ = 0;
  dozes_ = false;
  polled_ = true;
  board_.own().asleep.store(0, std::memory_order_relaxed);
  ring_own();
}

void SharedService::doze() noexcept {
  polls_ = 0;
  if (!runs()) return;
  polled_ = false;
  dozes_ = true;
  board_.own().asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void SharedService::due(Time from_now) noexcept {
  if (!runs()) return;
  const std::int64_t at = now() + from_now.count();
  if (at >= wakes_at_) return;
  wakes_at_ = at;
  ring_own();
}

void SharedService::run() noexcept {
  SharedSlot& own = board_.own();
  Time look = kFirstLook;
  std::int64_t lingers_until = 0;
  while (!stops_.load(std::memory_order_relaxed)) {
    const std::uint32_t heard = own.bell.load(std::memory_order_acquire);
    Time sleep{};
    {
      const std::lock_guard locked(lock_);
      const bool polls = std::exchange(polled_, false);
      const bool lingers = !polls && now() < lingers_until;
      if (dozes_ == polls) polls_ = 0;
      dozes_ = !polls;
      own.asleep.store(polls || lingers ? 0 : 1, std::memory_order_relaxed);
      // Pairs with the fence of senders: what they wrote before they looked is seen by what follows.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      const Work::Round round = work_.serve();
      look = polls ? std::min(look * 2, kLastLook) : kFirstLook;
      if (!polls && round.done > 0) lingers_until = now() + kLinger.count();
      if (!polls && (round.done > 0 || lingers)) continue;
      sleep = polls ? look : kLongestSleep;
      if (round.stuck) sleep = std::min(sleep, kStuckSleep);
      if (round.until) sleep = std::clamp(*round.until, Time{}, sleep);
      wakes_at_ = now() + sleep.count();
    }
    futex_wait(own.bell, heard, sleep);
  }
}

}  // namespace verbena::engine::fabric
