// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/capture.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "engine/wire/bytes.hpp"

namespace verbena::engine::wire {
namespace {

using namespace std::chrono_literals;

TEST(WireCapture, HeadIsASectionAndOneInterface) {
  const auto head = capture_head(LinkType::raw_ip);
  EXPECT_EQ(load<std::uint32_t>(head.data()), 0x0a0d0d0aU);
  EXPECT_EQ(load<std::uint32_t>(head.data() + 24), 28U) << "the length again, at the end of the block";
  EXPECT_EQ(load<std::uint32_t>(head.data() + 28), 1U);
  EXPECT_EQ(load<std::uint16_t>(head.data() + 36), 101U);
  EXPECT_EQ(load<std::uint32_t>(head.data() + 56), 32U);
}

TEST(WireCapture, ABlockSaysItsLengthAtBothEnds) {
  const std::vector<std::byte> packet(13, std::byte{7});
  for (const std::string_view comment : {"", "dropped: icrc"}) {
    std::vector<std::byte> out(capture_bytes(packet.size(), comment.size()) + 1, std::byte{0xee});
    const std::size_t bytes = write_captured(1s + 5ns, packet, comment, out);
    ASSERT_EQ(bytes, out.size() - 1);
    EXPECT_EQ(bytes % 4, 0U);
    EXPECT_EQ(load<std::uint32_t>(out.data() + 4), bytes);
    EXPECT_EQ(load<std::uint32_t>(out.data() + bytes - 4), bytes);
    EXPECT_EQ(load<std::uint64_t>(out.data() + 12), 1000000005U);
    EXPECT_EQ(load<std::uint32_t>(out.data() + 20), 13U);
    EXPECT_EQ(out.back(), std::byte{0xee});
  }
}

TEST(WireCapture, WhereThereIsNoRoomNothingIsWritten) {
  const std::vector<std::byte> packet(8);
  std::vector<std::byte> out(capture_bytes(8) - 1, std::byte{0xee});
  EXPECT_EQ(write_captured(0ns, packet, "", out), 0U);
  EXPECT_EQ(out.front(), std::byte{0xee});
  const std::vector<std::byte> large(70000);
  std::vector<std::byte> room(80000);
  EXPECT_EQ(write_captured(0ns, large, "", room), 0U);
}

}  // namespace
}  // namespace verbena::engine::wire
