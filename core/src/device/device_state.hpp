// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "device/counters_state.hpp"
#include "device/ledger_state.hpp"
#include "device/library_state.hpp"
#include "device/probe.hpp"
#include "verbena/device.hpp"

namespace verbena {

/// An open device as its objects see it. Every object holds a share of it, so the context outlives them all.
struct Device::State {
  State(std::shared_ptr<Library::State> library_, ibv_context* context_, bool owned_, const Backend& backend_,
        std::shared_ptr<const Probed> probed_);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  const std::shared_ptr<Library::State> library;
  ibv_context* const context;
  const bool owned;  ///< closed by Verbena
  const Backend& backend;
  const std::shared_ptr<const Probed> probed;
  CountersState counters;
  LedgerState ledger;
  /// The generation of the next queue pair. Its step is odd, so all 65536 come before one comes again, and wide, so
  /// that a queue pair that is reset a few times does not run into the next one's.
  std::uint16_t next_generation() noexcept { return generations_.fetch_add(0x9e37, std::memory_order_relaxed); }

  Verbs& verbs() const noexcept { return *library->verbs; }
  const std::string& name() const noexcept { return probed->id.name; }
  /// The contract that creation fits to: from the cache while the rules in force are the same. Null for a port that the
  /// device has not.
  std::shared_ptr<const Contract> contract(std::uint8_t port = 1);
  /// The same, with the counts that shrink with use asked anew where the device has such.
  std::shared_ptr<const Contract> contract_now(std::uint8_t port);

  bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
  /// A fatal event, or an errno that only a removed device gives. True once the device is known to be gone.
  void mark_gone() noexcept;
  /// Looks at an errno of a call: EIO and ENODEV may mean that the hardware is gone, and a query tells. Returns gone().
  bool look_at(int errno_value);
  Error gone_error() const;

  /// The end of a destroy call: EIO of a device that is gone counts as done; any other failure goes to the log sink and
  /// the counter, since a destructor can tell nobody else.
  void destroyed(const char* verb, int error) noexcept;
  /// What could not be destroyed is counted and logged. False: there was no memory for the text, and the counter alone
  /// tells.
  bool left_behind(const char* verb, int error) noexcept;

  void log(LogLevel level, std::string text) const;

private:
  struct CachedContract {
    std::uint8_t port = 0;
    std::shared_ptr<const QuirkSet> rules;
    std::shared_ptr<const Contract> contract;
  };
  std::shared_ptr<const Contract> make_contract(std::uint8_t port, const std::shared_ptr<const QuirkSet>& rules,
                                                const Caps& caps);

  std::atomic<bool> gone_{false};
  std::atomic<std::uint16_t> generations_{0};
  std::mutex mutex_;
  std::vector<CachedContract> contracts_;
};

}  // namespace verbena
