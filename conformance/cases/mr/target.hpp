// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rig/rdma.hpp"

namespace conform {

/// Memory of whole pages, and a region over some of it: bytes that a key reaches, and their neighbours that it must
/// not.
struct Target {
  Memory memory;
  std::size_t offset = 0;
  std::size_t length = 0;
  Object<ibv_mr> mr;

  std::uint8_t* first() const noexcept { return memory.data() + offset; }
  std::uint64_t address() const noexcept { return memory.address() + offset; }
  std::uint32_t rkey() const noexcept { return mr->rkey; }
  std::uint32_t lkey() const noexcept { return mr->lkey; }
};

struct TargetShape {
  std::size_t pages = 1;
  std::size_t offset = 0;
  std::size_t length = 0;  ///< 0: up to the end
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
};

/// At one end; what fails is a finding, and ends the case. The memory is filled with a pattern.
Target target(Case& c, const End& end, const TargetShape& shape = {});

/// The bytes of memory as they were, to be held against what they are.
class Before {
public:
  explicit Before(const Memory& memory) : memory_(memory), bytes_(memory.data(), memory.data() + memory.size()) {}
  /// Whether all is as it was but for `length` bytes from `first`, which are as `must`.
  bool only(Case& c, const std::uint8_t* first, const std::uint8_t* must, std::size_t length,
            std::string_view what) const;
  /// Whether all is as it was.
  bool unchanged(Case& c, std::string_view what) const { return only(c, memory_.data(), memory_.data(), 0, what); }

private:
  const Memory& memory_;
  std::vector<std::uint8_t> bytes_;
};

/// A send of `from` whose bytes are named by any address and key.
int send_of(Loop& loop, End& from, std::uint64_t address, std::size_t length, std::uint32_t lkey);
/// A receive of `at` into any address and key.
int receive_into(Loop& loop, End& at, std::uint64_t address, std::size_t length, std::uint32_t lkey);

/// A send named so must be refused when posted, or complete with LOC_PROT_ERR.
void local_key_denied(Case& c, Loop& loop, std::uint64_t address, std::size_t length, std::uint32_t lkey,
                      std::string_view what);

}  // namespace conform
