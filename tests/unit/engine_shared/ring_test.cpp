// SPDX-License-Identifier: Apache-2.0 OR MIT
// The ring by itself, in memory that two threads have at one address, so that a thread sanitizer sees both ends.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "engine/fabric/shared_ring.hpp"

namespace {

using namespace verbena::engine::fabric;

constexpr std::uint32_t kMessage = 1;

struct Memory {
  std::unique_ptr<RingControl> control = std::make_unique<RingControl>();
  std::vector<std::byte> data = std::vector<std::byte>(kRingBytes);
};

bool write(RingWriter& writer, std::uint32_t bytes, std::uint32_t number) {
  std::byte* const room = writer.reserve(bytes);
  if (room == nullptr) return false;
  const RingFrame frame{bytes, kMessage};
  std::memcpy(room, &frame, sizeof frame);
  std::memset(room + sizeof frame, static_cast<int>(number & 0xff), bytes - sizeof frame);
  writer.publish();
  return true;
}

std::uint32_t size_of(std::mt19937& random) {
  const bool large = random() % 8 == 0;
  return kRingStep * (1 + static_cast<std::uint32_t>(random() % (large ? kMostMessage / kRingStep : 4)));
}

TEST(Ring, BringsEachMessageOnceInOrderBetweenThreads) {
  constexpr std::uint32_t kCount = 20'000;
  Memory memory;
  std::thread other([&] {
    RingWriter writer(*memory.control, memory.data.data());
    memory.control->writer.store(1, std::memory_order_release);
    std::mt19937 random(7);
    for (std::uint32_t number = 0; number < kCount; ++number) {
      const std::uint32_t bytes = size_of(random);
      while (!write(writer, bytes, number)) std::this_thread::yield();
    }
    EXPECT_FALSE(writer.broken());
  });
  while (memory.control->writer.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  RingReader reader(*memory.control, memory.data.data());
  std::mt19937 random(7);
  for (std::uint32_t number = 0; number < kCount && !reader.broken();) {
    const auto message = reader.front();
    if (message.empty()) {
      std::this_thread::yield();
      continue;
    }
    const std::uint32_t bytes = size_of(random);
    ASSERT_EQ(message.size(), bytes) << number;
    ASSERT_EQ(message[sizeof(RingFrame)], static_cast<std::byte>(number));
    ASSERT_EQ(message[bytes - 1], static_cast<std::byte>(number));
    reader.pop();
    ++number;
  }
  EXPECT_FALSE(reader.broken());
  other.join();
}

TEST(Ring, RefusesWhatThereIsNoRoomForAndTakesItWhenThereIs) {
  Memory memory;
  RingWriter writer(*memory.control, memory.data.data());
  RingReader reader(*memory.control, memory.data.data());
  std::uint32_t written = 0;
  while (write(writer, kRingStep * 3, written)) ++written;
  EXPECT_EQ(written, kRingBytes / (kRingStep * 3));
  EXPECT_EQ(writer.reserve(kRingStep * 3), nullptr);
  ASSERT_FALSE(reader.front().empty());
  reader.pop();
  EXPECT_TRUE(write(writer, kRingStep * 3, written)) << "in two parts there would be room: it begins anew";
  std::uint32_t read = 1;
  for (; !reader.front().empty(); ++read) reader.pop();
  EXPECT_EQ(read, written + 1);
}

struct Rubbish {
  const char* name;
  void (*spoil)(Memory&);
};

void frame_at_0(Memory& memory, std::uint32_t bytes) {
  const RingFrame frame{bytes, kMessage};
  std::memcpy(memory.data.data(), &frame, sizeof frame);
}

const Rubbish kOfWriter[] = {
    {"TailFarAhead", [](Memory& memory) { memory.control->tail.store(kRingBytes + kRingStep); }},
    {"TailAtTheEndOfNumbers", [](Memory& memory) { memory.control->tail.store(~std::uint64_t{63}); }},
    {"TailBetweenSteps", [](Memory& memory) { memory.control->tail.store(kRingStep + 1); }},
    {"MessageOfNothing",
     [](Memory& memory) {
       frame_at_0(memory, 0);
       memory.control->tail.store(kRingStep);
     }},
    {"MessageBetweenSteps",
     [](Memory& memory) {
       frame_at_0(memory, kRingStep + 4);
       memory.control->tail.store(std::uint64_t{kRingStep} * 4);
     }},
    {"MessageBeyondTheTail",
     [](Memory& memory) {
       frame_at_0(memory, kRingStep * 2);
       memory.control->tail.store(kRingStep);
     }},
    {"MessageBeyondTheRing",
     [](Memory& memory) {
       frame_at_0(memory, kRingBytes + kRingStep);
       memory.control->tail.store(kRingBytes);
     }},
};

class RingRubbish : public ::testing::TestWithParam<Rubbish> {};

TEST_P(RingRubbish, IsNoticedAndNothingIsRead) {
  Memory memory;
  RingReader reader(*memory.control, memory.data.data());
  GetParam().spoil(memory);
  EXPECT_TRUE(reader.front().empty());
  EXPECT_TRUE(reader.broken());
  EXPECT_TRUE(reader.front().empty());
}

INSTANTIATE_TEST_SUITE_P(OfAWriter, RingRubbish, ::testing::ValuesIn(kOfWriter),
                         [](const auto& one) { return one.param.name; });

TEST(RingWriterOf, AReaderThatWritesRubbishWritesNothingMore) {
  for (const std::uint64_t head : {std::uint64_t{kRingBytes} * 9, ~std::uint64_t{0}}) {
    Memory memory;
    RingWriter writer(*memory.control, memory.data.data());
    while (write(writer, kMostMessage, 0)) {
    }
    EXPECT_FALSE(writer.broken());
    memory.control->head.store(head);
    EXPECT_EQ(writer.reserve(kRingStep), nullptr);
    EXPECT_TRUE(writer.broken());
  }
}

}  // namespace
