// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace verbena::engine::fabric::shared_file {

namespace {

// Locks may lie on bytes that the file hasn't, so these are no bytes of anything.
constexpr off_t kSlotBytes = off_t{1} << 50;
constexpr off_t kGateByte = kSlotBytes - 1;

struct flock lock_of(short type, off_t byte) noexcept {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool set(int file, short type, off_t byte) noexcept {
  struct flock lock = lock_of(type, byte);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

std::optional<std::string> path(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const auto allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '.' || letter == '_' || letter == '-';
  };
  if (name.empty() || name.size() > kLongest || name[0] == '.' || !std::all_of(name.begin(), name.end(), allowed))
    return std::nullopt;
  return "/dev/shm/verbena-fabric-" + name;
}

tl::expected<int, int> open(const std::string& path, mode_t mode) noexcept {
  constexpr int kTries = 100;
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int file = -1;
  for (int attempt = 0; attempt < kTries && file < 0; ++attempt) {
    file = ::open(path.c_str(), kFlags);
    if (file >= 0) break;
    if (errno != ENOENT) return tl::unexpected(errno);
    file = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, mode);
    if (file >= 0) {
      ::fchmod(file, mode);  // whatever the umask
    } else if (errno != EEXIST) {
      return tl::unexpected(errno);
    }
  }
  if (file < 0) return tl::unexpected(EAGAIN);
  struct stat found{};
  const bool private_one = (mode & (S_IRWXG | S_IRWXO)) == 0;
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || (private_one && found.st_uid != ::geteuid())) {
    ::close(file);
    return tl::unexpected(EACCES);
  }
  return file;
}

bool still_there(const std::string& path, int file) noexcept {
  struct stat named{};
  struct stat opened{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(file, &opened) == 0 && named.st_ino == opened.st_ino &&
         named.st_dev == opened.st_dev;
}

bool grow(int file, std::uint64_t bytes) noexcept {
  struct stat found{};
  if (::fstat(file, &found) != 0) return false;
  if (static_cast<std::uint64_t>(found.st_size) >= bytes) return true;
  // Past the limit the kernel would send SIGXFSZ.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
    errno = EFBIG;
    return false;
  }
  return ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

bool give(int file, std::uint64_t at, std::uint64_t bytes) noexcept {
  return ::fallocate(file, 0, static_cast<off_t>(at), static_cast<off_t>(bytes)) == 0;
}

void take(int file, std::uint64_t at, std::uint64_t bytes) noexcept {
  ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(bytes));
}

bool gate(int file) noexcept {
  constexpr int kTries = 5000;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (set(file, F_WRLCK, kGateByte)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

void ungate(int file) noexcept {
  set(file, F_UNLCK, kGateByte);
}

bool hold(int file, std::uint32_t slot) noexcept {
  return set(file, F_WRLCK, kSlotBytes + slot);
}

void let_go(int file, std::uint32_t slot) noexcept {
  set(file, F_UNLCK, kSlotBytes + slot);
}

bool held(int file, std::uint32_t slot) noexcept {
  struct flock lock = lock_of(F_WRLCK, kSlotBytes + slot);
  return ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace verbena::engine::fabric::shared_file
