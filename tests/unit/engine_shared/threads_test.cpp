// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads that stand for processes, each with its own member; and the fabric's own thread beside the program's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "engine_shared/rig.hpp"

namespace engine_test {
namespace {

constexpr std::uint32_t kQps = 16;
constexpr std::uint32_t kSlot = 1 << 16;
constexpr std::uint32_t kSlots = 4;  // of each queue pair
constexpr std::uint32_t kMessages = 60;

std::byte pattern(std::uint32_t number, std::size_t at) {
  return static_cast<std::byte>(std::size_t{number} * 131 + at * 7 + (at >> 8));
}

/// One member's queue pairs. Each sends so many messages, and takes as many.
struct Side {
  Side(Member& on, std::uint32_t seed) : member(on), random(seed) {
    for (std::uint32_t index = 0; index < kQps; ++index)
      ends.push_back(std::make_unique<End<Shared>>(*on.nic, on.number(32 + index), Shape{}, 2 * kSlots * kSlot));
  }

  void begin() {
    const std::lock_guard locked(member.mutex);
    for (auto& end : ends) {
      for (std::uint32_t slot = 0; slot < kSlots; ++slot) offer(*end, slot);
    }
  }
  static void offer(End<Shared>& end, std::uint32_t slot) {
    end.receive(slot, {end.sge(std::size_t{kSlots + slot} * kSlot, kSlot)});
  }

  void post(std::uint32_t index) {
    End<Shared>& end = *ends[index];
    const std::uint32_t number = sent[index]++;
    const auto bytes = static_cast<std::uint32_t>(random() % 4 == 0 ? random() % kSlot : random() % 300);
    const std::size_t mine = std::size_t{number % kSlots} * kSlot;
    for (std::uint32_t at = 0; at < bytes; ++at) end.memory[mine + at] = pattern(number, at);
    ibv_send_wr wr = work(IBV_WR_SEND_WITH_IMM, number);
    wr.imm_data = number;
    ASSERT_EQ(end.send(wr, {end.sge(mine, bytes)}), transport::PostFault::none);
  }

  /// False once all are sent and all have come.
  bool step() {
    const std::lock_guard locked(member.mutex);
    member.fabric->progress();
    bool all = true;
    for (std::uint32_t index = 0; index < kQps; ++index) {
      End<Shared>& end = *ends[index];
      while (sent[index] < kMessages && sent[index] - completed[index] < kSlots) post(index);
      while (const auto wc = end.poll()) {
        EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
        if (wc->opcode == IBV_WC_SEND) {
          EXPECT_EQ(wc->wr_id, completed[index]++);
          continue;
        }
        EXPECT_EQ(wc->imm_data, received[index]);
        const auto slot = static_cast<std::uint32_t>(wc->wr_id);
        const std::byte* const at = end.memory.data() + std::size_t{kSlots + slot} * kSlot;
        for (std::uint32_t byte = 0; byte < wc->byte_len; ++byte) {
          if (at[byte] != pattern(received[index], byte)) {
            ADD_FAILURE() << "message " << received[index] << " byte " << byte;
            break;
          }
        }
        ++received[index];
        offer(end, slot);
      }
      all = all && completed[index] == kMessages && received[index] == kMessages;
    }
    return !all;
  }

  Member& member;
  std::mt19937 random;
  std::vector<std::unique_ptr<End<Shared>>> ends;
  std::vector<std::uint32_t> sent = std::vector<std::uint32_t>(kQps);
  std::vector<std::uint32_t> completed = std::vector<std::uint32_t>(kQps);
  std::vector<std::uint32_t> received = std::vector<std::uint32_t>(kQps);
};

class SharedThreads : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(SharedThreads, BringEveryMessageOfManyQueuePairsBothWays) {
  const std::string name = fresh_name();
  const auto [pulls, serves] = GetParam();
  Steady clock;
  Member a(options(name, pulls, serves), 1, clock);
  Member b(options(name, pulls, serves), 2, clock);
  Side one(a, 1);
  Side other(b, 2);
  {
    const std::scoped_lock locked(a.mutex, b.mutex);
    for (std::uint32_t index = 0; index < kQps; ++index) connect(*one.ends[index], *other.ends[index], {.timeout = 18});
  }
  one.begin();
  other.begin();
  std::atomic<int> left{2};
  const auto run = [&left](Side& side) {
    while (side.step()) std::this_thread::yield();
    --left;
    while (left > 0) {  // the other one's last acknowledgements
      side.step();
      std::this_thread::yield();
    }
  };
  std::thread beside(run, std::ref(other));
  run(one);
  beside.join();
  for (Side* const side : {&one, &other}) {
    const std::lock_guard locked(side->member.mutex);
    side->ends.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(With, SharedThreads,
                         ::testing::Values(std::pair(true, false), std::pair(false, false), std::pair(true, true)),
                         [](const auto& one) {
                           return std::string(one.param.first ? "PayloadFetched" : "PayloadCopied") +
                                  (one.param.second ? "AndServed" : "");
                         });

struct SharedService : ::testing::Test {
  std::string name = fresh_name();
  Steady clock;
  Member a{options(name), 1, clock};
  Member b{options(name, true, true), 2, clock};
  std::unique_ptr<End<Shared>> from;
  std::unique_ptr<End<Shared>> to;

  void SetUp() override {
    const std::scoped_lock locked(a.mutex, b.mutex);
    from = std::make_unique<End<Shared>>(*a.nic, a.number(17));
    to = std::make_unique<End<Shared>>(*b.nic, b.number(18));
    connect(*from, *to, {.timeout = 18});
  }
  void TearDown() override {
    const std::scoped_lock locked(a.mutex, b.mutex);
    from.reset();
    to.reset();
  }
  bool write() {
    {
      const std::lock_guard locked(a.mutex);
      from->send(rdma(IBV_WR_RDMA_WRITE, 1, to->address(0), to->region->key), {from->sge(0, 64)});
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
      const std::lock_guard locked(a.mutex);
      a.fabric->progress();
      if (const auto wc = from->poll()) return wc->status == IBV_WC_SUCCESS;
    }
    return false;
  }
};

TEST_F(SharedService, WorksWhileTheProgramSleeps) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(write());
    if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(a.fabric->counts().wakes, 0U);
}

TEST_F(SharedService, IsWokenByNobodyWhileTheProgramPolls) {
  std::atomic<bool> ends{false};
  std::thread program([&] {
    while (!ends) {
      const std::lock_guard locked(b.mutex);
      b.fabric->progress();
    }
  });
  for (int tries = 0; tries < 100; ++tries) EXPECT_TRUE(write());  // it takes a while until it is known to poll
  std::uint64_t fewest = ~std::uint64_t{0};
  for (int tries = 0; tries < 20 && fewest > 0; ++tries) {
    const std::uint64_t before = a.fabric->counts().wakes;
    for (int round = 0; round < 50; ++round) EXPECT_TRUE(write());
    fewest = std::min(fewest, a.fabric->counts().wakes - before);
  }
  ends = true;
  program.join();
  // On a busy machine the program is now and then not let run for so long that it counts as asleep.
  EXPECT_LT(fewest, 25U) << "of 50 writes";
}

TEST_F(SharedService, TakesOverAtOnceWhereTheProgramSaysThatItWillSleep) {
  EXPECT_TRUE(write());  // the rings are there
  for (int round = 0; round < 200; ++round) {
    const std::lock_guard locked(b.mutex);
    b.fabric->progress();
  }
  {
    const std::lock_guard locked(b.mutex);
    b.fabric->doze();
    b.fabric->progress();
  }
  const std::uint64_t before = a.fabric->counts().wakes;
  EXPECT_TRUE(write());
  EXPECT_GT(a.fabric->counts().wakes, before) << "nobody would have woken it";
}

TEST_F(SharedService, KeepsTimeForAProgramThatPostsAndSleeps) {
  // Nobody is there who would answer: b posts, and its own thread has to notice.
  End<Shared> lonely(*b.nic, b.number(30));
  {
    const std::lock_guard locked(b.mutex);
    aim_at(lonely, a.number(99), a.nic->gid, {.timeout = 8, .retry_cnt = 2}, 0);
    lonely.send(work(IBV_WR_SEND, 1), {lonely.sge(0, 10)});
    b.fabric->settle();
  }
  std::optional<ibv_wc> wc;
  for (int tries = 0; tries < 2000 && !wc; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard locked(b.mutex);
    wc = lonely.poll();
  }
  ASSERT_TRUE(wc);
  EXPECT_EQ(wc->status, IBV_WC_RETRY_EXC_ERR);
  const std::lock_guard locked(b.mutex);
  b.nic->adapter.enter(lonely.qp, IBV_QPS_RESET);
}

}  // namespace
}  // namespace engine_test
