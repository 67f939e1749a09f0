// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "cm/identifier.hpp"

namespace verbena::emulator::cm {

/// Who holds which port of which port space. Source of its rules: linux drivers/infiniband/core/cma.c cma_use_port,
/// cma_check_port, cma_alloc_any_port.
class Ports {
public:
  explicit Ports(std::uint32_t seed) : random_(seed) {}

  /// The port of its source address, or one of its own where that is 0, which is put there. 0, EADDRNOTAVAIL,
  /// EADDRINUSE.
  int take(Identifier& id);
  void give(Identifier& id) noexcept;
  /// Whether it may listen on the port that it has, others being there.
  int may_listen(const Identifier& id) const;
  std::span<Identifier* const> owners(int port_space, std::uint16_t port) const noexcept;
  /// An id of a connection that came in has the port of its listener without a claim to it.

private:
  static int judge(const Identifier& id, std::span<Identifier* const> owners, bool reuses_address) noexcept;

  std::mt19937 random_;
  std::map<std::pair<int, std::uint16_t>, std::vector<Identifier*>> owners_;
};

}  // namespace verbena::emulator::cm
