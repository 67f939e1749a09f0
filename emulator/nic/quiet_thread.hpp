// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <pthread.h>
#include <csignal>
#include <thread>
#include <utility>

namespace verbena::emulator {

/// A thread that takes none of the program's signals.
template <class Work>
std::jthread quiet_thread(Work work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::jthread thread(std::move(work));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace verbena::emulator
