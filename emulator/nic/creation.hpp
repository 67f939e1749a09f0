// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include "nic/tree.hpp"
#include "verbena/caps.hpp"
#include "verbena/model.hpp"
#include "verbena/request.hpp"

namespace verbena::emulator {

/// What a device does with what one creation passes to it.
struct Created {
  bool known = true;   ///< false: no source says whether that is taken
  bool taken = false;
  int error = 0;       ///< positive errno of a refusal, kErrnoLeftAlone, or 0 where the model names none
  // What is written back; empty where the model doesn't say.
  std::optional<std::int64_t> send_wr, recv_wr, send_sge, recv_sge, inline_data;
  std::optional<std::int64_t> cqe, srq_wr, srq_sge;
};

/// In place of the errno of a refusal: the driver returned NULL and set none.
inline constexpr int kErrnoLeftAlone = -1;

/// What a model's `creation:` says of creations (docs/models.md). It is the other side of the fit: written from the
/// same sources, never read by it, and judged by the vendors' own user-space drivers.
class Creation {
public:
  /// `caps`: the numbers that stand for the caps' names in formulas. Empty when the model has no creation part.
  static std::optional<Creation> of(const Model& model, const Caps& caps);

  Created cq(std::uint32_t depth) const;
  Created srq(std::uint32_t depth, std::uint32_t sges) const;
  /// `ops`: the opcodes that ibv_create_qp_ex named; all where none were.
  Created qp(QpType type, SendOps ops, const ibv_qp_cap& passed) const;
  /// Whether queue pairs of that type are made at all.
  bool makes(QpType type) const;
  /// Whether the model has a shared receive queue, or says nothing of it.
  bool has_srq() const;

  /// An errno of one part: `word("mr", "zero")`; 0 where the model names none.
  int error(std::string_view part, std::string_view key) const;
  /// A number of one part; empty where the model has none.
  std::optional<std::int64_t> number(std::string_view part, std::string_view key) const;
  /// What stands there as it is; empty where nothing does.
  std::string word(std::string_view part, std::string_view key) const;

private:
  Creation(Tree root, const Caps& caps) : root_(std::move(root)), caps_(caps) {}

  Tree root_;
  Caps caps_;
};

}  // namespace verbena::emulator
