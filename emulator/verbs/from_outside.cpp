// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is done to the NICs from outside (verbena/emulated.hpp): links, addresses, packets, dma-bufs.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {

namespace {

engine::wire::Gid gid_of(const IpAddress& address) {
  engine::wire::Gid gid{};
  std::transform(address.begin(), address.end(), gid.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
  return gid;
}

}  // namespace

void EmulatedVerbs::tell(const Nic& nic, std::uint8_t port, ibv_event_type type) {
  AsyncEvent event;
  event.event.event_type = type;
  event.event.element.port_num = port;
  for (Context* const each : contexts_) {
    if (each->nic == &nic) each->events.push(event);
  }
}

int EmulatedVerbs::set_link(ibv_context* context, std::uint8_t port, bool up) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports()) return EINVAL;
  const ibv_port_state before = nic.state(port);
  nic.set_link(port, up);
  write_files(nic);
  if (const ibv_port_state now = nic.state(port); now != before)
    tell(nic, port, now == IBV_PORT_DOWN ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
  host_->progress();
  return 0;
}

int EmulatedVerbs::set_interface_mtu(ibv_context* context, std::uint8_t port, std::uint32_t bytes) {
  constexpr std::uint32_t kLeast = 68;  // linux include/linux/if_ether.h ETH_MIN_MTU, ETH_MAX_MTU
  constexpr std::uint32_t kMost = 65535;
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports() || bytes < kLeast || bytes > kMost) return EINVAL;
  nic.set_interface_mtu(port, bytes);
  write_files(nic);
  return 0;
}

int EmulatedVerbs::add_address(ibv_context* context, std::uint8_t port, const IpAddress& address) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports()) return EINVAL;
  bool changed = false;
  if (const int error = nic.add_address(port, gid_of(address), changed); error != 0) return error;
  if (changed) tell(nic, port, IBV_EVENT_GID_CHANGE);
  return 0;
}

int EmulatedVerbs::remove_address(ibv_context* context, std::uint8_t port, const IpAddress& address) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports()) return EINVAL;
  bool changed = false;
  if (const int error = nic.remove_address(port, gid_of(address), changed); error != 0) return error;
  if (changed) tell(nic, port, IBV_EVENT_GID_CHANGE);
  return 0;
}

int EmulatedVerbs::spoil_packets(const SpoiledPackets& how) {
  const std::scoped_lock lock(host_->mutex);
  engine::fabric::Impairments wire;
  wire.lost = how.lost;
  wire.answers_lost = how.answers_lost;
  wire.doubled = how.doubled;
  wire.late = how.late;
  wire.corrupted = how.corrupted;
  wire.delayed = how.held_up;
  wire.delay = how.hold_up;
  Net* const net = host_->net();
  return net != nullptr && net->impair(wire) ? 0 : EOPNOTSUPP;
}

int EmulatedVerbs::make_dmabuf(std::size_t bytes) {
  const int memory = memfd_create("verbena-dmabuf", MFD_CLOEXEC);
  if (memory < 0) return -errno;
  if (ftruncate(memory, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(memory);
    return -error;
  }
  return memory;
}

}  // namespace verbena::emulator
