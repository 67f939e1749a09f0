// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/random.h>

#include <cerrno>
#include <chrono>

#include "peer/far_verbs.hpp"

namespace conform::peer {

namespace {

Packet text_packet(const std::string& text) {
  Packet packet;
  packet.put_text(text);
  return packet;
}

}  // namespace

int FarVerbs::netlink_devices(std::vector<verbena::NetlinkDevice>& devices) {
  Line::Answer answer = line_.ask(Call::netlink_devices);
  devices.clear();
  const auto count = answer.rest.get<std::uint32_t>();
  for (std::uint32_t at = 0; at < count && answer.rest.good(); ++at) {
    verbena::NetlinkDevice device;
    answer.rest.get(device.index);
    device.name = answer.rest.text();
    device.firmware = answer.rest.text();
    answer.rest.get(device.node_guid);
    answer.rest.get(device.ports);
    devices.push_back(std::move(device));
  }
  return answer.error;
}

int FarVerbs::netlink_uverbs(std::uint32_t device_index, verbena::NetlinkChardev& chardev) {
  Line::Answer answer = line_.ask(Call::netlink_uverbs, device_index);
  if (answer.error != 0) return answer.error;
  chardev.name = answer.rest.text();
  const auto number = [&]() -> std::optional<std::uint32_t> {
    const auto known = answer.rest.get<bool>();
    const auto value = answer.rest.get<std::uint32_t>();
    return known ? std::optional(value) : std::nullopt;
  };
  chardev.abi = number();
  chardev.driver_id = number();
  return 0;
}

int FarVerbs::read_file(const std::string& path, std::string& text) {
  Line::Answer answer = line_.ask(Call::read_file, text_packet(path));
  text = answer.rest.text();
  return answer.error;
}

int FarVerbs::read_link(const std::string& path, std::string& target) {
  Line::Answer answer = line_.ask(Call::read_link, text_packet(path));
  if (answer.error == 0) target = answer.rest.text();
  return answer.error;
}

int FarVerbs::real_path(const std::string& path, std::string& resolved) {
  Line::Answer answer = line_.ask(Call::real_path, text_packet(path));
  if (answer.error == 0) resolved = answer.rest.text();
  return answer.error;
}

int FarVerbs::list_directory(const std::string& path, std::vector<std::string>& names) {
  Line::Answer answer = line_.ask(Call::list_directory, text_packet(path));
  names.clear();
  const auto count = answer.rest.get<std::uint32_t>();
  for (std::uint32_t at = 0; at < count && answer.rest.good(); ++at) names.push_back(answer.rest.text());
  return answer.error;
}

int FarVerbs::access(const std::string& path, int mode) {
  Packet packet = text_packet(path);
  packet.put(mode);
  return line_.ask(Call::access, packet).error;
}

std::optional<std::uint64_t> FarVerbs::entry_stamp(const std::string& path) {
  Line::Answer answer = line_.ask(Call::entry_stamp, text_packet(path));
  if (answer.error != 0) return std::nullopt;
  return answer.rest.get<std::uint64_t>();
}

const FarVerbs::Host& FarVerbs::host() {
  const std::lock_guard lock(mutex_);
  if (host_) return *host_;
  Line::Answer answer = line_.ask(Call::host);
  auto host = std::make_unique<Host>();
  answer.rest.get(host->page_size);
  host->name.release = answer.rest.text();
  host->name.machine = answer.rest.text();
  answer.rest.get(host->memlock.soft);
  answer.rest.get(host->memlock.hard);
  answer.rest.get(host->may_lock);
  host->libibverbs = answer.rest.text();
  host_ = std::move(host);
  return *host_;
}

std::uint32_t FarVerbs::page_size() {
  return host().page_size;
}

verbena::HostName FarVerbs::host_name() {
  return host().name;
}

verbena::MemlockLimit FarVerbs::memlock_limit() {
  return host().memlock;
}

bool FarVerbs::may_lock_memory() {
  return host().may_lock;
}

std::string FarVerbs::libibverbs_path() {
  return host().libibverbs;
}

std::string FarVerbs::interface_name(std::uint32_t interface_index) {
  Line::Answer answer = line_.ask(Call::interface_name, interface_index);
  return answer.rest.text();
}

int FarVerbs::interface_addresses(const std::string& interface, std::vector<verbena::IpAddress>& addresses) {
  Line::Answer answer = line_.ask(Call::interface_addresses, text_packet(interface));
  addresses.clear();
  const auto count = answer.rest.get<std::uint32_t>();
  for (std::uint32_t at = 0; at < count && answer.rest.good(); ++at)
    addresses.push_back(answer.rest.get<verbena::IpAddress>());
  return answer.error;
}

/// The only code that anyone asks about is a context's own (its data path): the far end looks behind its own context.
std::string FarVerbs::library_of(const void*) {
  Line::Answer answer = line_.ask(Call::provider, opened_);
  return answer.rest.text();
}

int FarVerbs::fork_init() {
  return EOPNOTSUPP;
}
ibv_fork_status FarVerbs::is_fork_initialized() {
  return IBV_FORK_DISABLED;
}
const char* FarVerbs::wc_status_str(ibv_wc_status status) {
  return ibv_wc_status_str(status);
}
const char* FarVerbs::event_type_str(ibv_event_type event) {
  return ibv_event_type_str(event);
}
const char* FarVerbs::port_state_str(ibv_port_state state) {
  return ibv_port_state_str(state);
}
const char* FarVerbs::node_type_str(ibv_node_type type) {
  return ibv_node_type_str(type);
}

std::uint64_t FarVerbs::monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint32_t FarVerbs::random32() {
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value)) return value;
  return static_cast<std::uint32_t>(monotonic_ns());
}

void* FarVerbs::vendor_function(const char*, const char*) {
  return nullptr;
}

}  // namespace conform::peer
