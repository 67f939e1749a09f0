// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/fabric/address_book.hpp"
#include "engine/fabric/descriptor.hpp"
#include "engine/wire/bytes.hpp"

namespace verbena::engine::fabric {

namespace {

std::uint32_t mtu_of(const char* name) noexcept {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  if (!socket || ::ioctl(socket.number(), SIOCGIFMTU, &request) != 0) return 0;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

bool has(const ifaddrs& entry, const wire::Gid& gid) noexcept {
  SocketAddress address;
  if (entry.ifa_addr == nullptr) return false;
  if (entry.ifa_addr->sa_family == AF_INET) {
    std::memcpy(&address.v4, entry.ifa_addr, sizeof address.v4);
  } else if (entry.ifa_addr->sa_family == AF_INET6) {
    std::memcpy(&address.v6, entry.ifa_addr, sizeof address.v6);
  } else {
    return false;
  }
  const wire::Gid found = address.gid();
  // All of 127/8 is the host's, though the list has one of it.
  const auto loopback = [](const wire::Gid& one) { return wire::is_mapped(one) && one[12] == std::byte{127}; };
  return wire::same(found, gid) || (loopback(found) && loopback(gid));
}

}  // namespace

SocketAddress::SocketAddress(const wire::Gid& gid, std::uint16_t port, unsigned scope,
                             std::uint32_t flow_label) noexcept
    : v6{} {
  if (wire::is_mapped(gid)) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, gid.data() + 12, sizeof v4.sin_addr);
    bytes = sizeof v4;
  } else {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_flowinfo = htonl(flow_label);
    v6.sin6_scope_id = link_local(gid) ? scope : 0;
    std::memcpy(&v6.sin6_addr, gid.data(), gid.size());
    bytes = sizeof v6;
  }
}

wire::Gid SocketAddress::gid() const noexcept {
  wire::Gid gid = wire::mapped(0, 0, 0, 0);
  if (any.sa_family == AF_INET) {
    std::memcpy(gid.data() + 12, &v4.sin_addr, sizeof v4.sin_addr);
  } else {
    std::memcpy(gid.data(), &v6.sin6_addr, gid.size());
  }
  return gid;
}

std::uint16_t SocketAddress::port() const noexcept {
  return ntohs(any.sa_family == AF_INET ? v4.sin_port : v6.sin6_port);
}

bool link_local(const wire::Gid& gid) noexcept {
  const bool unicast = gid[0] == std::byte{0xfe} && (gid[1] & std::byte{0xc0}) == std::byte{0x80};
  const bool group = gid[0] == std::byte{0xff} && (gid[1] & std::byte{0x0f}) == std::byte{0x02};
  return unicast || group;
}

std::string text(const wire::Gid& gid) {
  char written[INET6_ADDRSTRLEN] = "?";
  const bool mapped = wire::is_mapped(gid);
  ::inet_ntop(mapped ? AF_INET : AF_INET6, gid.data() + (mapped ? 12 : 0), written, sizeof written);
  return written;
}

std::optional<Interface> interface_of(const wire::Gid& gid) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (has(*entry, gid)) return Interface{entry->ifa_name, ::if_nametoindex(entry->ifa_name), mtu_of(entry->ifa_name)};
  }
  return std::nullopt;
}

}  // namespace verbena::engine::fabric
