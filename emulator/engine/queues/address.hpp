// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "engine/wire/ip.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::queues {

/// What an address vector comes to: where packets go, from where, and marked how.
struct Address {
  wire::Ip ip;
  wire::Udp udp;
};

}  // namespace verbena::engine::queues
