// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sockets as RoCE v2 over UDP needs them. All are non-blocking, and none is connected: a connected one numbers its
// packets (linux include/net/ip.h ip_select_ident_segs), an unconnected one that forbids fragments writes 0.
#pragma once

#include <cstdint>

#include "engine/fabric/descriptor.hpp"
#include "engine/fabric/udp_address.hpp"
#include "engine/fabric/udp_settings.hpp"

namespace verbena::engine::fabric {

using OpenedSocket = tl::expected<Descriptor, UdpError>;

/// Has port 4791 of that address, sends from it and receives what comes to it.
OpenedSocket open_udp(const wire::Gid& gid, const Interface& interface, const UdpSettings& settings);
/// Sends from another port of that address; nothing is received.
OpenedSocket open_udp_sender(const wire::Gid& gid, const Interface& interface, std::uint16_t port);
/// Receives what is sent to the group on that interface, besides others who do.
OpenedSocket open_udp_group(const wire::Gid& group, const wire::Gid& local, const Interface& interface,
                            const UdpSettings& settings);

/// A packet socket that sees nothing until it is bound.
OpenedSocket open_packets(const UdpSettings& settings);
/// From here on it sees IPv4 on all interfaces. Outgoing packets are not among it: those are shown to sockets of all
/// protocols alone (linux net/core/dev.c dev_queue_xmit_nit).
UdpResult bind_packets(const Descriptor& socket);

}  // namespace verbena::engine::fabric
