// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace conform {
namespace {

verbena::Failure io_failure(const std::string& file, const char* what, int error) {
  verbena::Error out{.kind = verbena::ErrorKind::io};
  out.errno_value = error;
  out.text = fmt::format("{} {}: {}", file, what, std::strerror(error));
  return verbena::Failure(std::move(out));
}

/// Closes at the end of its scope.
struct Descriptor {
  int fd;
  explicit Descriptor(int opened) : fd{opened} {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

/// 0, or the errno of what failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

}  // namespace

verbena::Result<std::string> read_file(const std::string& file) {
  // A FIFO would be waited for, and a device never ends: neither is opened to wait, nor read.
  const Descriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.fd < 0) return io_failure(file, "cannot be opened", errno);
  struct stat status{};
  if (fstat(in.fd, &status) != 0) return io_failure(file, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) return io_failure(file, "cannot be read", EISDIR);
  if (!S_ISREG(status.st_mode)) {
    verbena::Error error{.kind = verbena::ErrorKind::io};
    error.text = fmt::format("{} cannot be read: it is no regular file", file);
    return verbena::Failure(std::move(error));
  }
  std::string text;
  char piece[65536];
  for (;;) {
    const ssize_t got = read(in.fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_failure(file, "cannot be read", errno);
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

verbena::Result<void> write_file(const std::string& file, std::string_view text) {
  // A device or a pipe (/dev/stdout) is written to as it is: there is nothing to keep, and nothing to rename.
  struct stat there{};
  if (stat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    if (S_ISDIR(there.st_mode)) return io_failure(file, "cannot be written", EISDIR);
    const Descriptor out(open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.fd < 0) return io_failure(file, "cannot be written", errno);
    if (const int error = write_all(out.fd, text)) return io_failure(file, "cannot be written", error);
    return {};
  }
  std::string temporary = file + ".XXXXXX";
  const Descriptor out(mkostemp(temporary.data(), O_CLOEXEC));
  if (out.fd < 0) return io_failure(file, "cannot be written", errno);
  // mkostemp leaves it to its owner alone; a report is as readable as any other new file.
  const mode_t mask = umask(0);
  umask(mask);
  int error = fchmod(out.fd, 0666 & ~mask) == 0 ? write_all(out.fd, text) : errno;
  if (error == 0 && rename(temporary.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(temporary.c_str());
  return io_failure(file, "cannot be written", error);
}

}  // namespace conform
