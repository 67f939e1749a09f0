// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/probe_cache.hpp"

#include <algorithm>

namespace verbena {

DeviceList::DeviceList(std::shared_ptr<Verbs> verbs, ibv_device** list, int count)
    : verbs_(std::move(verbs)), list_(list), count_(count) {}

DeviceList::~DeviceList() {
  if (list_ != nullptr) verbs_->free_device_list(list_);
}

ibv_device* DeviceList::find(std::string_view name) const {
  for (ibv_device* device : *this) {
    if (name == verbs_->get_device_name(device)) return device;
  }
  return nullptr;
}

KnownDevice ProbeCache::find(std::string_view name, std::uint64_t stamp) const {
  const std::lock_guard lock(mutex_);
  for (const KnownDevice& known : known_) {
    if (known.name == name && known.stamp == stamp) return known;
  }
  return {};
}

void ProbeCache::put(KnownDevice device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const KnownDevice& known) { return known.name == device.name; });
  known_.push_back(std::move(device));
}

void ProbeCache::forget(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const KnownDevice& known) { return known.name == name; });
}

std::string sysfs_path(std::string_view device_name) {
  return "/sys/class/infiniband/" + std::string(device_name);
}

}  // namespace verbena
