// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine_udp/own_network.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/fabric/descriptor.hpp"

namespace engine_test {

namespace {

using verbena::engine::fabric::Descriptor;

/// linux include/uapi/linux/ipv6.h in6_ifreq, whose header doesn't get along with the C library's.
struct AddressRequest {
  in6_addr address;
  std::uint32_t prefix;
  int interface;
};

std::string missing(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

/// A new address is tentative until a worker of the kernel has looked at it, on loopback too (linux net/ipv6/addrconf.c
/// addrconf_dad_work), and nothing can be bound to it before.
bool usable_soon(unsigned host) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  std::memcpy(&address.sin6_addr, unique_local(host).data(), sizeof address.sin6_addr);
  for (int tries = 0; tries < 500; ++tries) {
    const Descriptor probe(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (probe && ::bind(probe.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
    ::usleep(10'000);
  }
  return false;
}

std::string move() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return missing("unshare");
  const Descriptor v4(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  if (!v4 || ::ioctl(v4.number(), SIOCSIFFLAGS, &request) != 0) return missing("lo up");
  const Descriptor v6(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (unsigned host = 1; v6 && host < 10; ++host) {
    AddressRequest address{{}, 128, static_cast<int>(::if_nametoindex("lo"))};
    std::memcpy(&address.address, unique_local(host).data(), 16);
    if (::ioctl(v6.number(), SIOCSIFADDR, &address) != 0) return missing("fd00:: on lo");
  }
  for (unsigned host = 1; v6 && host < 10; ++host) {
    if (!usable_soon(host)) return "fd00:: on lo stays tentative";
  }
  return v6 ? "" : missing("IPv6");
}

std::string make_links() {
  if (!own_network().empty()) return own_network();
  for (const char* command :
       {"link add verbena0 type veth peer name verbena1", "link set verbena0 mtu 4400 gso_max_segs 1",
        "link set verbena1 mtu 4400", "addr add 10.77.0.1/24 dev verbena0", "addr add fd77::1/64 dev verbena0 nodad",
        "addr add fd77::2/64 dev verbena0 nodad", "link set verbena0 up", "link set verbena1 up",
        "neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev verbena0"}) {
    if (!run(std::string("ip ") + command)) return std::string("`ip ") + command + "` failed";
  }
  return "";
}

}  // namespace

const std::string& own_links() {
  static const std::string result = make_links();
  return result;
}

const std::string& own_network() {
  static const std::string result = move();
  return result;
}

verbena::engine::wire::Gid unique_local(unsigned host) {
  verbena::engine::wire::Gid gid{};
  gid[0] = std::byte{0xfd};
  gid[15] = static_cast<std::byte>(host);
  return gid;
}

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace engine_test
