// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "contract/lacking.hpp"
#include "device/device_state.hpp"
#include "objects/ladder.hpp"
#include "verbena/result.hpp"

namespace verbena {

/// What was to be made, or done with it, when the device said no.
struct Attempt {
  const char* verb = "";         ///< `ibv_create_cq`
  const char* object = "";       ///< `completion queue`
  std::uint64_t need_bytes = 0;  ///< memory that it takes, by the contract's formulas; 0 when unknown
  /// The one number that was asked for, where there is only one.
  const FieldGrant* field = nullptr;
  bool creates = true;  ///< counted among the refused creations
  /// For a call that makes nothing: what to do where the driver lacks it.
  const char* without = "";
  bool torn = false;  ///< the object may be half changed by now
};

/// The error of a refused creation: device_gone when the device is, no_memory with RLIMIT_MEMLOCK, what is locked and
/// what was needed, permission, unsupported, else refused with the errno and every try. Counts and logs it.
[[gnu::cold]] Error refusal(Device::State& device, const Attempt& attempt, const TryResult& last,
                            std::span<const LadderStep> steps = {});

/// The error of an object that came out smaller than the floor of its request; counted among the refused creations.
Error fell_short(Device::State& device, const FieldGrant& field, std::uint32_t floor);

/// A creation that fit refuses: counted as those are that the device refuses.
[[gnu::cold]] tl::unexpected<Error> unfit(Device::State& device, Error error);

/// Counts a success, and logs each adjustment that the policy wants logged.
void made_it(Device::State& device, const char* object, const GrantNotes& notes, Policy policy);

/// device_gone before anything is tried on a device that is known to be gone; empty otherwise.
[[gnu::cold]] tl::unexpected<Error> gone(const Device::State& device);

}  // namespace verbena
