// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "verbena/request.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What shares a ring: the things of a QP that compete for the same bytes.
struct QueueShape {
  QpType type = QpType::rc;
  SendOps ops = SendOps::all();
  bool ops_declared = false;   ///< the QP is made with send_ops_flags, so the driver knows what will be posted
  std::uint32_t sge = 1;
  std::uint32_t inline_data = 0;
};

enum class Queue : std::uint8_t { send, recv };

struct ParamInfo {
  std::string_view name;
  std::int64_t fallback;      ///< used when a table gives none
  std::int64_t min, max;      ///< allowed range, inclusive
  std::string_view meaning;
};
inline constexpr std::size_t kMaxJointParams = 12;
using JointParams = std::array<std::int64_t, kMaxJointParams>;

/// A limit that depth, SGEs and inline bytes share, as a backend knows it. All functions are pure and total:
/// any shape gives an answer, without overflow, and none allocates except `explain`.
/// Required of max_wr: it never grows when sge or inline_data grows, and depends on them only through the size of one
/// WQE, which is the larger of what the SGEs need and what the inline bytes need (fit relies on both).
struct JointFormula {
  std::string_view name;       ///< as in tables: `irdma_quanta`
  std::string_view meaning;    ///< one sentence
  std::span<const ParamInfo> params;

  /// Deepest queue for that shape; 0 when the shape itself does not fit one WQE.
  std::uint64_t (*max_wr)(const JointParams&, Queue, const QueueShape&) noexcept;
  /// Bytes of ring memory for that depth and shape, as the driver rounds it.
  std::uint64_t (*ring_bytes)(const JointParams&, Queue, const QueueShape&, std::uint64_t wr) noexcept;
  /// The arithmetic in one sentence: "192 + max(4 x 16, 64) = 256 bytes a WQE; 2097152 / 256 = 8192".
  std::string (*explain)(const JointParams&, Queue, const QueueShape&, std::uint64_t wr);
};

/// A formula chosen by a rule, with the rule's parameters. `formula` points to static storage of a backend.
struct Joint {
  const JointFormula* formula = nullptr;
  JointParams params{};
  std::uint16_t by = 0;        ///< provenance index in the contract

  friend bool operator==(const Joint&, const Joint&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
