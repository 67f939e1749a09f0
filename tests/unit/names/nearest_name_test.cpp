// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "names/nearest_name.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace verbena::names {
namespace {

constexpr std::array<std::string_view, 4> kKnown{"max_send_wr", "max_recv_wr", "max_inline_data", "cqe"};

TEST(NearestName, FindsWhatATypoMeant) {
  EXPECT_EQ(nearest_name("max_inlin_data", kKnown), "max_inline_data");
  EXPECT_EQ(nearest_name("max_sned_wr", kKnown), "max_send_wr");
  EXPECT_EQ(nearest_name("cqes", kKnown), "cqe");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("banana", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'm'), kKnown), "");
}

TEST(NearestName, OfEquallyNearOnesTheFirstIsTaken) {
  constexpr std::array<std::string_view, 2> known{"abcd", "abce"};
  EXPECT_EQ(nearest_name("abcf", known), "abcd");
}

TEST(EditDistance, CountsASwapOfNeighboursOnce) {
  EXPECT_EQ(edit_distance("recv", "rcev", 5), 1U);
  EXPECT_EQ(edit_distance("same", "same", 5), 0U);
  EXPECT_EQ(edit_distance("", "abc", 5), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U);
}

}  // namespace
}  // namespace verbena::names
