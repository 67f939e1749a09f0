// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/worker_spawner.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace conform {
namespace {

/// The two ends of a worker's channel; both are closed at the end of the scope.
struct Channel {
  Channel() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }
  ~Channel() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2] = {-1, -1};
};

std::shared_ptr<WorkerSpawner> spawner_of(const BecomeWorker& work) {
  return WorkerSpawner::start([&](int control) { return spawn_workers(control, work); });
}

TEST(WorkerSpawner, AWorkerIsAChildOfTheOneThatAsksAndAnswersByItsChannel) {
  const auto spawner = spawner_of([](int channel) { return write(channel, "here", 4) == 4 ? 7 : 1; });
  ASSERT_NE(spawner, nullptr);
  for (int round = 0; round < 3; ++round) {
    const Channel channel;
    const pid_t pid = spawner->spawn(channel.ends[1]);
    ASSERT_GT(pid, 0);
    char text[4] = {};
    EXPECT_EQ(recv(channel.ends[0], text, sizeof text, MSG_WAITALL), 4);
    EXPECT_EQ(std::string(text, 4), "here");
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

TEST(WorkerSpawner, WhatAWorkerDiesOfIsSeen) {
  const auto spawner = spawner_of([](int) -> int { std::abort(); });
  ASSERT_NE(spawner, nullptr);
  const Channel channel;
  const pid_t pid = spawner->spawn(channel.ends[1]);
  ASSERT_GT(pid, 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST(WorkerSpawner, OneThatIsGoneMakesNone) {
  const auto spawner = WorkerSpawner::start([](int) { return 1; });
  ASSERT_NE(spawner, nullptr);
  const Channel channel;
  EXPECT_EQ(spawner->spawn(channel.ends[1]), -1);
}

}  // namespace
}  // namespace conform
