// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "verbena/joint.hpp"
#include "verbena/registry.hpp"

namespace verbena::formulas {

/// A formula with parameters, found as tables find it.
class Formula {
public:
  explicit Formula(std::string_view name, std::initializer_list<std::pair<std::string_view, std::int64_t>> given = {}) {
    static const BackendRegistry registry = BackendRegistry::builtin();
    formula_ = registry.formula(name);
    if (formula_ == nullptr) {
      ADD_FAILURE() << "no formula " << name;
      return;
    }
    for (std::size_t at = 0; at < formula_->params.size(); ++at) params_[at] = formula_->params[at].fallback;
    for (const auto& [word, value] : given) set(word, value);
  }

  std::uint64_t max_wr(Queue queue, const QueueShape& shape) const { return formula_->max_wr(params_, queue, shape); }
  std::uint64_t ring_bytes(Queue queue, const QueueShape& shape, std::uint64_t wr) const {
    return formula_->ring_bytes(params_, queue, shape, wr);
  }
  std::string explain(Queue queue, const QueueShape& shape, std::uint64_t wr) const {
    return formula_->explain(params_, queue, shape, wr);
  }
  const JointFormula& formula() const { return *formula_; }
  const JointParams& params() const { return params_; }

private:
  void set(std::string_view word, std::int64_t value) {
    for (std::size_t at = 0; at < formula_->params.size(); ++at) {
      if (formula_->params[at].name != word) continue;
      params_[at] = value;
      return;
    }
    ADD_FAILURE() << formula_->name << " has no parameter " << word;
  }

  const JointFormula* formula_ = nullptr;
  JointParams params_{};
};

inline QueueShape shape(std::uint32_t sge, std::uint32_t inline_data = 0, QpType type = QpType::rc) {
  QueueShape made;
  made.type = type;
  made.sge = sge;
  made.inline_data = inline_data;
  return made;
}

inline QueueShape with_ops(QueueShape made, std::uint64_t bits) {
  made.ops = SendOps{bits};
  made.ops_declared = true;
  return made;
}

inline constexpr std::uint64_t kSendWriteRead = SendOps::kSend | SendOps::kRdmaWrite | SendOps::kRdmaRead;

}  // namespace verbena::formulas
