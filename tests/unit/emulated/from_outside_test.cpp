// SPDX-License-Identifier: Apache-2.0 OR MIT
// What an operator does to a NIC: its link, the addresses and MTU of its interface, the memory that may be locked.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "unit/shipped_nics.hpp"
#include "verbena/emulated.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {
namespace {

constexpr IpAddress kAddress = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7};

struct Operated {
  explicit Operated(const std::string& model) {
    EmulatedOptions options;
    options.models.push_back(shipped::model(model));
    verbs = emulated_verbs(std::move(options));
    host = emulated_host(*verbs);
    int count = 0;
    const auto list = verbs->get_device_list(count);
    for (ibv_context** each : {&context, &other}) {
      *each = verbs->open_device(list.handle[0]).handle;
      verbs->set_nonblocking((*each)->async_fd, true);
    }
    verbs->free_device_list(list.handle);
  }
  ~Operated() {
    verbs->close_device(other);
    verbs->close_device(context);
  }
  Operated(const Operated&) = delete;
  Operated& operator=(const Operated&) = delete;

  ibv_port_attr port() {
    ibv_port_attr attr{};
    EXPECT_EQ(verbs->query_port(context, 1, attr), 0);
    return attr;
  }
  std::vector<ibv_gid_entry> gids() {
    std::vector<ibv_gid_entry> entries(64);
    const std::int64_t count = verbs->query_gid_table(context, entries.data(), entries.size());
    entries.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    return entries;
  }
  /// The next event of a context, which is of port 1; -1 where there is none.
  int event(ibv_context* of) {
    ibv_async_event event{};
    if (verbs->wait_readable(of->async_fd, 0) != 0) return -1;
    if (verbs->get_async_event(of, event) != 0) return -1;
    EXPECT_EQ(event.element.port_num, 1);
    verbs->ack_async_event(event);
    return event.event_type;
  }

  std::shared_ptr<Verbs> verbs;
  EmulatedHost* host = nullptr;
  ibv_context* context = nullptr;
  ibv_context* other = nullptr;
};

TEST(FromOutside, OnlyEmulatedNicsHaveAnOutside) {
  EXPECT_EQ(emulated_host(*real_verbs()), nullptr);
}

TEST(FromOutside, ALinkThatGoesDownIsToldToEachContextOnce) {
  Operated nic("strict");
  ASSERT_NE(nic.host, nullptr);
  EXPECT_EQ(nic.port().state, IBV_PORT_ACTIVE);
  EXPECT_EQ(nic.host->set_link(nic.context, 1, false), 0);
  EXPECT_EQ(nic.host->set_link(nic.context, 1, false), 0);
  EXPECT_EQ(nic.port().state, IBV_PORT_DOWN);
  EXPECT_EQ(nic.host->set_link(nic.context, 1, true), 0);
  EXPECT_EQ(nic.port().state, IBV_PORT_ACTIVE);
  for (ibv_context* const each : {nic.context, nic.other}) {
    EXPECT_EQ(nic.event(each), IBV_EVENT_PORT_ERR);
    EXPECT_EQ(nic.event(each), IBV_EVENT_PORT_ACTIVE);
    EXPECT_EQ(nic.event(each), -1);
  }
  EXPECT_EQ(nic.host->set_link(nic.context, 9, false), EINVAL);
}

TEST(FromOutside, AnAddressOfRoceIsInTheGidTableWhileItIsThere) {
  Operated nic("strict");
  const auto before = nic.gids();
  EXPECT_EQ(nic.host->add_address(nic.context, 1, kAddress), 0);
  EXPECT_EQ(nic.host->add_address(nic.context, 1, kAddress), EEXIST);
  EXPECT_EQ(nic.event(nic.other), IBV_EVENT_GID_CHANGE);
  const auto with = nic.gids();
  ASSERT_GT(with.size(), before.size());
  EXPECT_TRUE(std::is_sorted(with.begin(), with.end(), [](const ibv_gid_entry& one, const ibv_gid_entry& next) {
    return one.gid_index < next.gid_index;
  }));
  EXPECT_EQ(nic.host->remove_address(nic.context, 1, kAddress), 0);
  EXPECT_EQ(nic.host->remove_address(nic.context, 1, kAddress), EADDRNOTAVAIL);
  EXPECT_EQ(nic.event(nic.other), IBV_EVENT_GID_CHANGE);
  EXPECT_EQ(nic.event(nic.other), -1);
  EXPECT_EQ(nic.gids().size(), before.size());
}

TEST(FromOutside, AnAddressOfIwarpIsNoGid) {
  Operated nic("siw-6.12");
  const std::size_t before = nic.gids().size();
  EXPECT_EQ(nic.host->add_address(nic.context, 1, kAddress), 0);
  EXPECT_EQ(nic.gids().size(), before);
  EXPECT_EQ(nic.event(nic.context), -1);
}

TEST(FromOutside, AGidTableIsFullWhereItsLengthIsReached) {
  Operated nic("strict");
  IpAddress next = kAddress;
  int error = 0;
  for (next[14] = 100; error == 0 && next[14] < 200; ++next[14]) error = nic.host->add_address(nic.context, 1, next);
  EXPECT_EQ(error, ENOSPC);
  EXPECT_LE(nic.gids().size(), static_cast<std::size_t>(nic.port().gid_tbl_len));
}

TEST(FromOutside, ThePathMtuFollowsTheInterfaceAndComesBack) {
  Operated nic("strict");
  const ibv_mtu before = nic.port().active_mtu;
  struct Row {
    std::uint32_t interface;
    ibv_mtu must;
  };
  for (const Row& row : {Row{1500, IBV_MTU_1024}, Row{2400, IBV_MTU_2048}, Row{600, IBV_MTU_256}}) {
    EXPECT_EQ(nic.host->set_interface_mtu(nic.context, 1, row.interface), 0);
    EXPECT_EQ(nic.port().active_mtu, row.must) << row.interface;
  }
  EXPECT_EQ(nic.host->set_interface_mtu(nic.context, 1, 60), EINVAL);
  std::string text;
  Operated fresh("strict");
  ASSERT_EQ(fresh.verbs->read_file("/sys/class/net/eth1/mtu", text), 0);
  EXPECT_EQ(nic.host->set_interface_mtu(nic.context, 1, static_cast<std::uint32_t>(std::atoi(text.c_str()))), 0);
  EXPECT_EQ(nic.port().active_mtu, before);
}

TEST(FromOutside, ADmaBufIsRegisteredAndAnotherDescriptorIsNot) {
  Operated nic("connectx5");
  const std::size_t page = nic.verbs->page_size();
  const int buffer = nic.host->make_dmabuf(2 * page);
  ASSERT_GE(buffer, 0);
  const auto pd = nic.verbs->alloc_pd(nic.context);
  const auto mr = nic.verbs->reg_dmabuf_mr(pd.handle, page, page, 0, buffer, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_TRUE(mr);
  EXPECT_EQ(nic.verbs->dereg_mr(mr.handle), 0);
  EXPECT_EQ(nic.verbs->reg_dmabuf_mr(pd.handle, page, 2 * page, 0, buffer, IBV_ACCESS_LOCAL_WRITE).error, EINVAL);
  EXPECT_EQ(nic.verbs->reg_dmabuf_mr(pd.handle, 0, page, 1, buffer, IBV_ACCESS_LOCAL_WRITE).error, EINVAL);
  const int plain = memfd_create("plain", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(plain, static_cast<off_t>(page)), 0);
  EXPECT_EQ(nic.verbs->reg_dmabuf_mr(pd.handle, 0, page, 0, plain, IBV_ACCESS_LOCAL_WRITE).error, EINVAL);
  close(plain);
  close(buffer);
  EXPECT_EQ(nic.verbs->reg_dmabuf_mr(pd.handle, 0, page, 0, buffer, IBV_ACCESS_LOCAL_WRITE).error, EBADF);
  EXPECT_EQ(nic.verbs->dealloc_pd(pd.handle), 0);
}

/// Without CAP_IPC_LOCK, and with so many bytes to lock.
bool limit_memory(std::size_t bytes) {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return false;
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  if (syscall(SYS_capset, &header, data.data()) != 0) return false;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  return setrlimit(RLIMIT_MEMLOCK, &limit) == 0;
}

/// In a process of its own, which gives up what it may: the number of the first step that went otherwise, 0: none.
int locks_as_much_as_it_may(const std::string& model, int error) {
  Operated nic(model);
  const std::size_t page = nic.verbs->page_size();
  if (!limit_memory(4 * page)) return 1;
  if (nic.verbs->may_lock_memory()) return 2;
  void* const memory = mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto pd = nic.verbs->alloc_pd(nic.context);
  if (nic.verbs->reg_mr(pd.handle, memory, 8 * page, IBV_ACCESS_LOCAL_WRITE).error != error) return 3;
  const auto three = nic.verbs->reg_mr(pd.handle, memory, 3 * page, IBV_ACCESS_LOCAL_WRITE);
  if (!three) return 4;
  if (nic.verbs->reg_mr(pd.handle, memory, 2 * page, IBV_ACCESS_LOCAL_WRITE).error != error) return 5;
  const auto last = nic.verbs->reg_mr(pd.handle, memory, page, IBV_ACCESS_LOCAL_WRITE);
  if (!last) return 6;
  if (nic.verbs->dereg_mr(three.handle) != 0) return 7;
  const auto again = nic.verbs->reg_mr(pd.handle, memory, 3 * page, IBV_ACCESS_LOCAL_WRITE);
  return again ? 0 : 8;
}

TEST(FromOutside, NoMoreMemoryIsLockedThanTheProcessMay) {
  struct Row {
    const char* model;
    int error;
  };
  for (const Row& row : {Row{"strict", ENOMEM}, Row{"rxe-6.12", ENOMEM}, Row{"qedr", EFAULT}}) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) _exit(locks_as_much_as_it_may(row.model, row.error));
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << row.model;
  }
}

}  // namespace
}  // namespace verbena::emulator
