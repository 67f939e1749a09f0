// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reading another process's memory; here it is this one's, by its number.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>
#include <vector>

#include <unistd.h>

#include "engine/memory/pull.hpp"

namespace {

using namespace verbena::engine::memory;

struct Pull : ::testing::Test {
  void SetUp() override {
    std::byte byte{};
    const Piece to{&byte, 1};
    if (pull(owner, {&to, 1}, 0, {&to, 1}, 0, 1, nullptr) == ENOSYS) GTEST_SKIP() << "no process_vm_readv here";
    std::iota(reinterpret_cast<unsigned char*>(source.data()), reinterpret_cast<unsigned char*>(source.data()) + kBytes,
              static_cast<unsigned char>(1));
  }

  static constexpr std::size_t kBytes = 20'000;
  std::uint64_t witness = 0x1234'5678'9abc'def1;
  Owner owner{::getpid(), reinterpret_cast<std::uintptr_t>(&witness), witness};
  std::vector<std::byte> source = std::vector<std::byte>(kBytes);
  std::vector<std::byte> target = std::vector<std::byte>(kBytes + 16, std::byte{0xee});
};

std::vector<Piece> cut(std::vector<std::byte>& bytes, std::size_t offset, std::size_t count, std::size_t step) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at < count; at += step)
    pieces.push_back({bytes.data() + offset + at, std::min(step, count - at)});
  return pieces;
}

TEST_F(Pull, BringsPiecesIntoPiecesHoweverTheyAreCut) {
  for (const std::size_t ours : {7U, 512U, 1000U, 20'000U}) {
    for (const std::size_t theirs : {5U, 512U, 3000U, 20'000U}) {
      for (const std::size_t shift : {0U, 1U, 4U}) {
        std::fill(target.begin(), target.end(), std::byte{0xee});
        const auto to = cut(target, shift, kBytes, ours);
        const auto from = cut(source, 0, kBytes, theirs);
        constexpr std::size_t kSkip = 11;
        ASSERT_EQ(pull(owner, to, 3, from, kSkip, kBytes - kSkip, nullptr), 0);
        ASSERT_TRUE(
            std::equal(source.begin() + kSkip, source.end(), target.begin() + static_cast<std::ptrdiff_t>(shift) + 3));
        ASSERT_EQ(target[shift + 2], std::byte{0xee});
        ASSERT_EQ(target[shift + 3 + kBytes - kSkip], std::byte{0xee});
      }
    }
  }
}

TEST_F(Pull, PassesOverWhatANullRegionSwallows) {
  const Piece to[] = {{target.data(), 100}, {nullptr, 50}, {target.data() + 200, 100}};
  const Piece from{source.data(), kBytes};
  ASSERT_EQ(pull(owner, to, 0, {&from, 1}, 0, 250, nullptr), 0);
  EXPECT_EQ(target[99], source[99]);
  EXPECT_EQ(target[100], std::byte{0xee});
  EXPECT_EQ(target[200], source[150]);
}

TEST_F(Pull, LeavesTheLastWordWhereItWasTakenBack) {
  const Piece to{target.data(), 64};
  const Piece from{source.data(), 64};
  const std::atomic<std::uint32_t> withdrawn{1};
  EXPECT_EQ(pull(owner, {&to, 1}, 0, {&from, 1}, 0, 64, &withdrawn), ECANCELED);
  EXPECT_TRUE(
      std::all_of(target.begin() + 56, target.begin() + 64, [](std::byte byte) { return byte == std::byte{0xee}; }));
}

TEST_F(Pull, SaysThatItIsAnotherProcess) {
  const Piece to{target.data(), 64};
  const Piece from{source.data(), 64};
  Owner other = owner;
  ++other.witness;
  EXPECT_EQ(pull(other, {&to, 1}, 0, {&from, 1}, 0, 64, nullptr), ESRCH);
  other = owner;
  other.process = 0x7fff'fffe;
  EXPECT_EQ(pull(other, {&to, 1}, 0, {&from, 1}, 0, 64, nullptr), ESRCH);
  EXPECT_EQ(target[63], std::byte{0xee});
}

TEST_F(Pull, SaysThatThereIsNoSuchMemory) {
  const Piece to{target.data(), 64};
  const Piece from{reinterpret_cast<std::byte*>(16), 64};
  EXPECT_EQ(pull(owner, {&to, 1}, 0, {&from, 1}, 0, 64, nullptr), EFAULT);
  const Piece here{source.data(), 64};
  EXPECT_EQ(pull(owner, {&to, 1}, 0, {&here, 1}, 32, 64, nullptr), EFAULT) << "fewer bytes than were asked for";
  EXPECT_EQ(target[63], std::byte{0xee});
}

}  // namespace
