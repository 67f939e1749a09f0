// SPDX-License-Identifier: Apache-2.0 OR MIT
// RDMA netlink, spoken directly: two requests do not need a library. Source of the protocol: linux
// include/uapi/rdma/rdma_netlink.h and drivers/infiniband/core/nldev.c (nldev_get_dumpit, nldev_get_chardev).
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "verbs/real_verbs.hpp"

namespace verbena {
namespace {

constexpr std::size_t kReplyBytes = 32768;  // the kernel fills a page or two for each datagram of a dump
constexpr int kPatienceSeconds = 2;

class Socket {
public:
  Socket() : descriptor_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)) {
    if (descriptor_ < 0) {
      error_ = errno;
      return;
    }
    timeval patience{};
    patience.tv_sec = kPatienceSeconds;
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int error() const noexcept { return error_; }
  int get() const noexcept { return descriptor_; }

private:
  int descriptor_;
  int error_ = 0;
};

struct Request {
  alignas(nlmsghdr) std::array<std::byte, 128> bytes{};
  std::size_t length = NLMSG_HDRLEN;

  Request(std::uint16_t command, std::uint16_t flags) {
    nlmsghdr header{};
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = 1;
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  void add(std::uint16_t type, const void* value, std::size_t size) {
    nlattr attribute{};
    attribute.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + size);
    attribute.nla_type = type;
    std::memcpy(bytes.data() + length, &attribute, sizeof attribute);
    std::memcpy(bytes.data() + length + NLA_HDRLEN, value, size);
    length += NLA_ALIGN(NLA_HDRLEN + size);
  }
  int send(int descriptor) {
    const auto total = static_cast<std::uint32_t>(length);
    std::memcpy(bytes.data() + offsetof(nlmsghdr, nlmsg_len), &total, sizeof total);
    return ::send(descriptor, bytes.data(), length, 0) == static_cast<ssize_t>(length) ? 0 : errno;
  }
};

template <class T>
T value_of(std::string_view payload) {
  T value{};
  if (payload.size() >= sizeof value) std::memcpy(&value, payload.data(), sizeof value);
  return value;
}

std::string text_of(std::string_view payload) {
  const auto end = payload.find('\0');
  return std::string(payload.substr(0, end));
}

/// Calls `each(type, payload)` for every attribute of one message.
template <class Each>
void for_each_attribute(std::string_view message, Each each) {
  while (message.size() >= NLA_HDRLEN) {
    const auto attribute = value_of<nlattr>(message);
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > message.size()) return;
    each(attribute.nla_type & NLA_TYPE_MASK, message.substr(NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN));
    message.remove_prefix(std::min<std::size_t>(NLA_ALIGN(attribute.nla_len), message.size()));
  }
}

/// Sends a request and hands each answer's attributes to `each(message)`. 0 or an errno.
template <class Each>
int converse(Request request, bool dump, Each each) {
  const Socket socket;
  if (socket.error() != 0) return socket.error();
  if (const int error = request.send(socket.get()); error != 0) return error;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReplyBytes);
  for (;;) {
    const ssize_t got = ::recv(socket.get(), buffer.get(), kReplyBytes, MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? ETIMEDOUT : errno;
    if (static_cast<std::size_t>(got) > kReplyBytes) return EMSGSIZE;
    std::string_view rest(buffer.get(), static_cast<std::size_t>(got));
    while (rest.size() >= NLMSG_HDRLEN) {
      const auto header = value_of<nlmsghdr>(rest);
      if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size()) return EPROTO;
      const auto payload = rest.substr(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
      if (header.nlmsg_type == NLMSG_ERROR) return -value_of<int>(payload);
      if (header.nlmsg_type == NLMSG_DONE) return 0;
      each(payload);
      if (!dump) return 0;
      rest.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
    }
  }
}

}  // namespace

int RealVerbs::netlink_devices(std::vector<NetlinkDevice>& devices) {
  devices.clear();
  return converse(Request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), true, [&](std::string_view message) {
    NetlinkDevice device;
    for_each_attribute(message, [&](int type, std::string_view payload) {
      switch (type) {
        case RDMA_NLDEV_ATTR_DEV_INDEX:
          device.index = value_of<std::uint32_t>(payload);
          break;
        case RDMA_NLDEV_ATTR_DEV_NAME:
          device.name = text_of(payload);
          break;
        case RDMA_NLDEV_ATTR_FW_VERSION:
          device.firmware = text_of(payload);
          break;
        case RDMA_NLDEV_ATTR_NODE_GUID:
          // The kernel converts it (nldev.c fill_dev_info: be64_to_cpu), so it is in host order here.
          device.node_guid = value_of<std::uint64_t>(payload);
          break;
        case RDMA_NLDEV_ATTR_PORT_INDEX:
          device.ports = value_of<std::uint32_t>(payload);
          break;
        default:
          break;
      }
    });
    devices.push_back(std::move(device));
  });
}

int RealVerbs::netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) {
  static constexpr char kType[] = "uverbs";
  Request request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_ACK);
  request.add(RDMA_NLDEV_ATTR_DEV_INDEX, &device_index, sizeof device_index);
  request.add(RDMA_NLDEV_ATTR_CHARDEV_TYPE, kType, sizeof kType);
  return converse(request, false, [&](std::string_view message) {
    for_each_attribute(message, [&](int type, std::string_view payload) {
      switch (type) {
        case RDMA_NLDEV_ATTR_CHARDEV_NAME:
          chardev.name = text_of(payload);
          break;
        case RDMA_NLDEV_ATTR_CHARDEV_ABI:
          chardev.abi = static_cast<std::uint32_t>(value_of<std::uint64_t>(payload));
          break;
        case RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID:
          chardev.driver_id = value_of<std::uint32_t>(payload);
          break;
        default:
          break;
      }
    });
  });
}

}  // namespace verbena
