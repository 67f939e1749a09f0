// SPDX-License-Identifier: Apache-2.0 OR MIT
// What one creation was passed, and what came of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "verbena/grant.hpp"
#include "verbena/request.hpp"

namespace agreement {

enum class Kind : std::uint8_t { qp, cq, srq };

/// The numbers in the order of verbs: for a QP send and receive depth, send and receive SGEs, inline bytes; for a CQ
/// its depth; for an SRQ depth and SGEs.
using Numbers = std::array<std::uint32_t, 5>;
enum : std::size_t { kSendWr, kRecvWr, kSendSge, kRecvSge, kInline };
enum : std::size_t { kDepth, kSges };

struct Tuple {
  Kind kind = Kind::qp;
  verbena::QpType type = verbena::QpType::rc;
  verbena::SendOps ops{};   ///< given to ibv_create_qp_ex where it names any
  Numbers passed{};

  std::size_t count() const noexcept { return kind == Kind::qp ? 5 : kind == Kind::cq ? 1 : 2; }
};

verbena::Field field_of(Kind kind, std::size_t index) noexcept;
std::string to_string(const Tuple& tuple);

/// In place of the errno of a refusal: the driver returned NULL and set none.
inline constexpr int kErrnoLeftAlone = -1;

/// What the device did, or what a model says that it does.
struct Outcome {
  bool taken = false;
  int error = 0;  ///< positive errno of a refusal, or kErrnoLeftAlone; 0 where a model names none
  std::string by;  ///< who refused
  std::array<std::optional<std::int64_t>, 5> returned{};
};

std::string to_string(const Tuple& tuple, const Outcome& outcome);

}  // namespace agreement
