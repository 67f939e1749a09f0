// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// What each level is for. The library never prints: records go to the caller's sink, or nowhere.
enum class LogLevel : std::uint8_t {
  error,  ///< something the caller asked for did not happen, or an object could not be destroyed
  warn,   ///< it happened otherwise than asked (an adjustment under `prefer`), or a layer was dropped
  info,   ///< once per device or reload: identity, rule hash, port state
  debug,  ///< each probe, rule and ladder step
};
std::string_view name(LogLevel level) noexcept;

struct LogRecord {
  LogLevel level = LogLevel::info;
  std::string device;         ///< name of the device, empty when none is concerned
  std::string text;           ///< the exact cause, not an assumed reason
  std::uint64_t quirks_hash = 0;
};

/// Called on the thread that caused the record; must not call back into the object that logs, nor throw.
using LogSink = std::function<void(const LogRecord&)>;

}  // namespace verbena
#pragma GCC visibility pop
