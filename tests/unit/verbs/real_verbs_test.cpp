// SPDX-License-Identifier: Apache-2.0 OR MIT
// The host's own table, as far as it can be tried on a host without any RDMA device.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "verbena/verbs.hpp"

namespace verbena {
namespace {

TEST(RealVerbs, ReadsAFileWithoutItsLastNewline) {
  const auto verbs = real_verbs();
  std::string text;
  ASSERT_EQ(verbs->read_file("/proc/sys/kernel/ostype", text), 0);
  EXPECT_EQ(text, "Linux");
}

TEST(RealVerbs, AMissingFileIsAnErrno) {
  const auto verbs = real_verbs();
  std::string text = "old";
  EXPECT_EQ(verbs->read_file("/proc/verbena-does-not-exist", text), ENOENT);
  EXPECT_EQ(text, "");
  std::vector<std::string> names;
  EXPECT_EQ(verbs->list_directory("/proc/verbena-does-not-exist", names), ENOENT);
  EXPECT_EQ(verbs->access("/proc/verbena-does-not-exist", F_OK), ENOENT);
  EXPECT_FALSE(verbs->entry_stamp("/proc/verbena-does-not-exist"));
}

TEST(RealVerbs, ADirectoryIsListedSorted) {
  const auto verbs = real_verbs();
  std::vector<std::string> names;
  ASSERT_EQ(verbs->list_directory("/proc/self", names), 0);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(std::find(names.begin(), names.end(), "status") != names.end());
  EXPECT_TRUE(std::find(names.begin(), names.end(), ".") == names.end());
}

TEST(RealVerbs, TheHostTellsItself) {
  const auto verbs = real_verbs();
  EXPECT_EQ(verbs->page_size(), static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(verbs->host_name().release.empty());
  EXPECT_FALSE(verbs->host_name().machine.empty());
  EXPECT_NE(verbs->libibverbs_path().find("libibverbs.so.1"), std::string::npos);
  const MemlockLimit limit = verbs->memlock_limit();
  EXPECT_LE(limit.soft, limit.hard);
}

TEST(RealVerbs, NoDeviceListIsNoCrash) {
  const auto verbs = real_verbs();
  int count = -1;
  const auto list = verbs->get_device_list(count);
  if (list) {
    EXPECT_GE(count, 0);
    verbs->free_device_list(list.handle);
  } else {
    EXPECT_NE(list.error, 0);
  }
}

TEST(RealVerbs, AVendorLibraryThatIsNotThereGivesNoFunction) {
  const auto verbs = real_verbs();
  EXPECT_EQ(verbs->vendor_function("libverbena-no-such-vendor.so.9", "anything"), nullptr);
  EXPECT_EQ(verbs->vendor_function("libverbena-no-such-vendor.so.9", "anything"), nullptr);
}

// A second copy of a provider would register itself with libibverbs beside the first.
TEST(RealVerbs, AVendorLibraryIsNotLoadedForBeingAskedFor) {
  const char* const provider = "libmlx4.so.1";
  if (::dlopen(provider, RTLD_NOW | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << provider << " is loaded already";
  EXPECT_EQ(real_verbs()->vendor_function(provider, "mlx4dv_init_obj"), nullptr);
  EXPECT_EQ(::dlopen(provider, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(RealVerbs, AVendorLibraryThatIsLoadedGivesItsFunctions) {
  const auto verbs = real_verbs();
  EXPECT_EQ(verbs->vendor_function("libibverbs.so.1", "ibv_get_device_list"),
            ::dlsym(RTLD_DEFAULT, "ibv_get_device_list"));
  EXPECT_EQ(verbs->vendor_function("libibverbs.so.1", "ibv_no_such_function"), nullptr);
}

TEST(RealVerbs, WaitingOnADescriptorEndsAtItsTimeout) {
  const auto verbs = real_verbs();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto before = verbs->monotonic_ns();
  EXPECT_EQ(verbs->wait_readable(ends[0], 20), ETIMEDOUT);
  EXPECT_GE(verbs->monotonic_ns() - before, 19'000'000U);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  EXPECT_EQ(verbs->wait_readable(ends[0], 0), 0);
  ASSERT_EQ(verbs->set_nonblocking(ends[0], true), 0);
  char two[2];
  EXPECT_EQ(::read(ends[0], two, 2), 1);
  EXPECT_EQ(::read(ends[0], two, 2), -1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(RealVerbs, NetlinkAnswersOrSaysWhyNot) {
  const auto verbs = real_verbs();
  std::vector<NetlinkDevice> devices;
  const int error = verbs->netlink_devices(devices);
  EXPECT_TRUE(error == 0 || devices.empty());
  NetlinkChardev chardev;
  EXPECT_NE(verbs->netlink_uverbs(0xfffffff0, chardev), 0);
  EXPECT_FALSE(chardev.driver_id);
}

}  // namespace
}  // namespace verbena
