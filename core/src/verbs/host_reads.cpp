// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

#include "verbs/real_verbs.hpp"

namespace verbena {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20;

}  // namespace

// Vendor libraries stay loaded: libibverbs holds them anyway, as providers.
RealVerbs::~RealVerbs() = default;

int RealVerbs::read_file(const std::string& path, std::string& text) {
  text.clear();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  std::array<char, 2048> piece;
  int error = 0;
  while (text.size() < kLargestFile) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return error;
}

int RealVerbs::read_link(const std::string& path, std::string& target) {
  std::array<char, 1024> buffer;
  const ssize_t length = ::readlink(path.c_str(), buffer.data(), buffer.size());
  if (length < 0) return errno;
  target.assign(buffer.data(), static_cast<std::size_t>(length));
  return 0;
}

int RealVerbs::real_path(const std::string& path, std::string& resolved) {
  char* const name = ::realpath(path.c_str(), nullptr);
  if (name == nullptr) return errno;
  resolved = name;
  std::free(name);
  return 0;
}

int RealVerbs::list_directory(const std::string& path, std::vector<std::string>& names) {
  names.clear();
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return errno;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
    errno = 0;
  }
  const int error = errno;
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return error;
}

int RealVerbs::access(const std::string& path, int mode) {
  return ::access(path.c_str(), mode) == 0 ? 0 : errno;
}

// kernfs numbers its nodes in the order they are made and does not take a number again before all are used up, so a
// device that is registered anew under the same name shows another inode (K612 fs/kernfs/dir.c __kernfs_new_node).
// Times tell nothing: they change when the inode is dropped from memory.
std::optional<std::uint64_t> RealVerbs::entry_stamp(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_ino);
}

std::uint32_t RealVerbs::page_size() {
  return static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
}

HostName RealVerbs::host_name() {
  utsname name{};
  if (::uname(&name) != 0) return {};
  return {name.release, name.machine};
}

MemlockLimit RealVerbs::memlock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {};
  const auto bytes = [](rlim_t value) { return value == RLIM_INFINITY ? MemlockLimit::kUnlimited : value; };
  return {bytes(limit.rlim_cur), bytes(limit.rlim_max)};
}

bool RealVerbs::may_lock_memory() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data[CAP_IPC_LOCK / 32].effective & (1U << (CAP_IPC_LOCK % 32))) != 0;
}

std::string RealVerbs::interface_name(std::uint32_t interface_index) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(interface_index, name.data()) != nullptr ? std::string(name.data()) : std::string();
}

int RealVerbs::interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) {
  addresses.clear();
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return errno;
  std::vector<IpAddress> of_link;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || interface != entry->ifa_name) continue;
    IpAddress address{};
    if (entry->ifa_addr->sa_family == AF_INET) {
      sockaddr_in in{};
      std::memcpy(&in, entry->ifa_addr, sizeof in);
      address[10] = address[11] = 0xff;
      std::memcpy(&address[12], &in.sin_addr, 4);
      addresses.push_back(address);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 in6{};
      std::memcpy(&in6, entry->ifa_addr, sizeof in6);
      std::memcpy(address.data(), &in6.sin6_addr, address.size());
      (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) ? of_link : addresses).push_back(address);
    }
  }
  ::freeifaddrs(list);
  addresses.insert(addresses.end(), of_link.begin(), of_link.end());
  return 0;
}

std::string RealVerbs::library_of(const void* code) {
  Dl_info info{};
  if (code == nullptr || ::dladdr(code, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string path;
  return real_path(info.dli_fname, path) == 0 ? path : std::string(info.dli_fname);
}

std::string RealVerbs::libibverbs_path() {
  // The address in this library's own table may be a stub of its; the loader knows where the function really is.
  return library_of(::dlsym(RTLD_DEFAULT, "ibv_open_device"));
}

int RealVerbs::wait_readable(int descriptor, int timeout_ms) {
  pollfd waiting{descriptor, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, timeout_ms);
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  return (waiting.revents & POLLNVAL) != 0 ? EBADF : 0;
}

int RealVerbs::set_nonblocking(int descriptor, bool nonblocking) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) return errno;
  const int wanted = nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
  return ::fcntl(descriptor, F_SETFL, wanted) == 0 ? 0 : errno;
}

std::uint64_t RealVerbs::monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint32_t RealVerbs::random32() {
  std::uint32_t value = 0;
  if (::getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value)) return value;
  return static_cast<std::uint32_t>(monotonic_ns());
}

void* RealVerbs::vendor_function(const char* library, const char* function) {
  return vendor_libraries_.function(library, function);
}

}  // namespace verbena
