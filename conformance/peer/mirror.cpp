// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/mirror.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace conform::peer {

namespace {

constexpr std::size_t kAtOnce = 256;

/// Copies memory of this process that may not be there: how many bytes could be read.
std::size_t read_own(std::uint64_t address, std::uint8_t* into, std::size_t length) {
  const iovec local{into, length};
  const iovec remote{reinterpret_cast<void*>(address), length};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

}  // namespace

bool Mirror::hold(std::uint64_t address, std::size_t length) {
  if (length == 0 || address + length < address) return false;
  std::vector<std::uint8_t> scratch(kAtOnce * kGrain);
  const std::uint64_t end = floor_of(address + length + kGrain - 1);
  for (std::uint64_t at = floor_of(address); at < end; at += scratch.size()) {
    const std::size_t here = std::min<std::size_t>(scratch.size(), end - at);
    if (read_own(at, scratch.data(), here) != here) return false;
  }
  for (std::uint64_t at = floor_of(address); at < end; at += kGrain) ++pieces_[at].users;
  return true;
}

void Mirror::drop(std::uint64_t address, std::size_t length) {
  for (std::uint64_t at = floor_of(address); at < address + length; at += kGrain) {
    const auto found = pieces_.find(at);
    if (found != pieces_.end() && --found->second.users == 0) pieces_.erase(found);
  }
}

bool Mirror::changes(Packet& out) {
  const std::size_t before = out.bytes().size();
  {
    Changes changes(out);
    std::vector<std::uint8_t> now(kAtOnce * kGrain);
    for (auto first = pieces_.begin(); first != pieces_.end();) {
      // Neighbours are read in one call. What can't be read any more is left as it was.
      std::size_t count = 1;
      auto next = std::next(first);
      while (next != pieces_.end() && count < kAtOnce && next->first == first->first + count * kGrain) {
        ++next;
        ++count;
      }
      const std::size_t got = read_own(first->first, now.data(), count * kGrain);
      std::size_t at = 0;
      for (auto piece = first; piece != next; ++piece, at += kGrain) {
        if (at + kGrain <= got) changes.add(piece->first, now.data() + at, piece->second.last.data(), kGrain);
      }
      first = next;
    }
  }
  return out.bytes().size() > before + sizeof(std::uint32_t);
}

bool Mirror::apply(Packet& in) {
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t run = 0; run < count && in.good(); ++run) {
    auto address = in.get<std::uint64_t>();
    std::size_t left = in.get<std::uint32_t>();
    const std::uint8_t* bytes = in.take(left);
    if (bytes == nullptr) return false;
    while (left > 0) {
      const std::uint64_t base = floor_of(address);
      const std::size_t here = std::min<std::size_t>(left, base + kGrain - address);
      // Addresses that are not held are nobody's to write.
      if (const auto found = pieces_.find(base); found != pieces_.end()) {
        std::memcpy(found->second.last.data() + (address - base), bytes, here);
        const iovec local{const_cast<std::uint8_t*>(bytes), here};
        const iovec remote{reinterpret_cast<void*>(address), here};
        static_cast<void>(process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
      }
      address += here;
      bytes += here;
      left -= here;
    }
  }
  return in.good();
}

}  // namespace conform::peer
