// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/probe.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

class Backend;

/// Owns the list that libibverbs gave (null: none); its ibv_device handles are good for as long as it lives.
class DeviceList {
public:
  DeviceList(std::shared_ptr<Verbs> verbs, ibv_device** list, int count);
  ~DeviceList();
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  ibv_device* find(std::string_view name) const;
  ibv_device* const* begin() const noexcept { return list_; }
  ibv_device* const* end() const noexcept { return list_ + count_; }

private:
  std::shared_ptr<Verbs> verbs_;
  ibv_device** list_;
  int count_;
};

/// A device that was opened before: what a second open needs, so that it neither lists nor reads nor asks again.
struct KnownDevice {
  std::string name;
  std::uint64_t stamp = 0;  ///< Verbs::entry_stamp of its sysfs entry: another one means that it was registered anew
  std::optional<std::uint32_t> index;  ///< the kernel's ibdev index
  std::uint64_t node_guid = 0;  ///< host byte order
  std::shared_ptr<const DeviceList> list;
  ibv_device* device = nullptr;
  const Backend* backend = nullptr;
  std::shared_ptr<const Probed> probed;
};

/// What each registered device said when it was first opened, keyed by name, ibdev index and node GUID; the stamp tells
/// at the cost of one lstat that all three still hold. Thread-safe.
class ProbeCache {
public:
  /// Empty (name empty) when that device is not known, or was registered anew since.
  KnownDevice find(std::string_view name, std::uint64_t stamp) const;
  void put(KnownDevice device);
  void forget(std::string_view name);

private:
  mutable std::mutex mutex_;
  std::vector<KnownDevice> known_;
};

/// `/sys/class/infiniband/NAME`.
std::string sysfs_path(std::string_view device_name);

}  // namespace verbena
