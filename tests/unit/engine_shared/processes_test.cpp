// SPDX-License-Identifier: Apache-2.0 OR MIT
// Processes of their own: one that sleeps, one that is killed in the middle, one whose memory may not be read.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_shared/rig.hpp"

namespace engine_test {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::uint8_t kHost = 1;
constexpr std::uint8_t kOther = 2;

/// engine_shared_peer, running.
class Peer {
public:
  Peer(const std::string& name, const char* act) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::execl(VERBENA_TEST_PEER, VERBENA_TEST_PEER, name.c_str(), act, nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    if (to_ != nullptr) std::fclose(to_);
    std::fclose(from_);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }

  /// What it says of itself.
  bool read() {
    unsigned long long at = 0;
    if (std::fscanf(from_, "%u %llu %u", &number, &at, &key) != 3) return false;
    address = at;
    return true;
  }
  void tell(const End<Shared>& end) {
    std::fprintf(to_, "%u %llu %u\n", end.qp.number, static_cast<unsigned long long>(end.address(0)), end.region->key);
    std::fflush(to_);
    std::array<char, 16> line{};
    std::fscanf(from_, "%15s", line.data());
    EXPECT_STREQ(line.data(), "ready");
  }
  void kill() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  /// It is asked to end; what it returned.
  int finish() {
    std::fclose(to_);
    to_ = nullptr;
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::uint32_t number = 0;
  std::uint64_t address = 0;
  std::uint32_t key = 0;

private:
  pid_t child_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

struct SharedProcesses : ::testing::Test {
  /// Polls until a completion comes.
  std::optional<ibv_wc> wait(End<Shared>& end) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      a.fabric->progress();
      if (const auto wc = end.poll()) return wc;
    }
    return std::nullopt;
  }
  /// True where it succeeded.
  bool done(End<Shared>& end) {
    const auto wc = wait(end);
    return wc && wc->status == IBV_WC_SUCCESS;
  }
  void meet(Peer& peer, End<Shared>& end, const Path& path = {}) {
    ASSERT_TRUE(peer.read());
    aim_at(end, peer.number, wire::mapped(10, 0, 0, kOther), path, 0);
    peer.tell(end);
  }

  std::string name = fresh_name();
  Steady clock;
  Member a{[this] {
             Shared::Options wish = options(name);
             wish.mode = 0666;  // a stranger joins too
             wish.pull_refused = [this](int error) { refused = error; };
             return wish;
           }(),
           kHost, clock};
  int refused = 0;
};

TEST_F(SharedProcesses, OneThatSleepsDoesAllThatIsAskedOfIt) {
  Peer peer(name, "sleep");
  End<Shared> end(*a.nic, a.number(17), {}, kBytes);
  meet(peer, end);
  for (int round = 0; round < 3; ++round) {
    end.send(rdma(IBV_WR_RDMA_READ, 1, peer.address, peer.key), {end.sge(0, kBytes)});
    ASSERT_TRUE(done(end));
    for (std::size_t at = 0; at < kBytes; at += 97)
      ASSERT_EQ(end.memory[at], static_cast<std::byte>(at * 5 + (at >> 8))) << at;
    end.send(rdma(IBV_WR_RDMA_WRITE, 2, peer.address, peer.key), {end.sge(0, kBytes)});
    ASSERT_TRUE(done(end));
    end.send(work(IBV_WR_SEND, 3), {end.sge(0, 100)});
    ASSERT_TRUE(done(end));
    std::fill(end.memory.begin(), end.memory.end(), std::byte{0});
    ::usleep(5000);  // it falls asleep again
  }
  EXPECT_GT(a.fabric->counts().wakes, 0U);
  EXPECT_EQ(peer.finish(), 0);
}

TEST_F(SharedProcesses, OneThatPollsSendsBackWhatItGot) {
  Peer peer(name, "poll");
  End<Shared> end(*a.nic, a.number(17), {}, 2 * kBytes);
  meet(peer, end);
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto bytes = static_cast<std::uint32_t>(round % 10 == 0 ? random() % kBytes : random() % 2000);
    for (std::uint32_t at = 0; at < bytes; ++at) end.memory[at] = static_cast<std::byte>(random());
    end.receive(1, {end.sge(kBytes, kBytes)});
    end.send(work(IBV_WR_SEND, 2), {end.sge(0, bytes)});
    ASSERT_TRUE(done(end));
    ASSERT_TRUE(done(end));
    ASSERT_TRUE(std::equal(end.memory.begin(), end.memory.begin() + bytes, end.memory.begin() + kBytes)) << round;
  }
  EXPECT_EQ(a.fabric->counts().wakes, 0U) << "it was never asleep";
  EXPECT_EQ(peer.finish(), 0);
}

TEST_F(SharedProcesses, ATargetThatIsKilledInTheMiddleFailsRequestsAndNothingElse) {
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    Peer peer(name, round % 2 == 0 ? "sleep" : "poll");
    End<Shared> end(*a.nic, a.number(17 + static_cast<std::uint32_t>(round)), {}, kBytes);
    meet(peer, end, {.timeout = 10, .retry_cnt = 3});
    const auto before = static_cast<std::uint32_t>(random() % 40);
    std::optional<ibv_wc> wc;
    for (std::uint32_t count = 0;; ++count) {
      if (count == before) peer.kill();
      end.send(rdma(count % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, 1, peer.address, peer.key),
               {end.sge(0, 1 + random() % kBytes)});
      if (count < before || count % 4 != 3) continue;
      wc = wait(end);
      ASSERT_TRUE(wc) << "it is never told";
      if (wc->status != IBV_WC_SUCCESS) break;
    }
    EXPECT_EQ(wc->status, IBV_WC_RETRY_EXC_ERR) << round;
  }
  EXPECT_EQ(a.fabric->counts().cut_off, 0U);
}

TEST_F(SharedProcesses, ASenderThatIsKilledInTheMiddleLeavesARingThatTheNextOneCanUse) {
  for (int round = 0; round < 10; ++round) {
    Peer peer(name, "flood");
    End<Shared> end(*a.nic, a.number(17), {}, kBytes);
    meet(peer, end);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(3 * round);
    while (std::chrono::steady_clock::now() < until) a.fabric->progress();
    peer.kill();
    for (int count = 0; count < 1000; ++count) a.fabric->progress();
  }
  EXPECT_EQ(a.fabric->counts().cut_off, 0U);
  Peer peer(name, "poll");
  End<Shared> end(*a.nic, a.number(17), {}, kBytes);
  meet(peer, end);
  end.receive(1, {end.sge(0, 100)});
  end.send(work(IBV_WR_SEND, 2), {end.sge(0, 100)});
  EXPECT_TRUE(done(end));
  EXPECT_EQ(peer.finish(), 0);
}

TEST_F(SharedProcesses, PayloadIsCopiedWhereTheKernelLetsNobodyReadItAndThatIsSaid) {
  Peer peer(name, "stranger");
  End<Shared> end(*a.nic, a.number(17), {}, kBytes);
  if (!peer.read()) GTEST_SKIP() << "no other user here";
  aim_at(end, peer.number, wire::mapped(10, 0, 0, kOther), {}, 0);
  peer.tell(end);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t at = 0; at < kBytes; ++at) end.memory[at] = static_cast<std::byte>(at * 3 + (at >> 10));
    const std::vector<std::byte> sent = end.memory;
    end.send(rdma(IBV_WR_RDMA_WRITE, 2, peer.address, peer.key), {end.sge(0, kBytes)});
    ASSERT_TRUE(done(end));
    std::fill(end.memory.begin(), end.memory.end(), std::byte{0});
    end.send(rdma(IBV_WR_RDMA_READ, 1, peer.address, peer.key), {end.sge(0, kBytes)});
    ASSERT_TRUE(done(end));
    ASSERT_EQ(end.memory, sent);
  }
  // Root may read whatever it likes, and is read by nobody; two of one user may be kept apart both ways.
  if (::geteuid() == 0) {
    EXPECT_EQ(a.fabric->counts().lent, 0U);
    EXPECT_GT(a.fabric->counts().copied, 0U);
  } else {
    EXPECT_NE(refused, 0);
  }
  EXPECT_EQ(peer.finish(), 0);
}

TEST(SharedProcess, TheNameIsGoneWhenTheLastOneThatWasNotKilledIs) {
  const std::string name = fresh_name();
  {
    Steady clock;
    Member a(options(name), kHost, clock);
    Peer peer(name, "sleep");
    ASSERT_TRUE(peer.read());
    peer.kill();
  }
  EXPECT_FALSE(exists(file_of(name)));
}

}  // namespace
}  // namespace engine_test
