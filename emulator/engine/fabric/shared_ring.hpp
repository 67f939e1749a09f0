// SPDX-License-Identifier: Apache-2.0 OR MIT
// A ring of messages from one process to another, in memory that both have mapped. One writes and one reads. Neither
// believes what the other one wrote: numbers are copied out once, and checked before they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace verbena::engine::fabric {

/// What a line of the cache is kept apart by; two lines, since x86 fetches them in pairs.
inline constexpr std::size_t kApart = 128;

/// Numbers that lie in shared memory are atomic there, without a lock, or they can't be shared.
template <class Number>
inline constexpr bool kShareable =
    std::atomic<Number>::is_always_lock_free && sizeof(std::atomic<Number>) == sizeof(Number);
static_assert(kShareable<std::uint32_t> && kShareable<std::uint64_t>);

/// The head of a ring, as it lies in shared memory. Zeros are a ring that nobody uses.
struct RingControl {
  // The writer's.
  alignas(kApart) std::atomic<std::uint64_t> tail;  ///< bytes that were ever written
  std::atomic<std::uint32_t> wants_room;  ///< it found the ring full: the reader wakes it when there is room
  std::atomic<std::uint32_t> writer;  ///< whose ring it is: incarnations of both (SharedBoard)
  std::atomic<std::uint32_t> reader;
  // The reader's.
  alignas(kApart) std::atomic<std::uint64_t> head;  ///< bytes that were ever read
  std::atomic<std::uint32_t> attached;  ///< incarnation of the writer that it reads from; 0: it does not
  std::atomic<std::uint32_t> pulls;  ///< it can read the writer's memory
};

/// The first bytes of each message.
struct RingFrame {
  std::uint32_t bytes = 0;  ///< of the message, with this; a multiple of kStep
  std::uint32_t kind = 0;  ///< kSkip: nothing, the ring begins anew behind it

  static constexpr std::uint32_t kSkip = 0;
};

inline constexpr std::uint32_t kRingStep = 64;  ///< messages begin at multiples of it
inline constexpr std::uint32_t kRingBytes = 1U << 18;  ///< fits a core's own cache, and holds 2,000 of the smallest
inline constexpr std::uint32_t kMostMessage = kRingBytes / 4;

/// The writing end.
class RingWriter {
public:
  RingWriter() = default;
  /// `data` has kRingBytes; both are zeros, or were a ring before, which begins anew.
  RingWriter(RingControl& control, std::byte* data) noexcept;

  /// Room for a message of so many bytes, which begins with its RingFrame; null where there is none. Nobody sees what
  /// is written there before publish().
  std::byte* reserve(std::uint32_t bytes) noexcept;
  /// Hands over what was reserved.
  void publish() noexcept;

  /// Where the message that was reserved last begins, of all bytes that were ever written.
  std::uint64_t position() const noexcept { return position_; }
  /// Bytes that were ever read, as far as is known: what lies before is the reader's no more.
  std::uint64_t read() noexcept;
  /// The reader wrote a number that can't be.
  bool broken() const noexcept { return broken_; }
  std::byte* at(std::uint64_t position) noexcept { return data_ + position % kRingBytes; }

private:
  RingControl* control_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t tail_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t position_ = 0;
  std::uint32_t reserved_ = 0;
  bool broken_ = false;
};

/// The reading end.
class RingReader {
public:
  RingReader() = default;
  RingReader(RingControl& control, std::byte* data) noexcept;

  /// The oldest message, at least a RingFrame and whole within the ring; empty where there is none. What it holds may
  /// change under the reader's eyes.
  std::span<std::byte> front() noexcept;
  /// The oldest one is done with.
  void pop() noexcept;
  /// The writer wrote a number that can't be. Nothing more is read.
  bool broken() const noexcept { return broken_; }

private:
  RingControl* control_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::uint32_t bytes_ = 0;
  bool broken_ = false;
};

}  // namespace verbena::engine::fabric
