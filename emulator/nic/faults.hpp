// SPDX-License-Identifier: Apache-2.0 OR MIT
// What switched faults do to calls that make and change things. What they do to data and completions is conduct.hpp's,
// what they make the device say profile.hpp's.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "nic/nic.hpp"

namespace verbena::emulator::faults {

// The errno that a call is refused with; 0 where no switch has a say.

/// A completion queue of so many entries.
int in_cq(const Nic& nic, std::uint32_t depth);
/// A queue pair that is passed these.
int in_qp(const Nic& nic, const ibv_qp_cap& passed);
int in_srq(const Nic& nic, std::uint32_t depth);
/// `access`: IBV_ACCESS_*.
int in_region(const Nic& nic, const void* address, std::size_t length, unsigned access);
int in_window(const Nic& nic);
/// A move to RTR that wants so many responder resources, of which the queue pair holds `held`.
int in_rtr(const Nic& nic, std::uint64_t held, std::uint64_t wanted);
/// The end of any object.
int in_destroy(const Nic& nic);

/// Bytes that the ring of a queue of so many entries pins, as a figure to count with.
constexpr std::uint64_t ring_bytes(std::uint64_t depth) noexcept {
  constexpr std::uint64_t kEntry = 64;
  return depth * kEntry;
}

/// How deep a completion queue is really, which creation grants with `depth`.
std::uint32_t cq_held(const Nic& nic, std::uint32_t depth);

/// What is asked for in place of what a program passes, where inline data is taken and not held.
ibv_qp_cap asked_of(const Nic& nic, ibv_qp_cap passed);
/// What is written back then.
std::uint32_t inline_returned(const Nic& nic, std::uint32_t passed, std::uint32_t held);

}  // namespace verbena::emulator::faults
