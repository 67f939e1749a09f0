// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/ports.hpp"

#include <cerrno>

#include "cm/addresses.hpp"

namespace verbena::emulator::cm {

namespace {

// The host's usual range (linux Documentation/networking/ip-sysctl.rst ip_local_port_range).
constexpr std::uint16_t kFirst = 32768;
constexpr std::uint16_t kLast = 60999;

const sockaddr_storage& source_of(const Identifier& id) noexcept {
  return id.base.route.addr.src_storage;
}

}  // namespace

int Ports::judge(const Identifier& id, std::span<Identifier* const> owners, bool reuses_address) noexcept {
  for (const Identifier* const other : owners) {
    if (other == &id) continue;
    if (other->stage != Stage::listen && reuses_address && other->reuses_address) continue;
    if (id.one_family && other->one_family && source_of(id).ss_family != source_of(*other).ss_family) continue;
    if (is_any(source_of(id)) || is_any(source_of(*other))) return EADDRNOTAVAIL;
    if (same_ip(source_of(id), source_of(*other))) return EADDRINUSE;
  }
  return 0;
}

int Ports::take(Identifier& id) {
  std::uint16_t port = port_of(source_of(id));
  if (port == 0) {
    const std::uint32_t count = kLast - kFirst + 1U;
    std::uint32_t at = static_cast<std::uint32_t>(random_()) % count;
    for (std::uint32_t tried = 0; tried < count && port == 0; ++tried, at = (at + 1) % count) {
      const auto candidate = static_cast<std::uint16_t>(kFirst + at);
      if (owners(id.base.ps, candidate).empty()) port = candidate;
    }
    if (port == 0) return EADDRNOTAVAIL;
  } else if (const int error = judge(id, owners(id.base.ps, port), id.reuses_address); error != 0) {
    return error;
  }
  set_port(id.source(), port);
  owners_[{id.base.ps, port}].push_back(&id);
  id.port = port;
  return 0;
}

void Ports::give(Identifier& id) noexcept {
  if (id.port == 0) return;
  const auto found = owners_.find({id.base.ps, id.port});
  std::erase(found->second, &id);
  if (found->second.empty()) owners_.erase(found);
  id.port = 0;
}

int Ports::may_listen(const Identifier& id) const {
  return id.reuses_address ? judge(id, owners(id.base.ps, id.port), false) : 0;
}

std::span<Identifier* const> Ports::owners(int port_space, std::uint16_t port) const noexcept {
  const auto found = owners_.find({port_space, port});
  if (found == owners_.end()) return {};
  return found->second;
}

}  // namespace verbena::emulator::cm
