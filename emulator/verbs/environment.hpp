// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "verbena/result.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {

// What `verbena run` hands to libverbena-emulated.so (docs/emulator.md).
inline constexpr const char* kNicsVariable = "VERBENA_EMULATED_NICS";            ///< MODEL[,MODEL...]
inline constexpr const char* kNetVariable = "VERBENA_EMULATED_NET";              ///< shm, udp or inproc
inline constexpr const char* kFabricVariable = "VERBENA_EMULATED_FABRIC";        ///< a name
inline constexpr const char* kAddressesVariable = "VERBENA_EMULATED_ADDRESSES";  ///< ADDRESS[,ADDRESS...]
inline constexpr const char* kFaultsVariable = "VERBENA_EMULATED_FAULTS";  ///< NAME[:PARAMETER=VALUE]...[,NAME...]
inline constexpr const char* kLossVariable = "VERBENA_EMULATED_LOSS";      ///< of a packet, from 0 to below 1
inline constexpr const char* kSeedVariable = "VERBENA_EMULATED_SEED";      ///< of what is drawn, from 0

/// The value of a variable; nothing where it isn't set.
using Variables = std::function<std::optional<std::string>(const char* name)>;

/// What whoever set a variable knows it by: the option of a command, or the variable.
using Naming = std::function<std::string(const char* variable)>;

/// What these variables ask for. Errors name the variable as `naming` has it, what it has and what is allowed: no or an
/// unknown model, an unknown fault or net, a number that is none.
[[nodiscard]] Result<EmulatedOptions> options_from(
    const Variables& variables, const Naming& naming = [](const char* variable) { return std::string(variable); });

}  // namespace verbena::emulator
