// SPDX-License-Identifier: Apache-2.0 OR MIT
// Who is on a shared fabric. One file in /dev/shm holds all: a head, a slot for each process, and room for a ring from
// each slot to each other, of which the host gives memory to those that are used.
//
// A file, and not a memfd that is handed over a socket: it needs nobody who listens, so a process joins though all the
// others sleep, are stopped, or have died. What a file costs is that its name outlives a kill; so it is empty once no
// slot in it is held, and whoever joins then makes a new one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "engine/fabric/process.hpp"
#include "engine/fabric/shared_ring.hpp"
#include "engine/memory/pull.hpp"
#include "engine/wire/ip.hpp"

namespace verbena::engine::fabric {

/// Slots are 1 to kSlots; 0 is nobody's, so that queue pairs 0 and 1 belong to no slot (see Shared::number()).
inline constexpr std::uint32_t kSlots = 128;
inline constexpr std::uint32_t kMostAddresses = 32;

/// One process, as it lies in shared memory. Zeros are a free one.
struct SharedSlot {
  // What it says of itself. Odd while it changes.
  alignas(kApart) std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> incarnation;  ///< of all that ever joined, which one; 0: the slot is free
  std::atomic<std::uint32_t> process;
  std::atomic<std::uint32_t> addresses;
  std::atomic<std::uint64_t> started;
  std::atomic<std::uint64_t> name_space;
  std::atomic<std::uint64_t> witness_at;
  std::atomic<std::uint64_t> witness;
  std::array<std::array<std::atomic<std::uint64_t>, 2>, kMostAddresses> gids;
  // What wakes it.
  alignas(kApart) std::atomic<std::uint32_t> bell;  ///< a futex: counts how often it was woken
  std::atomic<std::uint32_t> asleep;                ///< it has to be
  // Rings to it.
  alignas(kApart) std::atomic<std::uint32_t> knocks;  ///< counts changes of what follows, and of who is there
  std::array<std::atomic<std::uint32_t>, kSlots + 1> made;  ///< by slot: the incarnation that made a ring to it
};

/// What a slot said when it was read.
struct SlotSays {
  std::uint32_t version = 0;
  std::uint32_t incarnation = 0;
  ProcessIdentity process;
  memory::Owner owner;
  std::vector<wire::Gid> gids;
};

/// Why a fabric can't be joined.
struct JoinFailure {
  int error = 0;  ///< errno
  std::string what;
};

/// A ring's memory in this process.
struct RingMapping {
  RingControl* control = nullptr;
  std::byte* data = nullptr;
};

/// This process's hold on the file, and its slot in it. A slot is held by a lock that the kernel lets go when the
/// process ends, however it ends.
class SharedBoard {
public:
  /// `mode`: who may join, as of a file. `witness` is a word that stays where it is while the board is joined.
  static tl::expected<SharedBoard, JoinFailure> join(const std::string& name, mode_t mode,
                                                     const std::uint64_t& witness);
  SharedBoard(SharedBoard&& from) noexcept;
  SharedBoard& operator=(SharedBoard&&) = delete;
  /// Lets go of what this process has mapped. The slot is given back by leave() alone; else it looks as after a kill.
  ~SharedBoard();

  /// Gives the slot back; the last one takes the file away.
  void leave() noexcept;
  /// In a child: lets go of the file, whose mappings the child never had.
  void forget() noexcept;

  std::uint32_t slot() const noexcept { return slot_; }
  std::uint32_t incarnation() const noexcept { return incarnation_; }
  SharedSlot& own() const noexcept { return at(slot_); }
  SharedSlot& at(std::uint32_t slot) const noexcept;

  void publish(const std::vector<wire::Gid>& gids) noexcept;
  /// What that slot says; nullopt where it is free, or says something else each time.
  std::optional<SlotSays> read(std::uint32_t slot) const;
  /// Does its process still live? Asks the kernel.
  bool lives(std::uint32_t slot, const ProcessIdentity& process) const noexcept;
  /// Has it look at the slots and rings again.
  void knock(std::uint32_t slot) const noexcept;
  /// Wakes it where it sleeps.
  void wake(std::uint32_t slot) const noexcept;

  /// The memory of the ring from a slot to another; `made`: the host has to give it. Null where it doesn't.
  RingMapping map(std::uint32_t from, std::uint32_t to, bool made) const noexcept;
  static void unmap(const RingMapping& ring) noexcept;
  /// The host has memory for that ring from now on; false where it has none.
  bool give(std::uint32_t from, std::uint32_t to) const noexcept;
  /// What the ring holds is gone, and the host has its memory again, but for the head.
  void empty(std::uint32_t from, std::uint32_t to) const noexcept;

private:
  struct Head;
  SharedBoard() = default;
  bool claim(const std::uint64_t& witness) noexcept;
  bool held(std::uint32_t slot) const noexcept;
  bool lived_in(std::uint32_t slot) const;
  void knock_all() const noexcept;

  std::string path_;
  int file_ = -1;
  std::byte* memory_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint32_t incarnation_ = 0;
};

}  // namespace verbena::engine::fabric
