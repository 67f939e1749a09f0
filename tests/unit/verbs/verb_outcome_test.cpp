// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/verb_outcome.hpp"

#include <gtest/gtest.h>

namespace verbena {
namespace {

TEST(VerbOutcome, NegativeErrnoIsTurnedPositive) {
  EXPECT_EQ(outcome([] { return -ENOMEM; }), ENOMEM);
  EXPECT_EQ(outcome([] { return EINVAL; }), EINVAL);
  EXPECT_EQ(outcome([] { return 0; }), 0);
}

TEST(VerbOutcome, MinusOneMeansErrno) {
  EXPECT_EQ(outcome([] {
              errno = ENODEV;
              return -1;
            }),
            ENODEV);
}

TEST(VerbOutcome, AnErrnoOfAnEarlierCallIsNotTakenForThisOne) {
  errno = EPERM;
  EXPECT_EQ(outcome([] { return -1; }), EINVAL);
}

// libhns' reg_mr returns null and leaves errno alone when its own allocation fails.
TEST(VerbOutcome, NullWithoutErrnoIsSaidToBeSo) {
  errno = EPERM;
  const Made<int> result = made([]() -> int* { return nullptr; });
  EXPECT_FALSE(result);
  EXPECT_TRUE(result.errno_missing);
  EXPECT_EQ(result.error, EINVAL);
}

TEST(VerbOutcome, NullWithErrnoKeepsIt) {
  const Made<int> result = made([]() -> int* {
    errno = ENOMEM;
    return nullptr;
  });
  EXPECT_FALSE(result.errno_missing);
  EXPECT_EQ(result.error, ENOMEM);
}

}  // namespace
}  // namespace verbena
