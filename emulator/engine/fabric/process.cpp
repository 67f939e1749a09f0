// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace verbena::engine::fabric {

namespace {

struct Stat {
  char state = 0;
  std::uint64_t started = 0;
};

/// False where it can't be read.
bool read_stat(pid_t number, Stat& stat) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(number));
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 1024> text{};
  const ssize_t bytes = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (bytes <= 0) return false;
  // The name in parentheses may hold anything; what follows the last one is numbers, from the third field on.
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || at[1] == 0) return false;
  stat.state = at[2];
  constexpr int kState = 3;
  constexpr int kStarted = 22;
  for (int field = kState - 1; field < kStarted; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at == nullptr) return false;
  }
  stat.started = std::strtoull(at + 1, nullptr, 10);
  return true;
}

std::uint64_t own_namespace() noexcept {
  struct stat found{};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace

ProcessIdentity ProcessIdentity::own() noexcept {
  ProcessIdentity own{.number = ::getpid(), .started = 0, .name_space = own_namespace()};
  if (Stat stat; read_stat(own.number, stat)) own.started = stat.started;
  return own;
}

bool has_ended(const ProcessIdentity& process) noexcept {
  if (process.number <= 0 || process.name_space == 0 || process.name_space != own_namespace()) return false;
  if (::kill(process.number, 0) != 0 && errno == ESRCH) return true;
  Stat stat;
  if (process.started == 0 || !read_stat(process.number, stat)) return false;
  return stat.started != process.started || stat.state == 'Z' || stat.state == 'X';
}

}  // namespace verbena::engine::fabric
