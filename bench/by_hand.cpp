// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "by_hand.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

void need(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(3);
}

/// As ibv_read_sysfs_file does: open, one read, close.
template <std::size_t N>
std::size_t read_into(char (&buffer)[N], const char* path) {
  buffer[0] = '\0';
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = ::read(file, buffer, N - 1);
  ::close(file);
  if (got <= 0) return 0;
  buffer[got] = '\0';
  return static_cast<std::size_t>(got);
}

template <std::size_t N>
std::size_t read_of(char (&buffer)[N], const char* home, const char* attribute) {
  char path[512];
  std::snprintf(path, sizeof path, "%s/%s", home, attribute);
  return read_into(buffer, path);
}

bool exists(const char* home, const char* attribute) {
  char path[512];
  std::snprintf(path, sizeof path, "%s/%s", home, attribute);
  return ::access(path, F_OK) == 0;
}

std::size_t library_of(const void* code) {
  Dl_info info{};
  if (::dladdr(code, &info) == 0) return 0;
  char* const path = ::realpath(info.dli_fname, nullptr);
  const std::size_t length = path != nullptr ? std::strlen(path) : 0;
  std::free(path);
  return length;
}

/// Kernel, machine, page size, hypervisor, the version of rdma-core.
unsigned long host_facts() {
  utsname name{};
  ::uname(&name);
  unsigned long facts = std::strlen(name.release) + static_cast<unsigned long>(::sysconf(_SC_PAGESIZE));
  facts += library_of(::dlsym(RTLD_DEFAULT, "ibv_open_device"));
  char text[16384];
  facts += read_into(text, "/sys/hypervisor/type");
  facts += read_into(text, "/proc/cpuinfo");
  const char* const flags = std::strstr(text, "flags");
  facts += flags != nullptr && std::strstr(flags, " hypervisor") != nullptr;
  facts += read_into(text, "/sys/class/dmi/id/sys_vendor");
  facts += read_into(text, "/sys/class/dmi/id/product_name");
  return facts;
}

/// The driver and the uverbs ABI, by RDMA_NLDEV_CMD_GET_CHARDEV.
unsigned long ask_netlink(std::uint32_t index) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
  need(socket >= 0, "socket");
  const timeval patience{2, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  static constexpr char kType[] = "uverbs";
  struct {
    nlmsghdr header;
    nlattr index;
    std::uint32_t index_value;
    nlattr type;
    char type_value[8];
  } request{};
  request.header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV);
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.header.nlmsg_seq = 1;
  request.header.nlmsg_len = sizeof request;
  request.index = {NLA_HDRLEN + 4, RDMA_NLDEV_ATTR_DEV_INDEX};
  request.index_value = index;
  request.type = {NLA_HDRLEN + sizeof kType, RDMA_NLDEV_ATTR_CHARDEV_TYPE};
  std::memcpy(request.type_value, kType, sizeof kType);
  need(::send(socket, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request), "send");
  alignas(nlmsghdr) char reply[8192];
  const ssize_t got = ::recv(socket, reply, sizeof reply, 0);
  ::close(socket);
  need(got >= NLMSG_HDRLEN, "recv");
  unsigned long facts = 0;
  for (std::size_t at = NLMSG_HDRLEN; at + NLA_HDRLEN <= static_cast<std::size_t>(got);) {
    nlattr attribute{};
    std::memcpy(&attribute, reply + at, sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN) break;
    std::uint32_t value = 0;
    std::memcpy(&value, reply + at + NLA_HDRLEN, sizeof value);
    if (attribute.nla_type == RDMA_NLDEV_ATTR_CHARDEV_ABI || attribute.nla_type == RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID) {
      facts += value;
    }
    at += NLA_ALIGN(attribute.nla_len);
  }
  need(facts != 0, "the netlink answer");
  return facts;
}

unsigned long read_port(const char* home, const char* number) {
  char port[256];
  std::snprintf(port, sizeof port, "%s/ports/%.8s", home, number);
  char text[256];
  unsigned long facts = read_of(text, port, "link_layer");
  const std::size_t length = read_of(text, port, "gid_attrs/ndevs/0");
  if (length == 0) return facts;
  text[length - 1] = '\0';
  char netdev[300];
  std::snprintf(netdev, sizeof netdev, "/sys/class/net/%s", text);
  return facts + length + exists(netdev, "bonding") + exists(netdev, "master/bonding");
}

/// Sysfs of a software device: it has no PCI function of its own.
unsigned long read_identity(const char* name) {
  char home[128];
  std::snprintf(home, sizeof home, "/sys/class/infiniband/%s", name);
  struct stat status{};
  unsigned long facts = ::lstat(home, &status) == 0 ? static_cast<unsigned long>(status.st_ino) : 0;
  char text[256];
  facts += read_of(text, home, "fw_ver");
  facts += read_of(text, home, "hw_rev");
  facts += read_of(text, home, "board_id");
  facts += read_of(text, home, "node_type");
  char ports[140];
  std::snprintf(ports, sizeof ports, "%s/ports", home);
  if (DIR* const directory = ::opendir(ports)) {
    while (const dirent* entry = ::readdir(directory)) {
      if (entry->d_name[0] != '.') facts += read_port(home, entry->d_name);
    }
    ::closedir(directory);
  }
  facts += read_into(text, "/sys/module/rdma_rxe/version");
  facts += read_into(text, "/sys/module/rdma_rxe/taint");
  return facts;
}

unsigned long query(ibv_context* context) {
  ibv_device_attr_ex device{};
  need(ibv_query_device_ex(context, nullptr, &device) == 0, "ibv_query_device_ex");
  std::size_t room = 0;
  for (std::uint8_t number = 1; number <= device.orig_attr.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    need(ibv_query_port(context, number, &port) == 0, "ibv_query_port");
    room += static_cast<std::size_t>(port.gid_tbl_len);
  }
  auto* const gids = static_cast<ibv_gid_entry*>(std::malloc((room + 1) * sizeof(ibv_gid_entry)));
  const ssize_t count = ibv_query_gid_table(context, gids, room, 0);
  need(count >= 0, "ibv_query_gid_table");
  unsigned long facts = static_cast<unsigned long>(count);
  std::uint32_t last = 0;
  for (ssize_t i = 0; i < count; ++i) {
    if (gids[i].ndev_ifindex == last) continue;
    last = gids[i].ndev_ifindex;
    char netdev[IF_NAMESIZE];
    facts += ::if_indextoname(last, netdev) != nullptr;
  }
  std::free(gids);
  return facts;
}

}  // namespace

OpenedByHand open_by_hand(const char* name) {
  OpenedByHand opened;
  int count = 0;
  opened.list = ibv_get_device_list(&count);
  need(opened.list != nullptr, "ibv_get_device_list");
  ibv_device* device = nullptr;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(ibv_get_device_name(opened.list[i]), name) == 0) device = opened.list[i];
  }
  need(device != nullptr, name);
  opened.context = ibv_open_device(device);
  need(opened.context != nullptr, "ibv_open_device");
  opened.facts = host_facts();
  opened.facts += ask_netlink(static_cast<std::uint32_t>(ibv_get_device_index(device)));
  opened.facts += static_cast<unsigned long>(ibv_get_device_guid(device));
  opened.facts += read_identity(name);
  opened.facts += library_of(reinterpret_cast<const void*>(opened.context->ops.poll_cq));
  opened.facts += query(opened.context);
  return opened;
}

void close_by_hand(const OpenedByHand& opened) {
  ibv_close_device(opened.context);
  ibv_free_device_list(opened.list);
}

}  // namespace bench
