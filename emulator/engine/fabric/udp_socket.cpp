// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "engine/fabric/udp_filter.hpp"
#include "engine/fabric/udp_kernel.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::fabric {

namespace {

constexpr int kOn = 1;
constexpr int kOff = 0;

/// Options one after the other; the first that fails is what is told.
class Options {
public:
  explicit Options(int socket) noexcept : socket_(socket) {}
  void set(int level, int name, const void* value, socklen_t bytes, const char* called) noexcept {
    if (number_ != 0 || ::setsockopt(socket_, level, name, value, bytes) == 0) return;
    number_ = errno;
    called_ = called;
  }
  void set(int level, int name, int value, const char* called) noexcept {
    set(level, name, &value, sizeof value, called);
  }
  /// What a kernel may not know, and what can be done without.
  void try_to_set(int level, int name, int value) noexcept {
    static_cast<void>(::setsockopt(socket_, level, name, &value, sizeof value));
  }
  UdpResult result() const {
    if (number_ == 0) return {};
    return tl::unexpected(UdpError{number_, std::string(called_) + ": " + std::strerror(number_)});
  }

private:
  int socket_;
  int number_ = 0;
  const char* called_ = "";
};

/// How packets leave.
void for_sending(Options& options, const wire::Gid& local) noexcept {
  if (wire::is_mapped(local)) {
    options.set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "IP_MTU_DISCOVER");
  } else {
    options.set(IPPROTO_IPV6, IPV6_V6ONLY, kOn, "IPV6_V6ONLY");
    options.set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, "IPV6_MTU_DISCOVER");
    // Flow labels are the route's, and not what the kernel makes of the addresses.
    options.try_to_set(IPPROTO_IPV6, kIpv6AutoFlowLabel, kOff);
    options.try_to_set(IPPROTO_IPV6, kIpv6FlowInfoSend, kOn);
  }
}

/// To groups packets leave by the interface of their source.
UdpResult to_groups(int socket, const wire::Gid& local, const Interface& interface) {
  Options options(socket);
  if (wire::is_mapped(local)) {
    in_addr from{};
    std::memcpy(&from, local.data() + 12, sizeof from);
    options.set(IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof from, "IP_MULTICAST_IF");
  } else if (interface.index != 0) {
    options.set(IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface.index), "IPV6_MULTICAST_IF");
  }
  return options.result();
}

/// What is told of packets that come.
void for_receiving(Options& options, const wire::Gid& local, const UdpSettings& settings) noexcept {
  const int bytes = static_cast<int>(std::min<std::size_t>(settings.receive_bytes, INT_MAX / 2));
  options.try_to_set(SOL_SOCKET, SO_RCVBUF, bytes);
  options.try_to_set(SOL_SOCKET, SO_RCVBUFFORCE, bytes);
  if (settings.segmentation) options.try_to_set(SOL_UDP, UDP_GRO, kOn);
  if (wire::is_mapped(local)) {
    options.set(IPPROTO_IP, IP_RECVTOS, kOn, "IP_RECVTOS");
    options.set(IPPROTO_IP, IP_RECVTTL, kOn, "IP_RECVTTL");
  } else {
    options.set(IPPROTO_IPV6, IPV6_RECVTCLASS, kOn, "IPV6_RECVTCLASS");
    options.set(IPPROTO_IPV6, IPV6_RECVHOPLIMIT, kOn, "IPV6_RECVHOPLIMIT");
    options.try_to_set(IPPROTO_IPV6, kIpv6FlowInfo, kOn);
    // The kernel's rxe sends no checksum over IPv6 either (wire/udp.hpp).
    options.set(SOL_UDP, UDP_NO_CHECK6_RX, kOn, "UDP_NO_CHECK6_RX");
  }
}

Descriptor new_socket(const wire::Gid& gid) noexcept {
  return Descriptor(
      ::socket(wire::is_mapped(gid) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
}

UdpError not_made(const wire::Gid& gid) {
  const int number = errno;
  return {number, std::string("a UDP socket of IPv") + (wire::is_mapped(gid) ? "4" : "6") + ": " +
                      std::strerror(number) + (number == EAFNOSUPPORT ? "; this kernel has none" : "")};
}

UdpError not_bound(const wire::Gid& gid, std::uint16_t port, int number) {
  const std::string where = "UDP port " + std::to_string(port) + " of " + text(gid);
  if (number == EADDRINUSE) {
    return {number, where +
                        " is taken, by another emulated NIC with this address or by the kernel's rxe, which has that "
                        "port of all addresses of a network namespace: `ss -ulpn 'sport = :4791'` and `rdma link` "
                        "show which; take another address, or a network namespace without rxe"};
  }
  if (number == EADDRNOTAVAIL) {
    return {number, where + ": no interface of this network namespace has that address; `ip addr add " + text(gid) +
                        "/... dev ...` gives it to one"};
  }
  return {number, where + ": " + std::strerror(number)};
}

}  // namespace

OpenedSocket open_udp(const wire::Gid& gid, const Interface& interface, const UdpSettings& settings) {
  Descriptor socket = new_socket(gid);
  if (!socket) return tl::unexpected(not_made(gid));
  Options options(socket.number());
  for_sending(options, gid);
  for_receiving(options, gid, settings);
  if (const UdpResult result = options.result(); !result) return tl::unexpected(result.error());
  const SocketAddress address(gid, wire::kRocePort, interface.index);
  if (::bind(socket.number(), &address.any, address.bytes) != 0)
    return tl::unexpected(not_bound(gid, wire::kRocePort, errno));
  if (const UdpResult result = to_groups(socket.number(), gid, interface); !result)
    return tl::unexpected(result.error());
  return socket;
}

OpenedSocket open_udp_sender(const wire::Gid& gid, const Interface& interface, std::uint16_t port) {
  Descriptor socket = new_socket(gid);
  if (!socket) return tl::unexpected(not_made(gid));
  Options options(socket.number());
  for_sending(options, gid);
  if (const UdpResult result = options.result(); !result) return tl::unexpected(result.error());
  static_cast<void>(drop_all(socket.number()));
  const SocketAddress address(gid, port, interface.index);
  if (::bind(socket.number(), &address.any, address.bytes) != 0) return tl::unexpected(not_bound(gid, port, errno));
  if (const UdpResult result = to_groups(socket.number(), gid, interface); !result)
    return tl::unexpected(result.error());
  return socket;
}

OpenedSocket open_udp_group(const wire::Gid& group, const wire::Gid& local, const Interface& interface,
                            const UdpSettings& settings) {
  Descriptor socket = new_socket(group);
  if (!socket) return tl::unexpected(not_made(group));
  Options options(socket.number());
  options.set(SOL_SOCKET, SO_REUSEADDR, kOn, "SO_REUSEADDR");
  for_receiving(options, group, settings);
  const SocketAddress address(group, wire::kRocePort, interface.index);
  if (wire::is_mapped(group)) {
    ip_mreqn membership{};
    membership.imr_multiaddr = address.v4.sin_addr;
    std::memcpy(&membership.imr_address, local.data() + 12, sizeof membership.imr_address);
    membership.imr_ifindex = static_cast<int>(interface.index);
    options.set(IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership, "IP_ADD_MEMBERSHIP");
    options.try_to_set(IPPROTO_IP, IP_MULTICAST_ALL, kOff);
  } else {
    ipv6_mreq membership{};
    membership.ipv6mr_multiaddr = address.v6.sin6_addr;
    membership.ipv6mr_interface = interface.index;
    options.set(IPPROTO_IPV6, IPV6_V6ONLY, kOn, "IPV6_V6ONLY");
    options.set(IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &membership, sizeof membership, "IPV6_ADD_MEMBERSHIP");
    options.try_to_set(IPPROTO_IPV6, kIpv6MulticastAll, kOff);
  }
  if (const UdpResult result = options.result(); !result) {
    return tl::unexpected(
        UdpError{result.error().number, "group " + text(group) + " on " + interface.name + ": " + result.error().text});
  }
  if (::bind(socket.number(), &address.any, address.bytes) != 0)
    return tl::unexpected(not_bound(group, wire::kRocePort, errno));
  return socket;
}

OpenedSocket open_packets(const UdpSettings& settings) {
  // No protocol: nothing is shown, and costs nothing, until it is bound.
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) {
    const int number = errno;
    const bool forbidden = number == EPERM || number == EACCES;
    return tl::unexpected(
        UdpError{number, std::string("a packet socket: ") + std::strerror(number) +
                             (forbidden ? "; CAP_NET_RAW in the owner of this network namespace permits it" : "")});
  }
  Options options(socket.number());
  const int bytes = static_cast<int>(std::min<std::size_t>(settings.receive_bytes, INT_MAX / 2));
  options.try_to_set(SOL_SOCKET, SO_RCVBUF, bytes);
  options.try_to_set(SOL_SOCKET, SO_RCVBUFFORCE, bytes);
  options.set(SOL_PACKET, PACKET_AUXDATA, kOn, "PACKET_AUXDATA");
  options.set(SOL_PACKET, PACKET_VNET_HDR, kOn, "PACKET_VNET_HDR");
  if (const UdpResult result = options.result(); !result) return tl::unexpected(result.error());
  return socket;
}

UdpResult bind_packets(const Descriptor& socket) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_IP);
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  return tl::unexpected(UdpError{errno, std::string("a packet socket for IPv4: ") + std::strerror(errno)});
}

}  // namespace verbena::engine::fabric
