// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/dmabuf.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

namespace verbena::emulator {

namespace {

/// By its name in /proc: one of the kernel's, or of EmulatedHost::make_dmabuf().
bool is_buffer(int descriptor) noexcept {
  std::array<char, 64> path{};
  std::array<char, 64> name{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(path.data(), name.data(), name.size());
  if (length <= 0) return false;
  const std::string_view text(name.data(), static_cast<std::size_t>(length));
  return text.starts_with("/dmabuf:") || text.starts_with("/memfd:verbena-dmabuf");
}

}  // namespace

int map_buffer(int descriptor, std::uint64_t offset, std::size_t bytes, bool written, MappedBuffer& buffer) noexcept {
  if (fcntl(descriptor, F_GETFD) < 0) return EBADF;
  if (bytes == 0 || offset + bytes < offset || !is_buffer(descriptor)) return EINVAL;
  const off_t end = lseek(descriptor, 0, SEEK_END);
  if (end < 0 || static_cast<std::uint64_t>(end) < offset + bytes) return EINVAL;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t before = offset % page;
  const std::size_t mapped = bytes + before;
  void* const mapping = mmap(nullptr, mapped, written ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, descriptor,
                             static_cast<off_t>(offset - before));
  if (mapping == MAP_FAILED) return errno;
  buffer = {mapping, mapped, static_cast<std::byte*>(mapping) + before};
  return 0;
}

void unmap_buffer(MappedBuffer& buffer) noexcept {
  if (buffer.mapping != nullptr) munmap(buffer.mapping, buffer.mapped);
  buffer = {};
}

}  // namespace verbena::emulator
