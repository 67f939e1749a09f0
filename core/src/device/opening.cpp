// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/opening.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>

#include "device/broken_link.hpp"
#include "device/device_state.hpp"
#include "device/identity.hpp"
#include "names/nearest_name.hpp"
#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

using LibraryState = Library::State;

/// The kernel counts from 0; libibverbs says -1 when it could not ask.
std::optional<std::uint32_t> known_index(int index) {
  return index >= 0 ? std::optional(static_cast<std::uint32_t>(index)) : std::nullopt;
}

Error plain_error(ErrorKind kind, int errno_value, std::string text) {
  Error error;
  error.kind = kind;
  error.errno_value = errno_value;
  error.text = std::move(text);
  return error;
}

Result<std::shared_ptr<const DeviceList>> list_devices(const LibraryState& library) {
  int count = 0;
  const Made<ibv_device*> listed = library.verbs->get_device_list(count);
  if (listed) return std::make_shared<const DeviceList>(library.verbs, listed.handle, count);
  // Without ib_uverbs there is nothing to list (rdma-core libibverbs/device.c): that is an empty list, said otherwise.
  if (listed.error == ENOSYS || listed.error == ENOENT) {
    return std::make_shared<const DeviceList>(library.verbs, nullptr, 0);
  }
  return Failure(plain_error(ErrorKind::io, listed.error,
                             fmt::format("ibv_get_device_list failed with {}", errno_name(listed.error))));
}

Error no_such_device(LibraryState& library, std::string_view name, const DeviceList& list) {
  std::vector<std::string> names = registered_devices(*library.verbs);
  for (ibv_device* device : list) {
    const std::string listed = library.verbs->get_device_name(device);
    if (std::find(names.begin(), names.end(), listed) == names.end()) names.push_back(listed);
  }
  if (names.empty()) {
    return plain_error(ErrorKind::no_device, ENODEV,
                       fmt::format("no device '{}': {}", name, no_devices_text(*library.verbs)));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view nearest = names::nearest_name(name, known);
  return plain_error(ErrorKind::no_device, ENODEV,
                     fmt::format("no device '{}'; this host has {}{}", name, fmt::join(names, ", "),
                                 nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest)));
}

Error cannot_open(LibraryState& library, const DeviceId& id, bool claimed, int error, bool errno_missing) {
  const BrokenLink broken = first_broken_link(*library.verbs, id, claimed);
  if (!broken.text.empty()) {
    return plain_error(broken.kind, broken.error != 0 ? broken.error : error,
                       fmt::format("{} cannot be opened: {}", id.name, broken.text));
  }
  const std::string text =
      fmt::format("ibv_open_device failed on {} with {}", id.name, errno_missing ? "no errno" : errno_name(error));
  switch (errno_family(error)) {
    case ErrnoFamily::permission:
      return plain_error(ErrorKind::permission, error, text + ": this process may not use the device");
    case ErrnoFamily::gone:
    case ErrnoFamily::io:
      return plain_error(ErrorKind::device_gone, error, text + ": the device was removed or reported a fatal error");
    default:
      return plain_error(ErrorKind::refused, error, text);
  }
}

/// Asks an open device what it is and what it can do, and takes the answer into the cache under `stamp`.
Result<KnownDevice> probe(LibraryState& library, ibv_context* context, std::string_view name,
                          std::optional<std::uint64_t> stamp, std::shared_ptr<const DeviceList> list) {
  Verbs& verbs = *library.verbs;
  KnownDevice known;
  known.name = name;
  known.device = context->device;
  known.list = std::move(list);
  known.node_guid = verbs.get_device_guid(context->device);
  const int index = verbs.get_device_index(context->device);
  auto probed = std::make_shared<Probed>();
  probed->id = identify(verbs, library.host(), name, known_index(index), known.node_guid);
  known.index = probed->id.index;
  identify_opened(verbs, context, probed->id);
  auto caps = probe_caps(verbs, context, probed->id);
  if (!caps) return Failure(std::move(caps.error()));
  probed->caps = std::move(*caps);
  known.backend = library.backends.for_driver(probed->id.driver);
  if (known.backend == nullptr) {
    return Failure(plain_error(ErrorKind::invalid_request, 0,
                               fmt::format("no backend serves driver '{}' of {}, and the registry has no generic one",
                                           probed->id.driver, name)));
  }
  const std::string remark = known.backend->probe(verbs, context, probed->id, probed->caps);
  if (!remark.empty()) library.log(LogLevel::info, name, remark);
  known.probed = std::move(probed);
  if (stamp) {
    known.stamp = *stamp;
    library.probes.put(known);
  }
  return known;
}

void report_opened(const LibraryState& library, const KnownDevice& known) {
  if (!library.sink) return;
  const std::string remark = port_state_remark(*library.verbs, known.probed->id);
  library.log(LogLevel::info, known.name,
              to_string(known.probed->id) + (remark.empty() ? std::string() : "; " + remark));
}

Device opened(const std::shared_ptr<LibraryState>& library, ibv_context* context, bool owned, const KnownDevice& known,
              bool from_cache) {
  auto state = std::make_shared<Device::State>(library, context, owned, *known.backend, known.probed);
  CountersState::add(from_cache ? state->counters.probe_cache_hits : state->counters.probes);
  return Device(std::move(state));
}

}  // namespace

Result<std::vector<ListedDevice>> list_host(const std::shared_ptr<Library::State>& library) {
  auto list = list_devices(*library);
  if (!list) return Failure(std::move(list.error()));
  Verbs& verbs = *library->verbs;
  std::vector<std::string> names = registered_devices(verbs);
  for (ibv_device* device : **list) {
    const std::string name = verbs.get_device_name(device);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<ListedDevice> out;
  out.reserve(names.size());
  for (const std::string& name : names) {
    ibv_device* const device = (*list)->find(name);
    const int index = device != nullptr ? verbs.get_device_index(device) : -1;
    ListedDevice listed;
    listed.id = identify(verbs, library->host(), name, known_index(index),
                         device != nullptr ? verbs.get_device_guid(device) : 0);
    const BrokenLink broken = first_broken_link(verbs, listed.id, device != nullptr);
    listed.openable = device != nullptr && broken.text.empty();
    listed.why_not = broken.text;
    out.push_back(std::move(listed));
  }
  return out;
}

Result<Device> open_device(const std::shared_ptr<Library::State>& library, std::string_view name) {
  Verbs& verbs = *library->verbs;
  const auto stamp = verbs.entry_stamp(sysfs_path(name));
  if (stamp) {
    const KnownDevice known = library->probes.find(name, *stamp);
    if (known.device != nullptr) {
      const Made<ibv_context> context = verbs.open_device(known.device);
      if (context) return opened(library, context.handle, true, known, true);
      library->probes.forget(name);
      return Failure(cannot_open(*library, known.probed->id, true, context.error, context.errno_missing));
    }
  }
  auto list = list_devices(*library);
  if (!list) return Failure(std::move(list.error()));
  ibv_device* const device = (*list)->find(name);
  if (device == nullptr) {
    if (!stamp) return Failure(no_such_device(*library, name, **list));
    const DeviceId id = identify(verbs, library->host(), name, std::nullopt, 0);
    return Failure(cannot_open(*library, id, false, ENODEV, false));
  }
  const Made<ibv_context> context = verbs.open_device(device);
  if (!context) {
    const DeviceId id = identify(verbs, library->host(), name, std::nullopt, 0);
    return Failure(cannot_open(*library, id, true, context.error, context.errno_missing));
  }
  auto known = probe(*library, context.handle, name, stamp, std::move(*list));
  if (!known) {
    verbs.close_device(context.handle);
    return Failure(std::move(known.error()));
  }
  report_opened(*library, *known);
  return opened(library, context.handle, true, *known, false);
}

Result<Device> adopt_context(const std::shared_ptr<Library::State>& library, ibv_context* context) {
  if (context == nullptr) {
    return Failure(plain_error(ErrorKind::invalid_request, 0, "a null ibv_context cannot be adopted"));
  }
  Verbs& verbs = *library->verbs;
  const std::string name = verbs.get_device_name(context->device);
  const auto stamp = verbs.entry_stamp(sysfs_path(name));
  if (stamp) {
    const KnownDevice known = library->probes.find(name, *stamp);
    if (known.probed) return opened(library, context, false, known, true);
  }
  // Nothing is kept under the caller's ibv_device: its list is the caller's to free.
  auto known = probe(*library, context, name, std::nullopt, nullptr);
  if (!known) return Failure(std::move(known.error()));
  report_opened(*library, *known);
  return opened(library, context, false, *known, false);
}

}  // namespace verbena
