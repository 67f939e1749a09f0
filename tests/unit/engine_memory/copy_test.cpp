// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <vector>

#include "engine/memory/copy.hpp"
#include "engine/memory/pin.hpp"

namespace verbena::engine::memory {
namespace {

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t at = 0; at < bytes; ++at) data[at] = static_cast<std::byte>(at * 31 + (at >> 8));
  return data;
}

TEST(Copy, OfEverySizeAndAlignmentIsExact) {
  const std::vector<std::byte> source = counted(5000);
  for (const std::size_t bytes :
       {0U, 1U, 2U, 3U, 4U, 7U, 8U, 9U, 15U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 2049U, 4097U}) {
    for (std::size_t align = 0; align < 9; ++align) {
      std::vector<std::byte> target(5000, std::byte{0xee});
      copy_in_order(target.data() + align, source.data() + 3, bytes);
      EXPECT_TRUE(std::equal(target.begin() + static_cast<std::ptrdiff_t>(align),
                             target.begin() + static_cast<std::ptrdiff_t>(align + bytes), source.begin() + 3));
      EXPECT_EQ(target[align + bytes], std::byte{0xee});
      if (align > 0) {
        EXPECT_EQ(target[align - 1], std::byte{0xee});
      }
    }
  }
}

TEST(Copy, OntoItselfIsAsIfThroughAnother) {
  for (const int shift : {-1500, -700, -8, -1, 0, 1, 5, 8, 700, 1500}) {
    std::vector<std::byte> data = counted(8000);
    const std::vector<std::byte> before = data;
    copy_in_order(data.data() + 2000 + shift, data.data() + 2000, 3000);
    for (std::ptrdiff_t at = 0; at < 3000; ++at) {
      ASSERT_EQ(data[static_cast<std::size_t>(2000 + shift + at)], before[static_cast<std::size_t>(2000 + at)])
          << shift << " " << at;
    }
  }
}

TEST(Copy, BetweenPiecesOfAnyShape) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> source = counted(700);
    std::vector<std::byte> target(700, std::byte{0});
    const auto cut = [&random](std::vector<std::byte>& data) {
      std::vector<Piece> pieces;
      for (std::size_t at = 0; at < data.size();) {
        const std::size_t bytes = std::min<std::size_t>(random() % 120, data.size() - at);
        pieces.push_back({data.data() + at, bytes});
        at += bytes;
      }
      return pieces;
    };
    const std::vector<Piece> from = cut(source);
    const std::vector<Piece> to = cut(target);
    const std::uint64_t from_offset = random() % 300;
    const std::uint64_t to_offset = random() % 300;
    const std::uint64_t bytes = random() % 500;
    const std::uint64_t done = copy(to, to_offset, from, from_offset, bytes);
    EXPECT_EQ(done, std::min({bytes, 700 - from_offset, 700 - to_offset}));
    for (std::size_t at = 0; at < 700; ++at) {
      const bool inside = at >= to_offset && at < to_offset + done;
      ASSERT_EQ(target[at], inside ? source[at - to_offset + from_offset] : std::byte{0});
    }
    std::array<Piece, 64> room;
    const Pieces part = slice(from, from_offset, bytes, room);
    EXPECT_EQ(bytes_of(part), std::min(bytes, 700 - from_offset));
  }
}

TEST(Copy, NullMemoryGivesZerosAndTakesAll) {
  std::vector<std::byte> data(16, std::byte{7});
  const Piece null{nullptr, 16};
  const Piece mine{data.data(), 16};
  EXPECT_EQ(copy({&null, 1}, 0, {&mine, 1}, 0, 16), 16U);
  EXPECT_EQ(copy({&mine, 1}, 4, {&null, 1}, 0, 8), 8U);
  EXPECT_EQ(std::count(data.begin(), data.end(), std::byte{0}), 8);
}

TEST(Copy, ShowsTheLastWordAfterAllBeforeIt) {
  constexpr std::size_t kBytes = std::size_t{3000} * 8;
  alignas(64) static std::array<std::uint64_t, kBytes / 8> source;
  alignas(64) static std::array<std::uint64_t, kBytes / 8> target;
  std::atomic<std::uint64_t> read{0};
  constexpr std::uint64_t kRounds = 500;
  std::thread reader([&read] {
    const std::atomic_ref<std::uint64_t> last(target.back());
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      while (last.load(std::memory_order_acquire) != round) {
      }
      for (const std::uint64_t word : target) ASSERT_EQ(word, round);
      read.store(round, std::memory_order_release);
    }
  });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    source.fill(round);
    copy_in_order(reinterpret_cast<std::byte*>(target.data()), reinterpret_cast<const std::byte*>(source.data()),
                  kBytes);
    while (read.load(std::memory_order_acquire) != round) {
    }
  }
  reader.join();
}

TEST(Pin, RefusesWhatIsNotThereOrMayNotBeWritten) {
#ifdef VERBENA_TEST_EMULATED
  GTEST_SKIP() << "qemu-user answers madvise without a look at the pages";
#endif
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<std::byte*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(pin(memory + 1, (4 * page) - 1, true), 0);
  ASSERT_EQ(mprotect(memory + page, page, PROT_READ), 0);
  EXPECT_EQ(pin(memory, 4 * page, true), EFAULT);
  EXPECT_EQ(pin(memory, 4 * page, false), 0);
  EXPECT_EQ(pin(memory + 2 * page, 2 * page, true), 0);
  ASSERT_EQ(munmap(memory + 3 * page, page), 0);
  EXPECT_EQ(pin(memory + 2 * page, page + 1, false), EFAULT);
  EXPECT_EQ(pin(memory + 2 * page, page, true), 0);
  EXPECT_EQ(pin(reinterpret_cast<void*>(~std::uintptr_t{0} - 1), 16, false), EFAULT);
  EXPECT_EQ(pin(nullptr, 1, false), EFAULT);
  EXPECT_EQ(pin(nullptr, 0, true), 0);
  munmap(memory, 3 * page);
}

}  // namespace
}  // namespace verbena::engine::memory
