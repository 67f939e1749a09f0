// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/addresses.hpp"

#include <algorithm>
#include <cstring>

namespace verbena::emulator::cm {

namespace {

template <class Address>
Address as(const sockaddr_storage& address) noexcept {
  Address of;
  std::memcpy(&of, &address, sizeof of);
  return of;
}

constexpr std::uint32_t kLoopbackNet = 127;

}  // namespace

std::size_t size_of(const sockaddr* address) noexcept {
  if (address == nullptr) return 0;
  switch (address->sa_family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    default:
      return 0;
  }
}

engine::wire::Gid ip_of(const sockaddr_storage& address) noexcept {
  engine::wire::Gid ip = engine::wire::mapped(0, 0, 0, 0);
  if (address.ss_family == AF_INET) {
    const auto v4 = as<sockaddr_in>(address);
    std::memcpy(ip.data() + 12, &v4.sin_addr, sizeof v4.sin_addr);
  } else {
    const auto v6 = as<sockaddr_in6>(address);
    std::memcpy(ip.data(), &v6.sin6_addr, ip.size());
  }
  return ip;
}

std::uint16_t port_of(const sockaddr_storage& address) noexcept {
  return ntohs(address.ss_family == AF_INET ? as<sockaddr_in>(address).sin_port : as<sockaddr_in6>(address).sin6_port);
}

void set_port(sockaddr_storage& address, std::uint16_t port) noexcept {
  if (address.ss_family == AF_INET) {
    auto v4 = as<sockaddr_in>(address);
    v4.sin_port = htons(port);
    std::memcpy(&address, &v4, sizeof v4);
  } else {
    auto v6 = as<sockaddr_in6>(address);
    v6.sin6_port = htons(port);
    std::memcpy(&address, &v6, sizeof v6);
  }
}

std::uint32_t scope_of(const sockaddr_storage& address) noexcept {
  return address.ss_family == AF_INET6 ? as<sockaddr_in6>(address).sin6_scope_id : 0;
}

sockaddr_storage copied(const sockaddr* address) noexcept {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, size_of(address));
  return storage;
}

sockaddr_storage socket_address(const engine::wire::Gid& ip, std::uint16_t port, std::uint32_t scope) noexcept {
  sockaddr_storage storage{};
  if (engine::wire::is_mapped(ip)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, ip.data() + 12, sizeof v4.sin_addr);
    std::memcpy(&storage, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    std::memcpy(&v6.sin6_addr, ip.data(), ip.size());
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) v6.sin6_scope_id = scope;
    std::memcpy(&storage, &v6, sizeof v6);
  }
  set_port(storage, port);
  return storage;
}

bool is_zero(const sockaddr_storage& address) noexcept {
  const engine::wire::Gid ip = ip_of(address);
  return std::all_of(ip.begin() + 12, ip.end(), [](std::byte byte) { return byte == std::byte{}; }) &&
         (address.ss_family == AF_INET || ip == engine::wire::Gid{});
}

bool is_loopback(const sockaddr_storage& address) noexcept {
  if (address.ss_family == AF_INET) return ntohl(as<sockaddr_in>(address).sin_addr.s_addr) >> 24 == kLoopbackNet;
  const auto v6 = as<sockaddr_in6>(address);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool is_link_local(const sockaddr_storage& address) noexcept {
  if (address.ss_family != AF_INET6) return false;
  const auto v6 = as<sockaddr_in6>(address);
  return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

bool same_ip(const sockaddr_storage& one, const sockaddr_storage& other) noexcept {
  return one.ss_family == other.ss_family && ip_of(one) == ip_of(other);
}

}  // namespace verbena::emulator::cm
