// SPDX-License-Identifier: Apache-2.0 OR MIT
// In a child of fork() nothing of a fabric does anything, and the parent's goes on.
#include <gtest/gtest.h>

#include <csignal>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_shared/rig.hpp"

namespace engine_test {
namespace {

/// How a process comes to have a child.
struct Way {
  const char* name;
  pid_t (*fork)();
  bool serves;
};

// The second runs no handlers of pthread_atfork().
const Way kWays[] = {
    {"Fork", ::fork, false},
    {"ForkBesideTheThread", ::fork, true},
    {"Clone", [] { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }, false},
};

class SharedFork : public ::testing::TestWithParam<Way> {};

TEST_P(SharedFork, LeavesTheChildNothingAndTheParentAll) {
  const std::string name = fresh_name();
  Steady clock;
  auto a = std::make_unique<Member>(options(name, true, GetParam().serves), std::uint8_t{1}, clock);
  Member b(options(name), 2, clock);
  {
    const std::lock_guard held(a->mutex);  // so that its thread holds nothing that the child gets
    End<Shared> from(*a->nic, a->number(17));
    End<Shared> to(*b.nic, b.number(18));
    connect(from, to);
    to.receive(1, {to.sge(0, 100)});
    from.send(work(IBV_WR_SEND, 1), {from.sge(0, 10)});
    settle(b);
    EXPECT_TRUE(to.poll());

    const pid_t child = GetParam().fork();
    if (child == 0) {
      int wrong = 0;
      if (a->fabric->here() || b.fabric->here()) wrong |= 1;
      if (a->fabric->progress() != 0 || b.fabric->progress() != 0) wrong |= 2;
      from.send(work(IBV_WR_SEND, 2), {from.sge(0, 10)});
      from.send(rdma(IBV_WR_RDMA_WRITE, 3, to.address(0), to.region->key), {from.sge(0, 10)});
      a->fabric->settle();
      a->fabric->doze();
      a->nic->port.withdraw(memory::Piece{from.memory.data(), 10});
      from.nic.adapter.enter(from.qp, IBV_QPS_RESET);
      a->nic.reset();
      a->fabric.reset();
      if (!exists(file_of(name))) wrong |= 4;
      ::_exit(wrong);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  const std::lock_guard locked(a->mutex);
  End<Shared> from(*a->nic, a->number(19));
  End<Shared> to(*b.nic, b.number(20));
  connect(from, to);
  to.receive(1, {to.sge(0, 100)});
  from.send(work(IBV_WR_SEND, 1), {from.sge(0, 10)});
  settle(*a, b);
  EXPECT_TRUE(from.poll());
  EXPECT_TRUE(to.poll());
}

INSTANTIATE_TEST_SUITE_P(By, SharedFork, ::testing::ValuesIn(kWays), [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace engine_test
