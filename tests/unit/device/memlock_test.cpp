// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/memlock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake/fake_verbs.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

TEST(Memlock, TheLimitWhatIsPinnedAndTheNeedAreTold) {
  fake::FakeVerbs host;
  host.memlock = {64 << 10, 128 << 10};
  host.files["/proc/self/status"] = "Name:\tx\nVmLck:\t       4 kB\nVmPin:\t      40 kB\nVmRSS:\t 9 kB\n";
  EXPECT_EQ(locked_memory(host).locked, 4096U);
  EXPECT_EQ(locked_memory(host).pinned, 40960U);
  const std::string text = explain_no_memory(host, std::uint64_t{1} << 20);
  EXPECT_THAT(text, HasSubstr("needs 1 MiB"));
  EXPECT_THAT(text, HasSubstr("RLIMIT_MEMLOCK is 64 KiB (hard limit 128 KiB)"));
  EXPECT_THAT(text, HasSubstr("40 KiB of it are pinned"));
  EXPECT_THAT(text, HasSubstr("the limit is too low"));
  EXPECT_THAT(text, HasSubstr("CAP_IPC_LOCK"));
}

TEST(Memlock, ALimitThatCannotBeTheCauseIsNotBlamed) {
  fake::FakeVerbs host;
  EXPECT_THAT(explain_no_memory(host, 4096), HasSubstr("not the cause (it is unlimited)"));
  host.memlock = {64 << 10, 64 << 10};
  host.may_lock = true;
  EXPECT_THAT(explain_no_memory(host, 4096), HasSubstr("CAP_IPC_LOCK"));
  EXPECT_THAT(explain_no_memory(host, 4096), HasSubstr("not the cause"));
}

TEST(Memlock, AnUnprovenCauseIsSaidToBePossible) {
  fake::FakeVerbs host;
  host.memlock = {64 << 10, MemlockLimit::kUnlimited};
  EXPECT_THAT(explain_no_memory(host, 4096), HasSubstr("may be too low"));
  EXPECT_THAT(explain_no_memory(host, 0), HasSubstr("not known"));
  EXPECT_THAT(explain_no_memory(host, 0), HasSubstr("hard limit unlimited"));
}

TEST(Memlock, BytesAreReadable) {
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(64 << 10), "64 KiB");
  EXPECT_EQ(bytes_text(3 << 19), "1.5 MiB");
}

}  // namespace
}  // namespace verbena
