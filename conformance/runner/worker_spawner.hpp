// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "runner/worker_process.hpp"

namespace conform {

/// A process that makes workers by fork. What all of them need is loaded once, in it, and a worker that is replaced
/// after each case costs little; no device is opened in it, so each worker opens its own.
class WorkerSpawner {
public:
  /// `become` runs in the new process, which speaks over `control`; it ends in spawn_workers(). Null when no process
  /// can be made.
  static std::shared_ptr<WorkerSpawner> start(const std::function<int(int control)>& become);
  WorkerSpawner(pid_t pid, int control) : pid_(pid), control_(control) {}
  WorkerSpawner(const WorkerSpawner&) = delete;
  WorkerSpawner& operator=(const WorkerSpawner&) = delete;
  ~WorkerSpawner();

  /// A worker that speaks over `channel`, a child of this process; -1 when the spawner is gone or can make none.
  pid_t spawn(int channel);

private:
  pid_t pid_;
  int control_;
};

/// What a spawner does until the other end of `control` is closed: for each channel that comes, `work` in a process
/// that belongs to the one at the other end. Returns an exit code.
int spawn_workers(int control, const BecomeWorker& work);

}  // namespace conform
