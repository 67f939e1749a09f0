// SPDX-License-Identifier: Apache-2.0 OR MIT
// Bytes from the memory of one program to that of another, or of the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbena::engine::memory {

/// A run of bytes that was found to be allowed. `data` is null where it is a null region's.
struct Piece {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};
using Pieces = std::span<const Piece>;

std::uint64_t bytes_of(Pieces pieces) noexcept;

/// Copies `bytes` bytes (which may overlap) so that they become visible in ascending order, kilobyte by kilobyte, and
/// the last of them, up to eight, in one release store: programs spin on the last byte or word of a message, and then
/// read what came before it.
void copy_in_order(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// As copy_in_order(), from pieces to pieces, beginning `to_offset` and `from_offset` bytes into them. Ends where
/// either ends, and says how many bytes that were.
std::uint64_t copy(Pieces to, std::uint64_t to_offset, Pieces from, std::uint64_t from_offset,
                   std::uint64_t bytes) noexcept;

/// Bytes at the end of these that one store can write: up to eight, as alignment has it.
std::size_t last_store(const std::byte* to, std::size_t bytes) noexcept;
/// Writes the last last_store() of them, which are at `from`, in one release store.
void publish_last(std::byte* to, std::size_t bytes, const std::byte* from) noexcept;

/// The bytes from `offset` on, as pieces of their own in `room`; those that fit, and no more than `bytes`.
Pieces slice(Pieces pieces, std::uint64_t offset, std::uint64_t bytes, std::span<Piece> room) noexcept;

}  // namespace verbena::engine::memory
