// SPDX-License-Identifier: Apache-2.0 OR MIT
// Socket addresses of IPv4 and IPv6 as rdma_cm takes them.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>

#include "engine/wire/ip.hpp"

namespace verbena::emulator::cm {

/// Bytes of an address of its family; 0 where that is neither IPv4 nor IPv6, or there is none (null).
std::size_t size_of(const sockaddr* address) noexcept;
/// The address's bytes, mapped in IPv4.
engine::wire::Gid ip_of(const sockaddr_storage& address) noexcept;
std::uint16_t port_of(const sockaddr_storage& address) noexcept;  ///< host byte order
void set_port(sockaddr_storage& address, std::uint16_t port) noexcept;
/// The index of the interface that it is local to, of an IPv6 one; 0 where it names none.
std::uint32_t scope_of(const sockaddr_storage& address) noexcept;

sockaddr_storage copied(const sockaddr* address) noexcept;
/// An IPv4 one where the address is mapped. `scope` is that of one of link scope alone.
sockaddr_storage socket_address(const engine::wire::Gid& ip, std::uint16_t port, std::uint32_t scope = 0) noexcept;

bool is_zero(const sockaddr_storage& address) noexcept;      ///< 0.0.0.0, ::
bool is_loopback(const sockaddr_storage& address) noexcept;  ///< 127.0.0.0/8, ::1
bool is_link_local(const sockaddr_storage& address) noexcept;
/// None, or the host's own: whichever NIC there is. Source: linux drivers/infiniband/core/cma.c cma_any_addr.
inline bool is_any(const sockaddr_storage& address) noexcept {
  return is_zero(address) || is_loopback(address);
}
bool same_ip(const sockaddr_storage& one, const sockaddr_storage& other) noexcept;

}  // namespace verbena::emulator::cm
