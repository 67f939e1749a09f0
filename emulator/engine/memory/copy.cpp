// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/copy.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace verbena::engine::memory {

namespace {

/// memmove's own order is its business; between two of these a fence keeps it.
constexpr std::size_t kOrdered = 1024;

/// Bytes at the end that one store can write, given where that end lies.
template <class Word>
bool fits(const std::byte* to, std::size_t bytes) noexcept {
  return bytes >= sizeof(Word) && reinterpret_cast<std::uintptr_t>(to + bytes) % sizeof(Word) == 0;
}

template <class Word>
Word last_of(const std::byte* from, std::size_t bytes) noexcept {
  Word word;
  std::memcpy(&word, from + bytes - sizeof word, sizeof word);
  return word;
}

template <class Word>
void publish(std::byte* to, std::size_t bytes, Word word) noexcept {
  auto* const at = reinterpret_cast<Word*>(to + bytes - sizeof word);
  std::atomic_ref<Word>(*at).store(word, std::memory_order_release);
}

/// The last word is read first, since the rest may overwrite it where the two overlap.
template <class Word>
void move_and_publish(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const Word word = last_of<Word>(from, bytes);
  std::memmove(to, from, bytes - sizeof word);
  publish(to, bytes, word);
}

struct At {
  std::size_t piece = 0;
  std::uint64_t offset = 0;
};

At find(Pieces pieces, std::uint64_t offset) noexcept {
  At at{0, offset};
  while (at.piece < pieces.size() && at.offset >= pieces[at.piece].bytes) at.offset -= pieces[at.piece++].bytes;
  return at;
}

void move(const Piece& to, std::uint64_t to_offset, const Piece& from, std::uint64_t from_offset,
          std::size_t bytes) noexcept {
  if (to.data == nullptr) return;
  if (from.data == nullptr) {
    std::memset(to.data + to_offset, 0, bytes);
    std::atomic_thread_fence(std::memory_order_release);
    return;
  }
  copy_in_order(to.data + to_offset, from.data + from_offset, bytes);
}

}  // namespace

std::uint64_t bytes_of(Pieces pieces) noexcept {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.bytes;
  return sum;
}

void copy_in_order(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  // Backwards would be right for a message that is moved upwards over itself, and would show its end first.
  const bool upwards = to > from && to < from + bytes;
  while (bytes > kOrdered && !upwards) {
    std::memmove(to, from, kOrdered);
    std::atomic_thread_fence(std::memory_order_release);
    to += kOrdered;
    from += kOrdered;
    bytes -= kOrdered;
  }
  if (bytes == 0) return;
  if (fits<std::uint64_t>(to, bytes)) return move_and_publish<std::uint64_t>(to, from, bytes);
  if (fits<std::uint32_t>(to, bytes)) return move_and_publish<std::uint32_t>(to, from, bytes);
  if (fits<std::uint16_t>(to, bytes)) return move_and_publish<std::uint16_t>(to, from, bytes);
  move_and_publish<std::uint8_t>(to, from, bytes);
}

std::size_t last_store(const std::byte* to, std::size_t bytes) noexcept {
  if (fits<std::uint64_t>(to, bytes)) return sizeof(std::uint64_t);
  if (fits<std::uint32_t>(to, bytes)) return sizeof(std::uint32_t);
  if (fits<std::uint16_t>(to, bytes)) return sizeof(std::uint16_t);
  return bytes > 0 ? 1 : 0;
}

void publish_last(std::byte* to, std::size_t bytes, const std::byte* from) noexcept {
  const std::size_t width = last_store(to, bytes);
  copy_in_order(to + bytes - width, from, width);
}

std::uint64_t copy(Pieces to, std::uint64_t to_offset, Pieces from, std::uint64_t from_offset,
                   std::uint64_t bytes) noexcept {
  if (to.size() == 1 && from.size() == 1) {
    const auto left = [](const Piece& piece, std::uint64_t offset) {
      return piece.bytes - std::min(offset, piece.bytes);
    };
    const std::uint64_t step = std::min({bytes, left(to[0], to_offset), left(from[0], from_offset)});
    move(to[0], to_offset, from[0], from_offset, step);
    return step;
  }
  At there = find(to, to_offset);
  At here = find(from, from_offset);
  std::uint64_t done = 0;
  while (done < bytes && there.piece < to.size() && here.piece < from.size()) {
    const Piece& target = to[there.piece];
    const Piece& source = from[here.piece];
    const std::uint64_t step = std::min({bytes - done, target.bytes - there.offset, source.bytes - here.offset});
    move(target, there.offset, source, here.offset, step);
    done += step;
    there.offset += step;
    here.offset += step;
    if (there.offset == target.bytes) there = {there.piece + 1, 0};
    if (here.offset == source.bytes) here = {here.piece + 1, 0};
  }
  return done;
}

Pieces slice(Pieces pieces, std::uint64_t offset, std::uint64_t bytes, std::span<Piece> room) noexcept {
  At at = find(pieces, offset);
  std::size_t used = 0;
  while (bytes > 0 && at.piece < pieces.size() && used < room.size()) {
    const Piece& piece = pieces[at.piece];
    const std::uint64_t step = std::min<std::uint64_t>(bytes, piece.bytes - at.offset);
    if (step > 0) room[used++] = {piece.data == nullptr ? nullptr : piece.data + at.offset, step};
    bytes -= step;
    at = {at.piece + 1, 0};
  }
  return room.first(used);
}

}  // namespace verbena::engine::memory
