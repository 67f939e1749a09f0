// SPDX-License-Identifier: Apache-2.0 OR MIT
// GIDs and the kernel's addresses, and the interface that has one.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "engine/wire/ip.hpp"

namespace verbena::engine::fabric {

/// An address and a port, as the kernel takes them.
struct SocketAddress {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  socklen_t bytes = 0;

  SocketAddress() noexcept : v6{} {}
  /// `scope` is the interface of a link-local address.
  SocketAddress(const wire::Gid& gid, std::uint16_t port, unsigned scope = 0, std::uint32_t flow_label = 0) noexcept;

  wire::Gid gid() const noexcept;
  std::uint16_t port() const noexcept;
};

bool link_local(const wire::Gid& gid) noexcept;

/// As people write it: 10.0.0.1, fe80::1.
std::string text(const wire::Gid& gid);

struct Interface {
  std::string name;
  unsigned index = 0;
  std::uint32_t mtu = 0;
};

/// The interface that has this address; of 127.0.0.0/8 the one that has any of it. Nothing where none has it.
std::optional<Interface> interface_of(const wire::Gid& gid);

}  // namespace verbena::engine::fabric
