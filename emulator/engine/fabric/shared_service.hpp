// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "engine/fabric/lock.hpp"
#include "engine/fabric/shared_board.hpp"
#include "engine/transport/time.hpp"

namespace verbena::engine::fabric {

/// The thread of a shared fabric: it does what is to be done while the program does not poll. While the program polls,
/// it looks once in a few milliseconds whether that is still so, and nobody wakes it. Otherwise it sleeps, and is woken
/// by whoever sends something, or by a deadline.
class SharedService {
public:
  /// What it does, while it holds the NIC's lock.
  class Work {
  public:
    struct Round {
      int done = 0;  ///< trains that came
      bool stuck = false;  ///< something waits for room in a ring
      std::optional<transport::Time> until;  ///< from now to the next deadline
    };
    virtual ~Work() = default;
    virtual Round serve() noexcept = 0;
  };

  SharedService(const SharedBoard& board, Lock& lock, Work& work) noexcept : board_(board), lock_(lock), work_(work) {}
  SharedService(const SharedService&) = delete;
  SharedService& operator=(const SharedService&) = delete;
  ~SharedService() { stop(); }

  void start();
  /// Not under the NIC's lock.
  void stop() noexcept;
  /// In a child, which has no such thread.
  void forget() noexcept;
  bool runs() const noexcept { return thread_.joinable(); }

  // Under the NIC's lock:
  /// The program polled. It may do so a few times and sleep again: only who goes on is taken for awake.
  void polled() noexcept {
    if (!dozes_) {
      polled_ = true;
    } else if (++polls_ > kPollsAwake) {
      awake();
    }
  }
  /// The program is about to sleep: from now on it is woken. What came before has to be looked for once more.
  void doze() noexcept;
  /// Something is due that long from now.
  void due(transport::Time from_now) noexcept;

private:
  static constexpr std::uint32_t kPollsAwake = 64;

  void run() noexcept;
  void awake() noexcept;
  void ring_own() noexcept;

  const SharedBoard& board_;
  Lock& lock_;
  Work& work_;
  std::thread thread_;
  std::atomic<bool> stops_{false};
  // Under the NIC's lock:
  bool polled_ = false;
  bool dozes_ = false;
  std::uint32_t polls_ = 0;  ///< since it dozes
  std::int64_t wakes_at_ = 0;  ///< of the steady clock
};

}  // namespace verbena::engine::fabric
