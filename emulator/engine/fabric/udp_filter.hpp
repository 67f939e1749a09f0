// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the kernel drops before it reaches a socket, as programs of the classic packet filter.
// Source: linux Documentation/networking/filter.rst; include/uapi/linux/filter.h for the offsets.
#pragma once

#include <cstddef>
#include <span>

#include "engine/wire/ip.hpp"

namespace verbena::engine::fabric {

/// Sources that a filter can name; who has more of them names none.
inline constexpr std::size_t kMostNamedSources = 64;

/// Each is 0, or the errno of what the kernel said.

/// A socket that is there to have the port, or to send.
int drop_all(int socket) noexcept;
/// A UDP socket of IPv4 that leaves these sources to a packet socket.
int drop_sources(int socket, std::span<const wire::Gid> sources) noexcept;
/// A packet socket that takes RoCE v2 over IPv4 that came for this host: whole UDP datagrams to port 4791.
int take_roce(int socket) noexcept;
/// Of those, what these sources sent.
int take_roce_from(int socket, std::span<const wire::Gid> sources) noexcept;

}  // namespace verbena::engine::fabric
