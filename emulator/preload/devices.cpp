// SPDX-License-Identifier: Apache-2.0 OR MIT
// The list of devices, contexts, queries and events. Emulated NICs come first, behind them this host's own.
#include <endian.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absent.hpp"
#include "process.hpp"
#include "real.hpp"

#undef ibv_query_port

using namespace verbena::preload;

namespace {

/// What the exported ibv_query_port() fills in: the structure as it was before port_cap_flags2 (rdma-core
/// libibverbs/verbs.c _compat_ibv_port_attr).
constexpr std::size_t kOldPortAttr = offsetof(ibv_port_attr, port_cap_flags2);

/// In a child, the device that the parent's is there.
ibv_device* same_here(EmulatedVerbs& verbs, ibv_device* device) {
  if (verbs.has(device)) return device;
  int count = 0;
  const auto list = verbs.get_device_list(count);
  ibv_device* found = nullptr;
  for (int index = 0; index < count && found == nullptr; ++index) {
    if (std::strcmp(list.handle[index]->name, device->name) == 0) found = list.handle[index];
  }
  verbs.free_device_list(list.handle);
  return found;
}

bool below(const std::string& path, const char* folder) {
  return path.compare(0, std::strlen(folder), folder) == 0 && path[std::strlen(folder)] == '/';
}

}  // namespace

extern "C" {

// Exported, and in no header that programs have.
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type);
int ibv_read_sysfs_file(const char* folder, const char* file, char* to, std::size_t room);

// In front of each list that is handed out, there is libibverbs' own.
ibv_device** ibv_get_device_list(int* count) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr && wanted()) {
    if (count != nullptr) *count = 0;
    errno = EINVAL;
    return nullptr;
  }
  int real_count = 0;
  ibv_device** const real_list = forward<&ibv_get_device_list>("ibv_get_device_list", &real_count);
  const int error = errno;
  int own_count = 0;
  verbena::Made<ibv_device*> own;
  if (verbs != nullptr) own = verbs->get_device_list(own_count);
  const auto entries = static_cast<std::size_t>(own_count + real_count);
  if (count != nullptr) *count = own_count + real_count;
  if (verbs == nullptr && real_list == nullptr) {
    errno = error;
    return nullptr;
  }
  auto** const block = static_cast<ibv_device**>(std::calloc(entries + 2, sizeof(ibv_device*)));
  if (block != nullptr) {
    block[0] = reinterpret_cast<ibv_device*>(real_list);
    std::copy_n(own.handle, own_count, block + 1);
    if (real_list != nullptr) std::copy_n(real_list, real_count, block + 1 + own_count);
  }
  if (verbs != nullptr) verbs->free_device_list(own.handle);
  return block != nullptr ? block + 1 : nullptr;
}

void ibv_free_device_list(ibv_device** list) {
  if (list == nullptr) return;
  auto** const real_list = reinterpret_cast<ibv_device**>(list[-1]);
  if (real_list != nullptr) forward<&ibv_free_device_list>("ibv_free_device_list", real_list);
  std::free(list - 1);
}

const char* ibv_get_device_name(ibv_device* device) {
  if (EmulatedVerbs* const verbs = owner(device)) return verbs->get_device_name(device);
  return forward<&ibv_get_device_name>("ibv_get_device_name", device);
}

int ibv_get_device_index(ibv_device* device) {
  if (EmulatedVerbs* const verbs = owner(device)) return verbs->get_device_index(device);
  return forward<&ibv_get_device_index>("ibv_get_device_index", device);
}

__be64 ibv_get_device_guid(ibv_device* device) {
  if (EmulatedVerbs* const verbs = owner(device)) return htobe64(verbs->get_device_guid(device));
  return forward<&ibv_get_device_guid>("ibv_get_device_guid", device);
}

ibv_context* ibv_open_device(ibv_device* device) {
  if (owner(device) == nullptr) return forward<&ibv_open_device>("ibv_open_device", device);
  EmulatedVerbs* const verbs = emulated();
  ibv_device* const here = verbs != nullptr ? same_here(*verbs, device) : nullptr;
  if (here == nullptr) {
    errno = ENODEV;
    return nullptr;
  }
  ibv_context* const context = made(*verbs, [&] { return verbs->open_device(here); });
  if (context != nullptr) fill_absent(*context);
  return context;
}

int ibv_close_device(ibv_context* context) {
  if (EmulatedVerbs* const verbs = owner(context)) return gone(*verbs, [&] { return verbs->close_device(context); });
  return forward<&ibv_close_device>("ibv_close_device", context);
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  if (EmulatedVerbs* const verbs = owner(context))
    return outcome(*verbs, [&] { return verbs->query_device(context, *attr); });
  return forward<&ibv_query_device>("ibv_query_device", context, attr);
}

int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  EmulatedVerbs* const verbs = owner(context);
  if (verbs == nullptr) return forward<&ibv_query_port>("ibv_query_port", context, port, attr);
  ibv_port_attr whole{};
  const int error = outcome(*verbs, [&] { return verbs->query_port(context, port, whole); });
  if (error == 0) std::memcpy(static_cast<void*>(attr), &whole, kOldPortAttr);
  return error;
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (EmulatedVerbs* const verbs = owner(context))
    return minus_one(*verbs, [&] { return verbs->query_gid(context, port, index, *gid); });
  return forward<&ibv_query_gid>("ibv_query_gid", context, port, index, gid);
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t flags, std::size_t bytes) {
  EmulatedVerbs* const verbs = owner(context);
  if (verbs == nullptr)
    return forward<&_ibv_query_gid_ex>("_ibv_query_gid_ex", context, port, index, entry, flags, bytes);
  if (flags != 0) return EINVAL;
  ibv_gid_entry whole{};
  const int error = outcome(*verbs, [&] { return verbs->query_gid_ex(context, port, index, whole); });
  if (error == 0) std::memcpy(entry, &whole, std::min(bytes, sizeof whole));
  return error;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t flags,
                             std::size_t bytes) {
  EmulatedVerbs* const verbs = owner(context);
  if (verbs == nullptr)
    return forward<&_ibv_query_gid_table>("_ibv_query_gid_table", context, entries, most, flags, bytes);
  if (flags != 0 || bytes != sizeof *entries) return -EINVAL;
  return verbs->query_gid_table(context, entries, most);
}

/// Of rdma-core's own programs and bindings; the types are those of sysfs: 0 for InfiniBand and RoCE v1, 1 for RoCE v2
/// (rdma-core libibverbs/driver.h enum ibv_gid_type_sysfs).
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type) {
  EmulatedVerbs* const verbs = owner(context);
  if (verbs == nullptr) return forward<&ibv_query_gid_type>("ibv_query_gid_type", context, port, index, type);
  ibv_gid_entry entry{};
  const int error = outcome(*verbs, [&] { return verbs->query_gid_ex(context, port, index, entry); });
  if (error == 0) *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return error == 0 ? 0 : -1;
}

int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  EmulatedVerbs* const verbs = owner(context);
  if (verbs == nullptr) return forward<&ibv_query_pkey>("ibv_query_pkey", context, port, index, pkey);
  std::uint16_t value = 0;
  const int failed = minus_one(*verbs, [&] { return verbs->query_pkey(context, port, index, value); });
  *pkey = htobe16(value);
  return failed;
}

int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  if (owner(context) == nullptr) return forward<&ibv_get_pkey_index>("ibv_get_pkey_index", context, port, pkey);
  __be16 found = 0;
  for (int index = 0; ibv_query_pkey(context, port, index, &found) == 0; ++index) {
    if (found == pkey) return index;
  }
  return -1;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (EmulatedVerbs* const verbs = owner(context))
    return minus_one(*verbs, [&] { return verbs->get_async_event(context, *event); });
  return forward<&ibv_get_async_event>("ibv_get_async_event", context, event);
}

void ibv_ack_async_event(ibv_async_event* event) {
  const ibv_context* context = nullptr;
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      context = event->element.cq->context;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      context = event->element.srq->context;
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_COMM_EST:
      context = event->element.qp->context;
      break;
    default:
      break;
  }
  EmulatedVerbs* const verbs = context != nullptr ? owner(context) : nullptr;
  if (verbs == nullptr) return forward<&ibv_ack_async_event>("ibv_ack_async_event", event);
  if (!verbs->host().inert()) verbs->ack_async_event(*event);
}

int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr, std::uint8_t mac[6], std::uint16_t* vlan) {
  if (EmulatedVerbs* const verbs = owner(context))
    return outcome(*verbs, [&] { return verbs->resolve_eth_l2_from_gid(context, *attr, mac, vlan); });
  return forward<&ibv_resolve_eth_l2_from_gid>("ibv_resolve_eth_l2_from_gid", context, attr, mac, vlan);
}

/// What programs read of a device through libibverbs; its length, or -1.
int ibv_read_sysfs_file(const char* folder, const char* file, char* to, std::size_t room) {
  EmulatedVerbs* const verbs = emulated();
  const std::string path = std::string(folder) + "/" + file;
  int count = 0;
  bool own = false;
  if (verbs != nullptr) {
    const auto list = verbs->get_device_list(count);
    for (int index = 0; index < count; ++index)
      own = own || below(path, list.handle[index]->ibdev_path) || below(path, list.handle[index]->dev_path);
    verbs->free_device_list(list.handle);
  }
  std::string text;
  if (!own) return forward<&ibv_read_sysfs_file>("ibv_read_sysfs_file", folder, file, to, room);
  if (verbs->read_file(path, text) != 0 || room == 0) {
    errno = ENOENT;
    return -1;
  }
  const std::size_t bytes = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), bytes);
  to[bytes] = 0;
  return static_cast<int>(bytes);
}

}  // extern "C"
