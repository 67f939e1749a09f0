// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/memory/copy.hpp"
#include "engine/transport/conduct.hpp"
#include "engine/transport/time.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::transport {

/// The ends of messages that are seen later than their completions (Conduct::payload_late).
class LatePayload {
public:
  /// How many of the last bytes of a train come late: 64 of the end of a SEND or of a READ's answer, if that has as
  /// many.
  static std::uint64_t bytes_of(const Conduct& conduct, const Train& train, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t kLate = 64;
    if (conduct.payload_late == Time{} || !train.ends() || bytes < kLate) return 0;
    const wire::Operation operation = train.info().operation;
    return operation == wire::Operation::send || operation == wire::Operation::read ? kLate : 0;
  }

  /// Of `bytes` bytes of `payload`, which go to `to_offset` in `to`, the last `late` are shown at that time.
  void keep(memory::Pieces to, std::uint64_t to_offset, memory::Pieces payload, std::uint64_t bytes, std::uint64_t late,
            Time at) {
    Kept kept;
    kept.bytes.resize(late);
    const memory::Piece own{kept.bytes.data(), late};
    memory::copy({&own, 1}, 0, payload, bytes - late, late);
    kept.to.resize(to.size());
    kept.to.resize(memory::slice(to, to_offset + bytes - late, late, kept.to).size());
    kept_.emplace(at, std::move(kept));
  }

  void show(Time now) noexcept {
    while (!kept_.empty() && kept_.begin()->first <= now) {
      Kept& kept = kept_.begin()->second;
      const memory::Piece own{kept.bytes.data(), kept.bytes.size()};
      memory::copy(kept.to, 0, {&own, 1}, 0, own.bytes);
      kept_.erase(kept_.begin());
    }
  }

  /// None of it that goes to this memory.
  void drop(const memory::Piece& memory) noexcept {
    std::erase_if(kept_, [&memory](const auto& one) {
      for (const memory::Piece& piece : one.second.to) {
        if (piece.data >= memory.data && piece.data < memory.data + memory.bytes) return true;
      }
      return false;
    });
  }

  std::optional<Time> next() const noexcept {
    if (kept_.empty()) return std::nullopt;
    return kept_.begin()->first;
  }

private:
  struct Kept {
    std::vector<memory::Piece> to;
    std::vector<std::byte> bytes;
  };
  std::multimap<Time, Kept> kept_;
};

}  // namespace verbena::engine::transport
