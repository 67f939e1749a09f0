// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "tuple.hpp"

#include <fmt/format.h>

#include "verbena/errno_family.hpp"
#include "verbena/fields.hpp"

namespace agreement {

verbena::Field field_of(Kind kind, std::size_t index) noexcept {
  using verbena::Field;
  static constexpr std::array<Field, 5> qp{Field::max_send_wr, Field::max_recv_wr, Field::max_send_sge,
                                           Field::max_recv_sge, Field::max_inline_data};
  if (kind == Kind::cq) return Field::cqe;
  if (kind == Kind::srq) return index == kDepth ? Field::max_wr : Field::max_sge;
  return qp[index];
}

std::string to_string(const Tuple& tuple) {
  std::string text = tuple.kind == Kind::cq ? "cq" : tuple.kind == Kind::srq ? "srq" : std::string{name(tuple.type)};
  if (tuple.kind == Kind::qp && !tuple.ops.is_all()) text += fmt::format(" ops={}", to_string(tuple.ops));
  for (std::size_t i = 0; i < tuple.count(); ++i)
    text += fmt::format(" {}={}", name(field_of(tuple.kind, i)), tuple.passed[i]);
  return text;
}

std::string to_string(const Tuple& tuple, const Outcome& outcome) {
  if (!outcome.taken)
    return fmt::format("refused {}{}{}",
                       outcome.error == 0                 ? "somehow"
                       : outcome.error == kErrnoLeftAlone ? "without an errno"
                                                          : verbena::errno_name(outcome.error),
                       outcome.by.empty() ? "" : " by ", outcome.by);
  std::string text = "taken, returned";
  for (std::size_t i = 0; i < tuple.count(); ++i)
    text += outcome.returned[i] ? fmt::format(" {}={}", name(field_of(tuple.kind, i)), *outcome.returned[i])
                                : fmt::format(" {}=?", name(field_of(tuple.kind, i)));
  return text;
}

}  // namespace agreement
