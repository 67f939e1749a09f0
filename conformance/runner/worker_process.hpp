// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runner/lines.hpp"
#include "runner/messages.hpp"

namespace conform {

/// What a worker's process does; its result is the exit code.
using BecomeWorker = std::function<int(int channel)>;
/// How workers are made.
struct StartWorker {
  /// One that speaks over `channel`: the pid of a child of this process, or -1.
  std::function<pid_t(int channel)> make;
};

/// A fork of this process as it stands.
StartWorker forked(BecomeWorker become);

/// A worker as its parent sees it. The destructor ends it.
class WorkerProcess {
public:
  /// Null when no process can be made.
  static std::unique_ptr<WorkerProcess> start(const StartWorker& start_worker);
  WorkerProcess(pid_t pid, int channel) : pid_(pid), channel_(channel), lines_(channel) {}
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  int channel() const noexcept { return channel_; }
  bool give(const Task& task) { return write_line(channel_, to_line(task)); }
  LineReader& lines() noexcept { return lines_; }
  /// Waits for its first line. Empty: it can work; else why not.
  std::string wait_ready(std::chrono::milliseconds within);

  /// It has ended by itself; its channel may still be held by a child of its own.
  bool dead() const;
  /// Kills it and its own children. `signal 11 (Segmentation fault)`, `exit 3`; empty when it does not end (a call that
  /// never leaves the kernel).
  std::string end();
  /// As end(), of one that closed its channel: what it died of by itself.
  std::string ended_with();

private:
  std::string reap(std::chrono::milliseconds within);

  pid_t pid_;
  int channel_;
  LineReader lines_;
};

}  // namespace conform
