// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/beside_emulated.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>

#include "verbena/emulated.hpp"

namespace verbena {
namespace {

#define VERBENA_WORD_OF(name) #name
#define VERBENA_WORD(name) VERBENA_WORD_OF(name)

using NicsOfProcess = Verbs* (*)();

NicsOfProcess nics_of_process() noexcept {
  static const auto function =
      reinterpret_cast<NicsOfProcess>(::dlsym(RTLD_DEFAULT, VERBENA_WORD(VERBENA_EMULATED_NICS)));
  return function;
}

/// Those of this process, which in a child of fork() are others; null while they are being made.
Verbs* nics() {
  const NicsOfProcess function = nics_of_process();
  return function != nullptr ? function() : nullptr;
}

/// 0 where the emulated NICs have the answer, else what the host says.
template <class Ask, class AskHost>
int first_of(Ask ask, AskHost ask_host) {
  Verbs* const emulated = nics();
  return emulated != nullptr && ask(*emulated) == 0 ? 0 : ask_host();
}

template <class Entry, class Ask>
int both(std::vector<Entry>& all, Ask ask, int host) {
  Verbs* const emulated = nics();
  std::vector<Entry> first;
  if (emulated == nullptr || ask(*emulated, first) != 0 || first.empty()) return host;
  if (host == 0) first.insert(first.end(), all.begin(), all.end());
  all = std::move(first);
  return 0;
}

constexpr std::uint32_t kFirstIndex = 1U << 30;

bool is_emulated(const ibv_device* device) {
  Verbs* const emulated = nics();
  if (emulated == nullptr) return false;
  int count = 0;
  const auto list = emulated->get_device_list(count);
  if (!list) return false;
  const bool listed = std::find(list.handle, list.handle + count, device) != list.handle + count;
  emulated->free_device_list(list.handle);
  return listed;
}

}  // namespace

bool runs_on_emulated() noexcept {
  return nics_of_process() != nullptr;
}

bool emulated_by_run(const ibv_context* context) {
  return context != nullptr && is_emulated(context->device);
}

int BesideEmulated::get_device_index(ibv_device* device) {
  const int index = RealVerbs::get_device_index(device);
  return index >= 0 && is_emulated(device) ? index + static_cast<int>(kFirstIndex) : index;
}

int BesideEmulated::netlink_devices(std::vector<NetlinkDevice>& devices) {
  const int host = RealVerbs::netlink_devices(devices);
  const auto ask = [](Verbs& emulated, std::vector<NetlinkDevice>& first) {
    const int error = emulated.netlink_devices(first);
    for (NetlinkDevice& device : first) device.index += kFirstIndex;
    return error;
  };
  return both(devices, ask, host);
}

int BesideEmulated::netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) {
  if (device_index < kFirstIndex) return RealVerbs::netlink_uverbs(device_index, chardev);
  Verbs* const emulated = nics();
  return emulated != nullptr ? emulated->netlink_uverbs(device_index - kFirstIndex, chardev) : ENODEV;
}

int BesideEmulated::read_file(const std::string& path, std::string& text) {
  return first_of([&](Verbs& emulated) { return emulated.read_file(path, text); },
                  [&] { return RealVerbs::read_file(path, text); });
}

int BesideEmulated::read_link(const std::string& path, std::string& target) {
  return first_of([&](Verbs& emulated) { return emulated.read_link(path, target); },
                  [&] { return RealVerbs::read_link(path, target); });
}

int BesideEmulated::real_path(const std::string& path, std::string& resolved) {
  return first_of([&](Verbs& emulated) { return emulated.real_path(path, resolved); },
                  [&] { return RealVerbs::real_path(path, resolved); });
}

int BesideEmulated::list_directory(const std::string& path, std::vector<std::string>& names) {
  const int host = RealVerbs::list_directory(path, names);
  return both(names, [&path](Verbs& emulated, auto& first) { return emulated.list_directory(path, first); }, host);
}

int BesideEmulated::access(const std::string& path, int mode) {
  return first_of([&](Verbs& emulated) { return emulated.access(path, mode); },
                  [&] { return RealVerbs::access(path, mode); });
}

std::optional<std::uint64_t> BesideEmulated::entry_stamp(const std::string& path) {
  Verbs* const emulated = nics();
  const auto stamp = emulated != nullptr ? emulated->entry_stamp(path) : std::nullopt;
  return stamp ? stamp : RealVerbs::entry_stamp(path);
}

HostName BesideEmulated::host_name() {
  Verbs* const emulated = nics();
  return emulated != nullptr ? emulated->host_name() : RealVerbs::host_name();
}

std::string BesideEmulated::interface_name(std::uint32_t interface_index) {
  Verbs* const emulated = nics();
  const std::string name = emulated != nullptr ? emulated->interface_name(interface_index) : std::string();
  return name.empty() ? RealVerbs::interface_name(interface_index) : name;
}

int BesideEmulated::interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) {
  const int host = RealVerbs::interface_addresses(interface, addresses);
  return both(
      addresses, [&interface](Verbs& emulated, auto& first) { return emulated.interface_addresses(interface, first); },
      host);
}

/// A provider's code is libverbena-emulated.so's.
std::string BesideEmulated::library_of(const void* code) {
  Verbs* const emulated = nics();
  Dl_info asked{};
  Dl_info own{};
  const bool same = code != nullptr && ::dladdr(code, &asked) != 0 &&
                    ::dladdr(reinterpret_cast<const void*>(nics_of_process()), &own) != 0 &&
                    asked.dli_fbase == own.dli_fbase;
  return emulated != nullptr && same ? emulated->library_of(code) : RealVerbs::library_of(code);
}

std::string BesideEmulated::libibverbs_path() {
  Verbs* const emulated = nics();
  return emulated != nullptr ? emulated->libibverbs_path() : RealVerbs::libibverbs_path();
}

void* BesideEmulated::vendor_function(const char* library, const char* function) {
  Verbs* const emulated = nics();
  return emulated != nullptr ? emulated->vendor_function(library, function)
                             : RealVerbs::vendor_function(library, function);
}

}  // namespace verbena
