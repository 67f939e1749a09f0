// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report/file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace conform {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WriteFile : public testing::Test {
protected:
  WriteFile() { fs::create_directories(folder_); }
  ~WriteFile() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  const fs::path folder_ = fs::path(testing::TempDir()) / ("verbena_write_file_" + std::to_string(getpid()));
  const std::string file_ = folder_ / "report.html";
};

TEST_F(WriteFile, HoldsTheTextAndLeavesNothingElse) {
  ASSERT_TRUE(write_file(file_, "first"));
  ASSERT_TRUE(write_file(file_, "second"));
  EXPECT_EQ(*read_file(file_), "second");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFile, IsAsReadableAsAnyNewFile) {
  const mode_t before = umask(022);
  ASSERT_TRUE(write_file(file_, "text"));
  umask(before);
  struct stat there{};
  ASSERT_EQ(stat(file_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777U, 0644U);
}

TEST_F(WriteFile, ADirectoryThatIsNotThereIsAnErrorWithTheName) {
  const std::string file = folder_ / "none" / "report.html";
  const verbena::Result<void> wrote = write_file(file, "text");
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().kind, verbena::ErrorKind::io);
  EXPECT_EQ(wrote.error().errno_value, ENOENT);
  EXPECT_THAT(wrote.error().text, HasSubstr(file));
  EXPECT_EQ(write_file(folder_, "text").error().errno_value, EISDIR);
}

TEST_F(WriteFile, ADiskThatFillsKeepsWhatWasThere) {
  ASSERT_TRUE(write_file(file_, "what was there"));
  // A limit on the size of files refuses the write as a full disk does: half-way.
  struct rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 10'000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const verbena::Result<void> wrote = write_file(file_, std::string(100'000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().errno_value, EFBIG);
  EXPECT_EQ(*read_file(file_), "what was there");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WriteFile, ADeviceIsWrittenTo) {
  EXPECT_TRUE(write_file("/dev/null", "text"));
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_EQ(write_file("/dev/full", "text").error().errno_value, ENOSPC);
}

TEST_F(WriteFile, WhatIsNoRegularFileIsNotReadInsteadOfWaitedFor) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  for (const std::string& file : {file_, std::string("/dev/zero")}) {
    const auto text = read_file(file);
    ASSERT_FALSE(text) << file;
    EXPECT_EQ(text.error().text, file + " cannot be read: it is no regular file");
  }
  EXPECT_EQ(read_file("/").error().errno_value, EISDIR);
}

}  // namespace
}  // namespace conform
