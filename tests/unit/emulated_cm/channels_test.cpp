// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads that sleep in an event channel.
#include <gtest/gtest.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cm/addresses.hpp"
#include "unit/shipped_nics.hpp"
#include "verbena/verbs.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {
namespace {

/// The system call that a thread sleeps in (proc(5), the first field of syscall); negative: none.
long sleeps_in(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  long number = -1;
  return file >> number ? number : -1;
}

bool polls(pid_t thread) {
  const long number = sleeps_in(thread);
#ifdef SYS_poll
  if (number == SYS_poll) return true;
#endif
  return number == SYS_ppoll;
}

/// Whether its event or its end comes first is not known: what may never come is an error.
TEST(Channels, OneThatEndsBeneathASleeperSaysNothing) {
#ifdef VERBENA_TEST_EMULATED
  GTEST_SKIP() << "the numbers of system calls are those of the machine beneath";
#endif
  if (sleeps_in(gettid()) < 0) GTEST_SKIP() << "/proc/self/task/TID/syscall can't be read";
  struct sigaction wakes{};
  wakes.sa_handler = [](int) {};
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGUSR1, &wakes, &before), 0);
  EmulatedOptions options;
  options.models.push_back(shipped::model("strict"));
  const auto verbs = emulated_verbs(std::move(options));
  for (int round = 0; round < 100; ++round) {
    rdma_event_channel* const channel = verbs->cm_create_event_channel().handle;
    ASSERT_NE(channel, nullptr);
    rdma_cm_id* const id = verbs->cm_create_id(channel, nullptr, RDMA_PS_TCP).handle;
    std::atomic<int> said = -1;
    std::atomic<pid_t> asks = 0;
    std::thread sleeper([&] {
      asks = gettid();
      rdma_cm_event* event = nullptr;
      const int error = verbs->cm_get_event(channel, &event);
      if (event != nullptr) verbs->cm_ack_event(event);
      said = error;
    });
    while (asks == 0 || !polls(asks)) std::this_thread::yield();
    sockaddr_storage to = cm::socket_address(engine::wire::mapped(10, 11, 1, 1), 7);
    EXPECT_EQ(verbs->cm_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 20), 0);
    EXPECT_EQ(verbs->cm_destroy_id(id), 0);
    verbs->cm_destroy_event_channel(channel);
    while (said < 0) {
      pthread_kill(sleeper.native_handle(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sleeper.join();
    ASSERT_TRUE(said == 0 || said == EINTR) << "round " << round << " ended with errno " << said;
  }
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace verbena::emulator
