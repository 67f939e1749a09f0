// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/errno_family.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>

namespace verbena {
namespace {

TEST(ErrnoFamily, OneSituationHasManyErrnos) {
  for (const int value : {EOPNOTSUPP, ENOTSUP, ENOSYS, EPROTONOSUPPORT}) {
    EXPECT_EQ(errno_family(value), ErrnoFamily::unsupported) << value;
  }
  for (const int value : {EINVAL, E2BIG}) EXPECT_EQ(errno_family(value), ErrnoFamily::limit) << value;
  for (const int value : {ENOMEM, EFAULT}) EXPECT_EQ(errno_family(value), ErrnoFamily::memory) << value;
  EXPECT_EQ(errno_family(ENODEV), ErrnoFamily::gone);
  EXPECT_EQ(errno_family(EPERM), ErrnoFamily::permission);
  EXPECT_EQ(errno_family(0), ErrnoFamily::none);
}

TEST(ErrnoFamily, ASmallerTryIsWorthItForEveryErrnoThatMeansTooBigSomewhere) {
  // mlx5 and most: EINVAL; siw, mlx5's kernel part: ENOMEM; cxgb4: E2BIG; erdma: EIO; qedr: EFAULT.
  for (const int value : {EINVAL, ENOMEM, E2BIG, EIO, EFAULT, EOPNOTSUPP, ENOSYS}) {
    EXPECT_TRUE(may_be_too_much(value)) << value;
  }
  for (const int value : {0, EPERM, ENODEV, EBUSY, ETIMEDOUT}) EXPECT_FALSE(may_be_too_much(value)) << value;
}

TEST(ErrnoFamily, TheSignOfAReturnValueDoesNotMatter) {
  // siw, erdma, cxgb4 and qedr return the negated errno from post_send.
  EXPECT_EQ(normalise_errno(-ENOMEM), ENOMEM);
  EXPECT_EQ(normalise_errno(ENOMEM), ENOMEM);
  EXPECT_EQ(normalise_errno(INT_MIN), 4095);
  EXPECT_EQ(errno_family(-EINVAL), ErrnoFamily::limit);
}

TEST(ErrnoFamily, NamesAreForPeople) {
  EXPECT_EQ(errno_name(EINVAL), "EINVAL");
  EXPECT_EQ(errno_name(-EOPNOTSUPP), "EOPNOTSUPP");
  EXPECT_EQ(errno_name(4000), "?");
}

}  // namespace
}  // namespace verbena
