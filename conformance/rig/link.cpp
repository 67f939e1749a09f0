// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/link.hpp"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace conform {

namespace {

ifreq named(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof request.ifr_name - 1));
  return request;
}

}  // namespace

Link::Link(Case& c) : case_(c) {
  const verbena::PortId* port = c.device().id().port(c.port());
  emulated_ = verbena::emulated_host(c.verbs());
  // One of InfiniBand has a link, and an interface that it can do without.
  if (emulated_ != nullptr && port != nullptr && port->netdev.empty()) return;
  if (port == nullptr || port->netdev.empty()) c.blocked("link_control", "the port has no network interface");
  name_ = port->netdev;
  if (emulated_ != nullptr) {
    std::string text;
    if (c.verbs().read_file("/sys/class/net/" + name_ + "/mtu", text) != 0)
      c.blocked("link_control", "the network interface can't be read");
    mtu_before_ = std::atoi(text.c_str());
    return;
  }
  socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq mtu = named(name_);
  if (socket_ < 0 || flags(flags_before_) != 0 || request(SIOCGIFMTU, &mtu) != 0) {
    c.blocked("link_control", "the network interface can't be read");
  }
  mtu_before_ = mtu.ifr_mtu;
  // To set what is set already changes nothing, and tells whether this process may.
  if (set_mtu(mtu_before_) != 0) c.blocked("link_control", "the network interface may not be changed");
}

Link::~Link() {
  if (added_ != 0) address(false, added_);
  if (mtu_before_ != 0) set_mtu(mtu_before_);
  short now = 0;
  if (emulated_ != nullptr) {
    set_up(true);
  } else if (flags(now) == 0 && now != flags_before_) {
    set_up((flags_before_ & IFF_UP) != 0);
  }
  const auto end = std::chrono::steady_clock::now() + case_.ground().completion_within;
  ibv_port_attr attr{};
  while (case_.verbs().query_port(case_.context(), case_.port(), attr) == 0 && attr.state != IBV_PORT_ACTIVE &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (socket_ >= 0) close(socket_);
}

int Link::request(unsigned long code, void* data) const {
  return ioctl(socket_, code, data) == 0 ? 0 : errno;
}

int Link::flags(short& value) const {
  ifreq found = named(name_);
  const int error = request(SIOCGIFFLAGS, &found);
  value = found.ifr_flags;
  return error;
}

int Link::set_up(bool up) {
  if (emulated_ != nullptr) return emulated_->set_link(case_.context(), case_.port(), up);
  ifreq change = named(name_);
  if (const int error = flags(change.ifr_flags); error != 0) return error;
  change.ifr_flags = static_cast<short>(up ? change.ifr_flags | IFF_UP : change.ifr_flags & ~IFF_UP);
  return request(SIOCSIFFLAGS, &change);
}

int Link::set_mtu(int bytes) {
  if (emulated_ != nullptr)
    return emulated_->set_interface_mtu(case_.context(), case_.port(), static_cast<std::uint32_t>(bytes));
  ifreq change = named(name_);
  change.ifr_mtu = bytes;
  return request(SIOCSIFMTU, &change);
}

int Link::add_address(std::uint32_t ipv4) {
  const int error = address(true, ipv4);
  if (error == 0) added_ = ipv4;
  return error;
}

int Link::remove_address(std::uint32_t ipv4) {
  added_ = 0;
  return address(false, ipv4);
}

int Link::address(bool add, std::uint32_t ipv4) const {
  if (emulated_ != nullptr) {
    verbena::IpAddress mapped{};
    mapped[10] = mapped[11] = 0xff;
    for (unsigned byte = 0; byte < 4; ++byte) mapped[12 + byte] = static_cast<std::uint8_t>(ipv4 >> (24 - 8 * byte));
    return add ? emulated_->add_address(case_.context(), case_.port(), mapped)
               : emulated_->remove_address(case_.context(), case_.port(), mapped);
  }
  struct {
    nlmsghdr head{};
    ifaddrmsg body{};
    rtattr attribute{};
    std::uint32_t address = 0;
  } message;
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR;
  message.head.nlmsg_flags =
      static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_EXCL : 0));
  message.body.ifa_family = AF_INET;
  message.body.ifa_prefixlen = 32;
  message.body.ifa_index = if_nametoindex(name_.c_str());
  message.attribute.rta_len = RTA_LENGTH(sizeof message.address);
  message.attribute.rta_type = IFA_LOCAL;
  message.address = htonl(ipv4);
  const int channel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (channel < 0) return errno;
  alignas(nlmsghdr) std::array<char, 512> answer{};
  int error = EIO;
  if (send(channel, &message, sizeof message, 0) < 0) {
    error = errno;
  } else if (recv(channel, answer.data(), answer.size(), 0) >=
             static_cast<ssize_t>(sizeof(nlmsghdr) + sizeof(nlmsgerr))) {
    nlmsgerr said{};
    std::memcpy(&said, answer.data() + sizeof(nlmsghdr), sizeof said);
    error = -said.error;
  }
  close(channel);
  return error;
}

}  // namespace conform
