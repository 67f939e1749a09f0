// SPDX-License-Identifier: Apache-2.0 OR MIT
// Network namespaces that tests make for themselves.
#pragma once

#include <string>

#include "engine/wire/ip.hpp"

namespace engine_test {

/// Moves this process into a network namespace of its own, with 127.0.0.0/8 and fd00::1 to fd00::9 on its loopback.
/// What is missing where that is not allowed; empty where it was done. Only the first call does anything.
const std::string& own_network();

/// fd00::host
verbena::engine::wire::Gid unique_local(unsigned host);

/// Gives that namespace two links that are joined, verbena0 and verbena1, with room for every path MTU: 10.77.0.1,
/// fd77::1 and fd77::2 are on the first, and what it sends leaves packet by packet, as it does on a cable. What is
/// missing where that is not allowed.
const std::string& own_links();

/// Runs a command of the shell, quietly; true where it ends with 0.
bool run(const std::string& command);

}  // namespace engine_test
