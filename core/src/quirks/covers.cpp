// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/covers.hpp"

#include <algorithm>

namespace verbena::quirks {
namespace {

bool within(const NumberSet& narrow, const NumberSet& wide) {
  return std::all_of(narrow.begin(), narrow.end(), [&](const Range& range) {
    return std::any_of(wide.begin(), wide.end(),
                       [&](const Range& outer) { return range.low >= outer.low && range.high <= outer.high; });
  });
}

bool within(const Condition& narrow, const Condition& wide) {
  switch (form(wide.key)) {
    case MatchForm::words:
      return std::all_of(narrow.words.begin(), narrow.words.end(), [&](const std::string& word) {
        return std::find(wide.words.begin(), wide.words.end(), word) != wide.words.end();
      });
    case MatchForm::numbers:
      return within(narrow.numbers, wide.numbers);
    case MatchForm::flag:
      return narrow.flag == wide.flag;
    case MatchForm::versions:
      return narrow.written == wide.written;
  }
  return false;
}

bool matches_more(const Rule& wide, const Rule& narrow) {
  const bool match = std::all_of(wide.match.begin(), wide.match.end(), [&](const Condition& condition) {
    const Condition* other = narrow.condition(condition.key);
    return other != nullptr && within(*other, condition);
  });
  return match && std::all_of(wide.when.begin(), wide.when.end(), [&](const WhenTest& test) {
           return std::any_of(narrow.when.begin(), narrow.when.end(), [&](const WhenTest& other) {
             return other.cap == test.cap && other.port_cap == test.port_cap && within(other.numbers, test.numbers);
           });
         });
}

bool same_amount(const Amount& left, const Amount& right) {
  return left.cap == right.cap && left.offset == right.offset && left.literal == right.literal;
}

bool says(const Rule& wide, const FieldOp& op) {
  return std::any_of(wide.limits.begin(), wide.limits.end(), [&](const FieldOp& other) {
    if (other.field != op.field || other.kind != op.kind) return false;
    if (op.kind == FieldOp::Kind::ask) return other.ask == op.ask && same_amount(other.amount, op.amount);
    if (same_amount(other.amount, op.amount)) return true;
    if (other.amount.cap || op.amount.cap) return false;
    return op.kind == FieldOp::Kind::max ? other.amount.literal <= op.amount.literal
                                         : other.amount.literal >= op.amount.literal;
  });
}

}  // namespace

bool covers(const Rule& wide, const Rule& narrow) {
  if (narrow.joint || !matches_more(wide, narrow)) return false;
  return std::all_of(narrow.limits.begin(), narrow.limits.end(), [&](const FieldOp& op) { return says(wide, op); }) &&
         std::all_of(narrow.features.begin(), narrow.features.end(),
                     [&](const auto& feature) {
                       return std::find(wide.features.begin(), wide.features.end(), feature) != wide.features.end();
                     }) &&
         std::all_of(narrow.sets.begin(), narrow.sets.end(), [&](const auto& set) {
           return std::find(wide.sets.begin(), wide.sets.end(), set) != wide.sets.end();
         });
}

}  // namespace verbena::quirks
