// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "verbena/verbs.hpp"
#include "verbena/version.h"

#define VERBENA_EMULATED_NICS_OF(major, minor, patch) verbena_emulated_nics_##major##_##minor##_##patch
#define VERBENA_EMULATED_NICS_AS(major, minor, patch) VERBENA_EMULATED_NICS_OF(major, minor, patch)
/// What libverbena-emulated.so exports for a libverbena of its own version: a function without parameters that gives
/// the table (verbena::Verbs*) of this process's emulated NICs, null while they are being made.
#define VERBENA_EMULATED_NICS \
  VERBENA_EMULATED_NICS_AS(VERBENA_VERSION_MAJOR, VERBENA_VERSION_MINOR, VERBENA_VERSION_PATCH)

#pragma GCC visibility push(default)
namespace verbena {

/// What becomes of packets between emulated NICs. Chances are of a million packets, each drawn for itself.
struct SpoiledPackets {
  std::uint32_t lost = 0;
  std::uint32_t answers_lost = 0;  ///< of those that answer a request, where that is more than `lost`
  std::uint32_t doubled = 0;
  std::uint32_t late = 0;          ///< come behind four that were sent after them
  std::uint32_t corrupted = 0;     ///< with one bit changed
  std::uint32_t held_up = 0;       ///< come `hold_up` after they were sent
  std::chrono::nanoseconds hold_up{};
};

/// What is done to emulated NICs from outside, as an operator does it to real ones and to the network between them. A
/// NIC is named by any open context of it. Each call gives 0 or a positive errno; EINVAL: there is no such port. Any
/// thread may call.
class EmulatedHost {
public:
  virtual ~EmulatedHost() = default;
  EmulatedHost(const EmulatedHost&) = delete;
  EmulatedHost& operator=(const EmulatedHost&) = delete;

  /// Takes a port's link down, or up again: IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE in each open context. Nothing
  /// comes or goes in between.
  virtual int set_link(ibv_context* context, std::uint8_t port, bool up) = 0;
  /// Bytes of the largest packet of the port's interface (68 to 65535); the path MTU follows it, up to the port's
  /// largest.
  virtual int set_interface_mtu(ibv_context* context, std::uint8_t port, std::uint32_t bytes) = 0;
  /// The port's interface gets an address: EEXIST, it has it; ENOSPC, the GID table is full. On RoCE its entries come
  /// into the GID table, at the lowest free places, and IBV_EVENT_GID_CHANGE tells of it.
  virtual int add_address(ibv_context* context, std::uint8_t port, const IpAddress& address) = 0;
  /// The same the other way round; EADDRNOTAVAIL: it isn't there.
  virtual int remove_address(ibv_context* context, std::uint8_t port, const IpAddress& address) = 0;
  /// What becomes of packets from now on, between all NICs of the host; none: nothing. EOPNOTSUPP: they are joined by
  /// what other processes share.
  virtual int spoil_packets(const SpoiledPackets& how) = 0;
  /// A descriptor of memory of the host that its NICs register as a dma-buf, to be closed by the caller; or a negative
  /// errno.
  virtual int make_dmabuf(std::size_t bytes) = 0;

protected:
  EmulatedHost() = default;
};

/// The host behind a table of emulated NICs; null where the table is another one's.
inline EmulatedHost* emulated_host(Verbs& verbs) noexcept {
  return dynamic_cast<EmulatedHost*>(&verbs);
}

/// Whether the device of an open context is an emulated NIC that `verbena run` put in front of libibverbs.
bool emulated_by_run(const ibv_context* context);

}  // namespace verbena
#pragma GCC visibility pop
