// SPDX-License-Identifier: Apache-2.0 OR MIT
// Who is on a fabric: slots, names, and what is left when a process has gone.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/fabric/shared_board.hpp"
#include "engine_shared/rig.hpp"

namespace engine_test {
namespace {

using fabric::SharedBoard;

constexpr mode_t kMode = 0600;
constexpr std::uint64_t kWitness = 77;

std::optional<SharedBoard> join(const std::string& name, mode_t mode = kMode) {
  auto board = SharedBoard::join(name, mode, kWitness);
  if (!board) {
    ADD_FAILURE() << board.error().what;
    return std::nullopt;
  }
  return std::move(*board);
}

TEST(Board, GivesEachASlotOfItsOwnAndItsNameGoesWithTheLast) {
  const std::string name = fresh_name();
  auto one = join(name);
  auto other = join(name);
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->slot(), other->slot());
  EXPECT_NE(one->slot(), 0U);
  EXPECT_TRUE(exists(file_of(name)));
  one->leave();
  one.reset();
  EXPECT_TRUE(exists(file_of(name)));
  other->leave();
  other.reset();
  EXPECT_FALSE(exists(file_of(name)));
}

TEST(Board, ShowsAddressesToTheOthers) {
  const std::string name = fresh_name();
  auto one = join(name);
  auto other = join(name);
  ASSERT_TRUE(one && other);
  one->publish({wire::mapped(10, 0, 0, 1), wire::mapped(10, 0, 0, 2)});
  const auto says = other->read(one->slot());
  ASSERT_TRUE(says);
  EXPECT_EQ(says->gids, (std::vector<wire::Gid>{wire::mapped(10, 0, 0, 1), wire::mapped(10, 0, 0, 2)}));
  EXPECT_EQ(says->process.number, ::getpid());
  EXPECT_EQ(says->owner.witness, kWitness);
  EXPECT_TRUE(other->lives(one->slot(), says->process));
  EXPECT_FALSE(other->read(fabric::kSlots));
  one->leave();
  EXPECT_FALSE(other->read(one->slot() == 0 ? 1 : one->slot()));
  other->leave();
}

TEST(Board, SaysThatItIsFullAndTakesSlotsThatWereGivenBack) {
  const std::string name = fresh_name();
  std::vector<SharedBoard> boards;
  std::set<std::uint32_t> slots;
  for (std::uint32_t count = 0; count < fabric::kSlots; ++count) {
    auto board = SharedBoard::join(name, kMode, kWitness);
    ASSERT_TRUE(board) << board.error().what;
    slots.insert(board->slot());
    boards.push_back(std::move(*board));
  }
  EXPECT_EQ(slots.size(), fabric::kSlots);
  const auto full = SharedBoard::join(name, kMode, kWitness);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().error, EUSERS);
  const std::uint32_t freed = boards[5].slot();
  boards[5].leave();
  auto again = join(name);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->slot(), freed);
  again->leave();
  for (SharedBoard& board : boards) board.leave();
  EXPECT_FALSE(exists(file_of(name)));
}

TEST(Board, RefusesWhatIsNoName) {
  for (const char* const name : {"", ".", "../x", "a/b", "a b"}) {
    const auto board = SharedBoard::join(name, kMode, kWitness);
    ASSERT_FALSE(board) << name;
    EXPECT_EQ(board.error().error, EINVAL);
  }
  EXPECT_FALSE(SharedBoard::join(std::string(65, 'a'), kMode, kWitness));
}

/// A child that joins, says so, and is killed there.
pid_t killed_member(const std::string& name, std::uint32_t* slot) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe(pipe.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto board = SharedBoard::join(name, kMode, kWitness);
    const std::uint32_t mine = board ? board->slot() : 0;
    static_cast<void>(::write(pipe[1], &mine, sizeof mine) == sizeof mine);
    for (;;) ::pause();
  }
  EXPECT_EQ(::read(pipe[0], slot, sizeof *slot), static_cast<ssize_t>(sizeof *slot));
  ::close(pipe[0]);
  ::close(pipe[1]);
  ::kill(child, SIGKILL);
  return child;
}

TEST(Board, KnowsAKilledMemberBeforeItsParentDoes) {
  const std::string name = fresh_name();
  auto one = join(name);
  ASSERT_TRUE(one);
  std::uint32_t slot = 0;
  const pid_t child = killed_member(name, &slot);
  ASSERT_NE(slot, 0U);
  const auto says = one->read(slot);
  ASSERT_TRUE(says);
  for (int tries = 0; tries < 1000 && one->lives(slot, says->process); ++tries) ::usleep(1000);
  EXPECT_FALSE(one->lives(slot, says->process)) << "it is a zombie still";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(one->lives(slot, says->process));
  one->leave();
  EXPECT_FALSE(exists(file_of(name))) << "the killed one is no reason to keep it";
}

TEST(Board, KnowsAKilledMemberThoughAChildOfItKeepsItsFiles) {
  const std::string name = fresh_name();
  auto one = join(name);
  ASSERT_TRUE(one);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  struct {
    std::uint32_t slot;
    pid_t grandchild;
  } told{};
  const pid_t child = ::fork();
  if (child == 0) {
    auto board = SharedBoard::join(name, kMode, kWitness);
    told.slot = board ? board->slot() : 0;
    told.grandchild = ::fork();
    if (told.grandchild != 0) static_cast<void>(::write(pipe[1], &told, sizeof told) == sizeof told);
    for (;;) ::pause();
  }
  ASSERT_EQ(::read(pipe[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
  const auto says = one->read(told.slot);
  ASSERT_TRUE(says);
  EXPECT_TRUE(one->lives(told.slot, says->process));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(one->lives(told.slot, says->process));
  ::kill(told.grandchild, SIGKILL);
  ::close(pipe[0]);
  ::close(pipe[1]);
  one->leave();
}

TEST(Board, BeginsAnewWhereAllWereKilled) {
  const std::string name = fresh_name();
  std::uint32_t slot = 0;
  ::waitpid(killed_member(name, &slot), nullptr, 0);
  EXPECT_TRUE(exists(file_of(name)));
  struct stat before{};
  ASSERT_EQ(::stat(file_of(name).c_str(), &before), 0);
  auto one = join(name);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->incarnation(), 1U) << "nothing of what they left";
  one->leave();
  EXPECT_FALSE(exists(file_of(name)));
}

TEST(Board, IsNotJoinedThroughAFileThatIsNone) {
  const std::string name = fresh_name();
  ASSERT_EQ(::symlink("/dev/shm/elsewhere", file_of(name).c_str()), 0);
  EXPECT_FALSE(SharedBoard::join(name, kMode, kWitness));
  EXPECT_FALSE(exists("/dev/shm/elsewhere"));
  ::unlink(file_of(name).c_str());
}

TEST(Board, MakesNothingOfAFileFullOfNoise) {
  const std::string name = fresh_name();
  const int file = ::open(file_of(name).c_str(), O_CREAT | O_RDWR, kMode);
  const std::vector<char> noise(1 << 20, 'x');
  ASSERT_EQ(::write(file, noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
  ::close(file);
  auto one = join(name);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->incarnation(), 1U);
  one->leave();
}

}  // namespace
}  // namespace engine_test
