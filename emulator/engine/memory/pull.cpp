// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/pull.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include <sys/uio.h>

namespace verbena::engine::memory {

namespace {

/// Runs that are fetched in one call, the witness not counted.
constexpr std::size_t kRuns = 16;

/// What goes into one call: the same bytes on both sides, however they are cut.
class Batch {
public:
  explicit Batch(const Owner& owner) noexcept : owner_(owner) {}

  bool full() const noexcept { return theirs_used_ == kRuns; }
  bool empty() const noexcept { return theirs_used_ == 0; }

  void add(std::byte* to, std::byte* from, std::size_t bytes) noexcept {
    theirs_[theirs_used_++] = {from, bytes};
    ours_[ours_used_++] = {to, bytes};
    bytes_ += bytes;
  }
  /// The last run: its last word goes elsewhere.
  void add_last(std::byte* to, std::byte* from, std::size_t bytes, std::byte* word) noexcept {
    const std::size_t width = last_store(to, bytes);
    theirs_[theirs_used_++] = {from, bytes};
    if (bytes > width) ours_[ours_used_++] = {to, bytes - width};
    ours_[ours_used_++] = {word, width};
    bytes_ += bytes;
  }

  int fetch() noexcept {
    std::uint64_t witness = ~owner_.witness;
    ours_[ours_used_++] = {&witness, sizeof witness};
    theirs_[theirs_used_++] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(owner_.witness_at)), sizeof witness};
    const ssize_t read = ::process_vm_readv(owner_.process, ours_.data(), ours_used_, theirs_.data(), theirs_used_, 0);
    const std::size_t wanted = bytes_ + sizeof witness;
    ours_used_ = theirs_used_ = bytes_ = 0;
    if (read < 0) return errno;
    if (static_cast<std::size_t>(read) != wanted) return EFAULT;
    return witness == owner_.witness ? 0 : ESRCH;
  }

private:
  const Owner& owner_;
  std::array<iovec, kRuns + 2> ours_;
  std::array<iovec, kRuns + 1> theirs_;
  std::size_t ours_used_ = 0;
  std::size_t theirs_used_ = 0;
  std::size_t bytes_ = 0;
};

struct Cursor {
  std::size_t piece = 0;
  std::uint64_t offset = 0;
};

Cursor seek(Pieces pieces, std::uint64_t offset) noexcept {
  Cursor at{0, offset};
  while (at.piece < pieces.size() && at.offset >= pieces[at.piece].bytes) at.offset -= pieces[at.piece++].bytes;
  return at;
}

}  // namespace

int pull(const Owner& owner, Pieces to, std::uint64_t to_offset, Pieces from, std::uint64_t from_offset,
         std::uint64_t bytes, Withdrawn withdrawn) noexcept {
  Batch batch(owner);
  Cursor there = seek(to, to_offset);
  Cursor here = seek(from, from_offset);
  std::byte* end = nullptr;  // the last run
  std::size_t end_bytes = 0;
  std::array<std::byte, sizeof(std::uint64_t)> word{};
  std::uint64_t done = 0;
  while (done < bytes && there.piece < to.size() && here.piece < from.size()) {
    const Piece& target = to[there.piece];
    const Piece& source = from[here.piece];
    const std::uint64_t step = std::min({bytes - done, target.bytes - there.offset, source.bytes - here.offset});
    done += step;
    if (step > 0 && target.data != nullptr) {
      if (batch.full()) {
        if (const int error = batch.fetch(); error != 0) return error;
      }
      std::byte* const at = target.data + there.offset;
      std::byte* const theirs = source.data + here.offset;
      if (done == bytes) {
        end = at;
        end_bytes = step;
        batch.add_last(at, theirs, step, word.data());
      } else {
        batch.add(at, theirs, step);
      }
    }
    there.offset += step;
    here.offset += step;
    if (there.offset == target.bytes) there = {there.piece + 1, 0};
    if (here.offset == source.bytes) here = {here.piece + 1, 0};
  }
  if (done < bytes) return EFAULT;
  if (!batch.empty()) {
    if (const int error = batch.fetch(); error != 0) return error;
  }
  if (withdrawn != nullptr) {
    // Pairs with the fence of whoever takes it back: if anything was read that was written after that, this is seen.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (withdrawn->load(std::memory_order_relaxed) != 0) return ECANCELED;
  }
  if (end != nullptr) publish_last(end, end_bytes, word.data());
  return 0;
}

}  // namespace verbena::engine::memory
