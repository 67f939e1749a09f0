// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "rig/loop.hpp"

namespace conform {

/// One RDMA of the first end against an address and a key of the second: one that must work, or one that must not.
struct Rdma {
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::size_t offset = 0;  ///< of the local bytes in the first end's memory
  std::size_t length = 1;
  std::uint64_t compare_add = 0;  ///< atomics
  std::uint64_t swap = 0;
};

/// Two RC ends whose queue pairs allow all that the device can, so that regions and windows decide.
LoopShape open_to_all(const Case& c, std::size_t bytes = 4096);

bool is_iwarp(const Case& c);

/// Posts it; a positive errno or 0.
int post(Loop& loop, const Rdma& rdma, std::uint64_t wr_id = 1);

/// It must succeed. When this returns true, what it did is seen at the second end: a message that follows it was
/// received there.
bool works(Case& c, Loop& loop, const Rdma& rdma, std::string_view what);

/// It must be refused when posted, or complete in error, with one of `statuses` where any are named; on iWARP, where a
/// write completes as soon as it is sent, the connection must end before anything that follows it arrives. No byte of
/// `guarded` may change. The connection is of no more use afterwards.
bool denied(Case& c, Loop& loop, const Rdma& rdma, std::string_view what,
            std::initializer_list<ibv_wc_status> statuses = {}, const Memory* guarded = nullptr);

}  // namespace conform
