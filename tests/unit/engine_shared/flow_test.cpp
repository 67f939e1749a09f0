// SPDX-License-Identifier: Apache-2.0 OR MIT
// Full rings, memory that is taken back, and members that write rubbish or come again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/fabric/shared_message.hpp"
#include "engine_shared/rig.hpp"

namespace engine_test {
namespace {

constexpr std::uint32_t kLarge = 1 << 20;

struct SharedFlow : ::testing::TestWithParam<bool> {
  std::string name = fresh_name();
  Turned clock;
  Member a{options(name, GetParam()), 1, clock};
  Member b{options(name, GetParam()), 2, clock};
};

INSTANTIATE_TEST_SUITE_P(With, SharedFlow, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "PayloadFetched" : "PayloadCopied"; });

TEST_P(SharedFlow, RequestsWaitWhereTheRingIsFullAndNoneIsLost) {
  constexpr std::uint32_t kCount = 20'000;  // of 128 bytes and more: far more than a ring holds
  End<Shared> from(*a.nic, a.number(17), {.depth = kCount, .cqe = kCount});
  End<Shared> to(*b.nic, b.number(18), {.depth = kCount, .cqe = kCount});
  connect(from, to);
  for (std::uint32_t number = 0; number < kCount; ++number) {
    to.receive(number, {to.sge(0, 100)});
    ASSERT_EQ(from.send(work(IBV_WR_SEND, number), {from.sge(0, 64)}), transport::PostFault::none);
  }
  EXPECT_GT(a.fabric->counts().refused, 0U);
  settle(a, b);
  for (std::uint32_t number = 0; number < kCount; ++number) {
    const auto sent = from.poll();
    const auto received = to.poll();
    ASSERT_TRUE(sent && received) << number;
    ASSERT_EQ(sent->wr_id, number);
    ASSERT_EQ(received->wr_id, number);
  }
}

TEST_P(SharedFlow, AnswersAreKeptWhereTheRingIsFull) {
  constexpr std::uint32_t kQps = 8;
  constexpr std::uint32_t kReads = 16;
  std::vector<std::unique_ptr<End<Shared>>> ours;
  std::vector<std::unique_ptr<End<Shared>>> theirs;
  for (std::uint32_t index = 0; index < kQps; ++index) {
    ours.push_back(std::make_unique<End<Shared>>(*a.nic, a.number(100 + index), Shape{}, kLarge));
    theirs.push_back(std::make_unique<End<Shared>>(*b.nic, b.number(100 + index), Shape{}, kLarge));
    connect(*ours[index], *theirs[index], {.rd_atomic = kReads});
    for (std::uint32_t at = 0; at < kLarge; ++at) theirs[index]->memory[at] = static_cast<std::byte>(at * 3 + index);
  }
  for (std::uint32_t index = 0; index < kQps; ++index) {
    End<Shared>& from = *ours[index];
    for (std::uint32_t number = 0; number < kReads; ++number) {
      const std::size_t at = std::size_t{number} * (kLarge / kReads);
      from.send(rdma(IBV_WR_RDMA_READ, number, theirs[index]->address(at), theirs[index]->region->key),
                {from.sge(at, kLarge / kReads)});
    }
  }
  while (b.fabric->progress() > 0) {  // it answers, and nobody reads that yet
  }
  if (!GetParam()) {
    EXPECT_GT(b.fabric->counts().kept, 0U);
  }
  settle(a, b);
  for (std::uint32_t index = 0; index < kQps; ++index) {
    for (std::uint32_t number = 0; number < kReads; ++number) {
      const auto read = ours[index]->poll();
      ASSERT_TRUE(read) << index << " " << number;
      ASSERT_EQ(read->status, IBV_WC_SUCCESS);
    }
    EXPECT_EQ(ours[index]->memory, theirs[index]->memory);
  }
}

struct SharedLending : ::testing::Test {
  std::string name = fresh_name();
  Turned clock;
  Member a{options(name), 1, clock};
  Member b{options(name), 2, clock};
  End<Shared> from{*a.nic, a.number(17), {}, kLarge};
  End<Shared> to{*b.nic, b.number(18), {}, kLarge};

  void SetUp() override {
    connect(from, to, {.timeout = 14, .retry_cnt = 2});
    // Makes both rings, and each knows that it may read the other's memory.
    from.send(rdma(IBV_WR_RDMA_WRITE, 0, to.address(0), to.region->key), {from.sge(0, 8)});
    settle(a, b);
    ASSERT_TRUE(from.poll());
    from.send(rdma(IBV_WR_RDMA_WRITE, 0, to.address(0), to.region->key), {from.sge(0, kLarge)});
    settle(a, b);
    ASSERT_TRUE(from.poll());
    if (a.fabric->counts().lent == 0) GTEST_SKIP() << "this kernel lets no process read another's memory";
  }
  void later() {
    clock.time += std::chrono::seconds(1);
    a.nic->adapter.expire(clock.time);
    b.nic->adapter.expire(clock.time);
  }
};

TEST_F(SharedLending, WhatAFailedQueuePairLentIsNotTaken) {
  to.receive(1, {to.sge(0, kLarge)});
  std::fill(to.memory.begin(), to.memory.end(), std::byte{0});
  from.send(work(IBV_WR_SEND, 1), {from.sge(0, kLarge)});
  for (int round = 0; round < 4; ++round) later();  // nobody answers
  const auto sent = from.poll();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->status, IBV_WC_RETRY_EXC_ERR);
  // It has completed, so the memory is the program's again.
  std::fill(from.memory.begin(), from.memory.end(), std::byte{0x66});
  settle(a, b);
  EXPECT_FALSE(to.poll()) << "a message that was given up arrived, and was none that was ever sent";
  EXPECT_GT(b.fabric->counts().withdrawn, 0U);
  EXPECT_EQ(b.nic->adapter.dropped().out_of_reach, b.fabric->counts().withdrawn);
}

TEST_F(SharedLending, AnAnswerFromARegionThatIsGoneIsNotTaken) {
  std::fill(to.memory.begin(), to.memory.end(), std::byte{0x11});
  from.send(rdma(IBV_WR_RDMA_READ, 1, to.address(0), to.region->key), {from.sge(0, kLarge)});
  while (b.fabric->progress() > 0) {  // it answers
  }
  // As the front does it: taken back, gone, and the memory something else's.
  b.nic->port.withdraw(memory::Piece{to.memory.data(), to.memory.size()});
  b.nic->keys.remove(*to.region);
  std::fill(to.memory.begin(), to.memory.end(), std::byte{0x66});
  settle(a, b);
  EXPECT_FALSE(from.poll());
  later();  // it asks again, and there is no such region
  settle(a, b);
  const auto read = from.poll();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(SharedLending, OtherMemoryIsNotTakenBackWithIt) {
  from.send(rdma(IBV_WR_RDMA_WRITE, 1, to.address(0), to.region->key), {from.sge(0, kLarge)});
  std::vector<std::byte> other(100);
  a.nic->port.withdraw(memory::Piece{other.data(), other.size()});
  settle(a, b);
  ASSERT_TRUE(from.poll());
  EXPECT_EQ(b.fabric->counts().withdrawn, 0U);
}

TEST_F(SharedLending, WhatALeavingMemberLentIsNotTaken) {
  to.receive(1, {to.sge(0, kLarge)});
  from.send(work(IBV_WR_SEND, 1), {from.sge(0, kLarge)});
  from.nic.adapter.enter(from.qp, IBV_QPS_RESET);
  std::fill(from.memory.begin(), from.memory.end(), std::byte{0x66});
  settle(b);
  EXPECT_FALSE(to.poll());
}

/// The file of a fabric, as a member that is up to no good has it.
class Vandal {
public:
  explicit Vandal(const std::string& name) : file_(::open(file_of(name).c_str(), O_RDWR | O_CLOEXEC)) {
    struct stat found{};
    ::fstat(file_, &found);
    bytes_ = static_cast<std::size_t>(found.st_size);
    memory_ = static_cast<std::byte*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~Vandal() {
    ::munmap(memory_, bytes_);
    ::close(file_);
  }
  Vandal(const Vandal&) = delete;
  Vandal& operator=(const Vandal&) = delete;

  /// Everything that the file has memory for and `from` on: words of noise, some of them small.
  void spoil(std::mt19937& random, std::size_t from, std::size_t every) {
    off_t at = static_cast<off_t>(from);
    for (;;) {
      at = ::lseek(file_, at, SEEK_DATA);
      if (at < 0) return;
      const off_t end = ::lseek(file_, at, SEEK_HOLE);
      for (off_t word = at / 8; word < end / 8; word += static_cast<off_t>(1 + random() % every)) {
        const std::uint64_t noise =
            random() % 2 == 0 ? random() % 512 * 64 : (std::uint64_t{random()} << 32) | random();
        std::memcpy(memory_ + word * 8, &noise, sizeof noise);
      }
      at = end;
    }
  }

private:
  int file_;
  std::size_t bytes_ = 0;
  std::byte* memory_ = nullptr;
};

class SharedRubbish : public ::testing::TestWithParam<unsigned> {};

TEST_P(SharedRubbish, CrashesNobody) {
  std::mt19937 random(GetParam());
  const std::string name = fresh_name();
  Turned clock;
  {
    Member a(options(name), 1, clock);
    Member b(options(name), 2, clock);
    End<Shared> from(*a.nic, a.number(17), {.depth = 512});
    End<Shared> to(*b.nic, b.number(18), {.depth = 512});
    connect(from, to, {.retry_cnt = 7});
    Vandal vandal(name);
    for (int round = 0; round < 20; ++round) {
      for (int count = 0; count < 20; ++count) {
        to.receive(1, {to.sge(0, 1 << 16)});
        from.send(rdma(random() % 2 == 0 ? IBV_WR_SEND : IBV_WR_RDMA_READ, 1, to.address(0), to.region->key),
                  {from.sge(0, random() % (1 << 16))});
      }
      // Rings lie behind the slots; now and then the slots too.
      vandal.spoil(random, round % 5 == 4 ? 0 : 1 << 19, 1 + random() % 64);
      for (int count = 0; count < 10; ++count) {
        a.fabric->progress();
        b.fabric->progress();
      }
      clock.time += std::chrono::seconds(1);
      a.nic->adapter.expire(clock.time);
      while (from.poll()) {
      }
      while (to.poll()) {
      }
    }
  }
  ::unlink(file_of(name).c_str());
}

INSTANTIATE_TEST_SUITE_P(OfSeed, SharedRubbish, ::testing::Range(0U, 12U));

TEST(SharedMember, ThatWroteRubbishIsCutOffAndTheNextOfItsSlotIsNot) {
  const std::string name = fresh_name();
  Turned clock;
  Member b(options(name), 2, clock);
  End<Shared> to(*b.nic, b.number(18));
  for (int round = 0; round < 3; ++round) {
    Member a(options(name), 1, clock);
    End<Shared> from(*a.nic, a.number(17));
    connect(from, to, {}, static_cast<std::uint32_t>(100 * round));
    to.receive(1, {to.sge(0, 100)});
    from.send(work(IBV_WR_SEND, 1), {from.sge(0, 10)});
    settle(a, b);
    EXPECT_TRUE(from.poll()) << round;
    EXPECT_TRUE(to.poll()) << round;
    const std::uint64_t before = b.fabric->counts().cut_off;
    // A message of no kind.
    Vandal vandal(name);
    std::mt19937 random(9);
    from.send(work(IBV_WR_SEND, 2), {from.sge(0, 10)});
    vandal.spoil(random, 1 << 19, 1);
    settle(b);
    EXPECT_EQ(b.fabric->counts().cut_off, before + 1);
    to.nic.adapter.enter(to.qp, IBV_QPS_RESET);
  }
}

TEST(SharedMember, ThatComesAgainIsAnother) {
  const std::string name = fresh_name();
  Turned clock;
  Member b(options(name), 2, clock);
  End<Shared> to(*b.nic, b.number(18));
  for (int round = 0; round < 5; ++round) {
    Member a(options(name), 1, clock);
    End<Shared> from(*a.nic, a.number(17), {}, kLarge);
    connect(from, to, {}, static_cast<std::uint32_t>(1000 * round));
    for (int count = 0; count < 10; ++count) {
      to.receive(1, {to.sge(0, 1 << 16)});
      from.send(work(IBV_WR_SEND, 1), {from.sge(0, 1 << 16)});
      settle(a, b);
      ASSERT_TRUE(from.poll()) << round;
      ASSERT_TRUE(to.poll()) << round;
    }
    to.nic.adapter.enter(to.qp, IBV_QPS_RESET);
  }
}

}  // namespace
}  // namespace engine_test
