// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_board.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <new>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/fabric/futex.hpp"
#include "engine/fabric/shared_file.hpp"

namespace verbena::engine::fabric {

namespace {

/// Changes with the layout of anything in the file.
constexpr std::uint64_t kMagic = 0x5665'7262'656e'0001;

/// Parts of the file begin at multiples of the largest page that Linux has for a small one (arm64, ppc64: 64 KiB), so
/// that each can be mapped for itself whatever the page size is.
constexpr std::size_t kPart = std::size_t{1} << 16;

constexpr std::size_t parts(std::size_t bytes) noexcept {
  return (bytes + kPart - 1) / kPart * kPart;
}

constexpr std::size_t kRingPart = kPart + kRingBytes;  // its head, and its data
static_assert(sizeof(RingControl) <= kPart && kRingBytes % kPart == 0);

std::uint64_t ring_at(std::uint32_t from, std::uint32_t to) noexcept;

}  // namespace

/// The first bytes of the file.
struct SharedBoard::Head {
  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint32_t> joined;  ///< how many ever did
  std::array<SharedSlot, kSlots + 1> slots;
};

namespace {

// The head has no pointers and only numbers of fixed size: the same for all processes of a host.
constexpr std::size_t kHeadBytes = parts(sizeof(std::uint64_t) * 64 + sizeof(SharedSlot) * (kSlots + 1));
constexpr std::uint64_t kFileBytes = kHeadBytes + std::uint64_t{kSlots + 1} * (kSlots + 1) * kRingPart;

std::uint64_t ring_at(std::uint32_t from, std::uint32_t to) noexcept {
  return kHeadBytes + (std::uint64_t{from} * (kSlots + 1) + to) * kRingPart;
}

void* map_part(int file, std::uint64_t at, std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(at));
  if (memory == MAP_FAILED) return nullptr;
  // A child has none of it.
  ::madvise(memory, bytes, MADV_DONTFORK);
  return memory;
}

}  // namespace

tl::expected<SharedBoard, JoinFailure> SharedBoard::join(const std::string& name, mode_t mode,
                                                         const std::uint64_t& witness) {
  const auto failure = [&name](int error, const char* what) {
    return tl::unexpected(JoinFailure{error, "shared fabric '" + name + "': " + what});
  };
  static_assert(sizeof(Head) <= kHeadBytes);
  const auto path = shared_file::path(name);
  if (!path) return failure(EINVAL, "a name is 1 to 64 of A-Z a-z 0-9 . _ -, and doesn't begin with a dot");
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    SharedBoard board;
    board.path_ = *path;
    auto opened = shared_file::open(*path, mode);
    if (!opened) return failure(opened.error(), "its file can't be opened, or is another user's");
    board.file_ = *opened;
    if (!shared_file::gate(board.file_)) return failure(ETIMEDOUT, "someone holds its door");
    if (!shared_file::still_there(*path, board.file_)) continue;  // the last one took it away meanwhile
    if (!shared_file::grow(board.file_, kFileBytes)) return failure(errno, "no file that large (ulimit -f?)");
    if (!shared_file::give(board.file_, 0, kHeadBytes)) return failure(errno, "no room in /dev/shm");
    board.memory_ = static_cast<std::byte*>(map_part(board.file_, 0, kHeadBytes));
    if (board.memory_ == nullptr) return failure(errno, "its file can't be mapped");
    Head& head = *reinterpret_cast<Head*>(board.memory_);
    const std::uint64_t magic = head.magic.load(std::memory_order_acquire);
    bool lived_in = false;
    for (std::uint32_t slot = 1; slot <= kSlots; ++slot) lived_in = lived_in || board.lived_in(slot);
    if (!lived_in && (magic != 0 || head.joined.load(std::memory_order_relaxed) != 0)) {
      // All have died. What they left isn't looked at.
      ::unlink(path->c_str());
      continue;
    }
    if (magic == 0) head.magic.store(kMagic, std::memory_order_release);
    if (lived_in && magic != kMagic) return failure(EPROTO, "those on it are of another version");
    if (!board.claim(witness)) return failure(EUSERS, "all its slots are taken");
    shared_file::ungate(board.file_);
    return board;
  }
  return failure(EAGAIN, "its file goes away each time");
}

SharedBoard::SharedBoard(SharedBoard&& from) noexcept
    : path_(std::move(from.path_)),
      file_(std::exchange(from.file_, -1)),
      memory_(std::exchange(from.memory_, nullptr)),
      slot_(std::exchange(from.slot_, 0)),
      incarnation_(std::exchange(from.incarnation_, 0)) {}

SharedBoard::~SharedBoard() {
  if (memory_ != nullptr) ::munmap(memory_, kHeadBytes);
  if (file_ >= 0) ::close(file_);
}

void SharedBoard::forget() noexcept {
  memory_ = nullptr;
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

SharedSlot& SharedBoard::at(std::uint32_t slot) const noexcept {
  return reinterpret_cast<Head*>(memory_)->slots[slot];
}

/// A free slot, or one of a process that ended; of those the one that was left first. Behind the gate.
bool SharedBoard::claim(const std::uint64_t& witness) noexcept {
  Head& head = *reinterpret_cast<Head*>(memory_);
  for (std::uint32_t slot = 1; slot <= kSlots && slot_ == 0; ++slot) {
    SharedSlot& found = at(slot);
    if (found.incarnation.load(std::memory_order_relaxed) != 0 || found.version.load(std::memory_order_relaxed) != 0)
      continue;
    if (shared_file::hold(file_, slot)) slot_ = slot;
  }
  // None that was never used.
  for (std::uint32_t slot = 1; slot <= kSlots && slot_ == 0; ++slot) {
    const auto says = read(slot);
    if (says && lives(slot, says->process)) continue;
    if (shared_file::hold(file_, slot)) slot_ = slot;
  }
  if (slot_ == 0) return false;
  incarnation_ = head.joined.fetch_add(1, std::memory_order_relaxed) + 1;
  SharedSlot& mine = own();
  const ProcessIdentity process = ProcessIdentity::own();
  const std::uint32_t version = mine.version.load(std::memory_order_relaxed) | 1U;
  mine.version.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  mine.incarnation.store(incarnation_, std::memory_order_relaxed);
  mine.process.store(static_cast<std::uint32_t>(process.number), std::memory_order_relaxed);
  mine.started.store(process.started, std::memory_order_relaxed);
  mine.name_space.store(process.name_space, std::memory_order_relaxed);
  mine.witness_at.store(reinterpret_cast<std::uintptr_t>(&witness), std::memory_order_relaxed);
  mine.witness.store(witness, std::memory_order_relaxed);
  mine.addresses.store(0, std::memory_order_relaxed);
  mine.asleep.store(0, std::memory_order_relaxed);
  for (auto& made : mine.made) made.store(0, std::memory_order_relaxed);
  mine.version.store(version + 1, std::memory_order_release);
  knock_all();
  return true;
}

void SharedBoard::leave() noexcept {
  if (slot_ == 0 || memory_ == nullptr) return;
  // Without the gate it is as after a kill: who joins next finds the slot.
  if (!shared_file::gate(file_)) return;
  SharedSlot& mine = own();
  const std::uint32_t version = mine.version.load(std::memory_order_relaxed) | 1U;
  mine.version.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  mine.incarnation.store(0, std::memory_order_relaxed);
  mine.addresses.store(0, std::memory_order_relaxed);
  mine.version.store(version + 1, std::memory_order_release);
  bool others = false;
  for (std::uint32_t slot = 1; slot <= kSlots; ++slot) {
    if (slot != slot_ && lived_in(slot)) others = true;
  }
  if (others) {
    knock_all();
  } else if (shared_file::still_there(path_, file_)) {
    ::unlink(path_.c_str());
  }
  shared_file::let_go(file_, slot_);
  shared_file::ungate(file_);
  slot_ = 0;
}

void SharedBoard::publish(const std::vector<wire::Gid>& gids) noexcept {
  SharedSlot& mine = own();
  const std::uint32_t version = mine.version.load(std::memory_order_relaxed) | 1U;
  mine.version.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(gids.size(), kMostAddresses));
  for (std::uint32_t index = 0; index < count; ++index) {
    mine.gids[index][0].store(wire::load<std::uint64_t>(gids[index].data()), std::memory_order_relaxed);
    mine.gids[index][1].store(wire::load<std::uint64_t>(gids[index].data() + 8), std::memory_order_relaxed);
  }
  mine.addresses.store(count, std::memory_order_relaxed);
  mine.version.store(version + 1, std::memory_order_release);
}

std::optional<SlotSays> SharedBoard::read(std::uint32_t slot) const {
  const SharedSlot& from = at(slot);
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    SlotSays says;
    says.version = from.version.load(std::memory_order_acquire);
    if (says.version % 2 != 0) {
      std::this_thread::yield();
      continue;
    }
    says.incarnation = from.incarnation.load(std::memory_order_relaxed);
    says.process = {.number = static_cast<pid_t>(from.process.load(std::memory_order_relaxed)),
                    .started = from.started.load(std::memory_order_relaxed),
                    .name_space = from.name_space.load(std::memory_order_relaxed)};
    says.owner = {.process = says.process.number,
                  .witness_at = from.witness_at.load(std::memory_order_relaxed),
                  .witness = from.witness.load(std::memory_order_relaxed)};
    const std::uint32_t count = std::min(from.addresses.load(std::memory_order_relaxed), kMostAddresses);
    for (std::uint32_t index = 0; index < count; ++index) {
      wire::Gid gid;
      wire::store(gid.data(), from.gids[index][0].load(std::memory_order_relaxed));
      wire::store(gid.data() + 8, from.gids[index][1].load(std::memory_order_relaxed));
      says.gids.push_back(gid);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (from.version.load(std::memory_order_relaxed) != says.version) continue;
    if (says.incarnation == 0) return std::nullopt;
    return says;
  }
  return std::nullopt;
}

bool SharedBoard::held(std::uint32_t slot) const noexcept {
  return shared_file::held(file_, slot);
}

/// Somebody holds it, and isn't a child that was left behind.
bool SharedBoard::lived_in(std::uint32_t slot) const {
  if (!held(slot)) return false;
  const auto says = read(slot);
  return !says || !has_ended(says->process);
}

bool SharedBoard::lives(std::uint32_t slot, const ProcessIdentity& process) const noexcept {
  // A child that closed nothing keeps the lock of a parent that is gone.
  return slot == slot_ || (held(slot) && !has_ended(process));
}

void SharedBoard::knock(std::uint32_t slot) const noexcept {
  at(slot).knocks.fetch_add(1, std::memory_order_release);
  // Pairs with the one before the sleeper looks for the last time: one of the two sees what the other wrote.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (at(slot).asleep.load(std::memory_order_relaxed) != 0) wake(slot);
}

void SharedBoard::knock_all() const noexcept {
  for (std::uint32_t slot = 1; slot <= kSlots; ++slot) {
    if (slot != slot_ && at(slot).incarnation.load(std::memory_order_relaxed) != 0) knock(slot);
  }
}

void SharedBoard::wake(std::uint32_t slot) const noexcept {
  SharedSlot& sleeper = at(slot);
  if (sleeper.asleep.exchange(0, std::memory_order_relaxed) == 0) return;
  sleeper.bell.fetch_add(1, std::memory_order_release);
  futex_wake(sleeper.bell);
}

RingMapping SharedBoard::map(std::uint32_t from, std::uint32_t to, bool made) const noexcept {
  const std::uint64_t at = ring_at(from, to);
  if (made && !give(from, to)) return {};
  auto* const memory = static_cast<std::byte*>(map_part(file_, at, kRingPart));
  if (memory == nullptr) return {};
  return {reinterpret_cast<RingControl*>(memory), memory + kPart};
}

bool SharedBoard::give(std::uint32_t from, std::uint32_t to) const noexcept {
  return shared_file::give(file_, ring_at(from, to), kRingPart);
}

void SharedBoard::unmap(const RingMapping& ring) noexcept {
  if (ring.control != nullptr) ::munmap(ring.control, kRingPart);
}

void SharedBoard::empty(std::uint32_t from, std::uint32_t to) const noexcept {
  shared_file::take(file_, ring_at(from, to) + kPart, kRingBytes);
}

}  // namespace verbena::engine::fabric
