// SPDX-License-Identifier: Apache-2.0 OR MIT
// Faults as a command line names them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verbena/model.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

TEST(FaultWord, HasTheParametersOfItsTableAndThoseThatAreNamed) {
  const auto plain = parse_fault("flush_lost");
  ASSERT_TRUE(plain) << to_string(plain.error());
  EXPECT_EQ(plain->fault, Fault::flush_lost);
  EXPECT_EQ(plain->parameters.at(0).number, 2U);
  const auto named = parse_fault("timeout_ignored:milliseconds=7:then=doubled");
  ASSERT_TRUE(named) << to_string(named.error());
  EXPECT_EQ(named->parameters.at(0).number, 7U);
  EXPECT_EQ(named->parameters.at(1).word, "doubled");
}

struct Refused {
  const char* word;
  const char* says;
};

TEST(FaultWord, IsRefusedWhereNothingIsCalledSo) {
  for (const Refused& one :
       {Refused{"flush_lots", "did you mean 'flush_lost'?"}, Refused{"flush_lost:one_of=2", "did you mean 'one_in'?"},
        Refused{"flush_lost:one_in=0", "from 1 to"}, Refused{"flush_lost:one_in", "is no parameter"},
        Refused{"reset_spoils:one_in=2", "it has none"},
        Refused{"timeout_ignored:then=dubled", "did you mean 'doubled'?"}, Refused{"", "unknown"}}) {
    const auto fault = parse_fault(one.word);
    ASSERT_FALSE(fault) << one.word;
    EXPECT_THAT(fault.error().text, HasSubstr(one.says)) << one.word;
  }
}

}  // namespace
}  // namespace verbena
