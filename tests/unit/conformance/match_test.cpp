// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/match.hpp"

#include <gtest/gtest.h>

namespace verbena {
namespace {

DeviceId rxe(const std::string& kernel) {
  DeviceId id;
  id.driver = "rxe";
  id.kernel = kernel;
  id.part_id = 0x1592;
  id.bond = true;
  return id;
}

bool matches(const DeviceId& device, std::initializer_list<MatchEntry> match) {
  const std::vector<MatchEntry> entries = match;
  const auto answer = device_matches(entries, device, 1);
  EXPECT_TRUE(answer) << to_string(answer.error());
  return answer.value_or(false);
}

TEST(Match, IsThatOfARule) {
  EXPECT_TRUE(matches(rxe("6.12.1"), {}));
  EXPECT_TRUE(matches(rxe("6.12.1"), {{"driver", {"siw", "rxe"}}, {"kernel", {">=6.4"}}}));
  EXPECT_FALSE(matches(rxe("6.1.0"), {{"kernel", {">=6.4"}}}));
  EXPECT_TRUE(matches(rxe("6.1.0"), {{"kernel", {"<6.2", ">=6.8"}}}));
  EXPECT_TRUE(matches(rxe("6.1.0"), {{"part_id", {"0x1591-0x1593"}}, {"bond", {"true"}}}));
  EXPECT_FALSE(matches(rxe("6.1.0"), {{"bond", {"false"}}}));
}

TEST(Match, AVersionThatIsNotKnownMatchesAndAnIdentityDoesNot) {
  EXPECT_TRUE(matches(rxe(""), {{"kernel", {">=6.4"}}}));
  EXPECT_FALSE(matches(DeviceId{}, {{"part_id", {"0x1592"}}}));
}

TEST(Match, WhatCannotBeReadIsAnError) {
  for (const MatchEntry& entry : {MatchEntry{"moon", {"full"}}, MatchEntry{"kernel", {"newish"}},
                                  MatchEntry{"part_id", {"some"}}, MatchEntry{"bond", {"perhaps"}}}) {
    const auto answer = device_matches(std::span(&entry, 1), rxe("6.1"), 1);
    ASSERT_FALSE(answer) << entry.key;
    EXPECT_EQ(answer.error().kind, ErrorKind::bad_table);
    EXPECT_FALSE(answer.error().text.empty());
  }
}

}  // namespace
}  // namespace verbena
