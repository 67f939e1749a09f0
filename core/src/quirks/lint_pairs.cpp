// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two rules that one device matches: what of them cannot both hold, and what of one the other says already.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "quirks/covers.hpp"
#include "quirks/lint.hpp"
#include "quirks/match.hpp"
#include "quirks/quirk_set.hpp"

namespace verbena::quirks {
namespace {

/// What of a rule says which device it is about.
Rule identity_of(const Rule& rule) {
  Rule out;
  for (const Condition& condition : rule.match)
    if (condition.key == MatchKey::driver || condition.key == MatchKey::pci_vendor ||
        condition.key == MatchKey::part_id)
      out.match.push_back(condition);
  return out;
}

/// Where one rule names the driver and the other the part alone, only the known devices tell whether one has both.
bool known_to_meet(const Rule& left, const Rule& right, const std::vector<KnownPort>& known) {
  if ((left.condition(MatchKey::driver) == nullptr) == (right.condition(MatchKey::driver) == nullptr)) return true;
  const Rule one = identity_of(left);
  const Rule other = identity_of(right);
  if (one.match.empty() || other.match.empty()) return true;
  return std::any_of(known.begin(), known.end(), [&](const KnownPort& each) {
    return matches(one, each.subject, nullptr) && matches(other, each.subject, nullptr);
  });
}

/// A later layer may deny what an earlier one has (as it may bound a number tighter): absent beats substituted beats
/// native, so that it is clear what holds.
bool tightens(Support later, Support earlier) {
  return later > earlier;
}

/// Whether nothing says which word about a feature is meant: two of one layer, or the later one would loosen.
bool pull_apart(const Rule& left, Support left_says, const Rule& right, Support right_says) {
  if (left_says == right_says || left.loosens || right.loosens) return false;
  if (left.layer == right.layer) return true;
  return left.layer < right.layer ? !tightens(right_says, left_says) : !tightens(left_says, right_says);
}

/// What one rule has against others: each thing once, with the first of the others and how many more there are, so
/// that so many rules of one device give so many lines and not their square.
class Against {
public:
  explicit Against(const Rule& rule) : rule_(rule) {}

  void says_otherwise(const std::string& what, const Rule& other) { add(what, other); }
  void changes_nothing(const Rule& other) { add({}, other); }
  bool shadowed() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const Entry& each) { return each.what.empty(); });
  }

  void tell(std::vector<Finding>& findings) const {
    for (const Entry& each : entries_) {
      const std::string first =
          fmt::format("{} ({}:{})", each.first->summary.id, each.first->summary.by.file, each.first->at.line);
      const bool shadow = each.what.empty();
      const std::string more = each.more == 0 ? std::string{}
                                              : fmt::format(" (and {} other rule{}{})", each.more,
                                                            each.more == 1 ? "" : "s", shadow ? "" : " as well");
      findings.push_back(about(
          rule_, shadow ? FindingLevel::warning : FindingLevel::error,
          shadow
              ? fmt::format("changes nothing: {} matches every device that this rule does, and says at least as "
                            "much{}",
                            first, more)
              : fmt::format("{}, and {} says otherwise for a device that both match{}; make the matches exclude each "
                            "other, or let one replace the other",
                            each.what, first, more)));
    }
  }

private:
  struct Entry {
    std::string what;  ///< empty: the other leaves this rule nothing to say
    const Rule* first;
    const Rule* last;
    std::size_t more = 0;
  };

  void add(const std::string& what, const Rule& other) {
    const auto known =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.what == what; });
    if (known == entries_.end()) {
      entries_.push_back({what, &other, &other});
    } else if (known->last != &other) {
      known->last = &other;
      ++known->more;
    }
  }

  const Rule& rule_;
  std::vector<Entry> entries_;
};

/// Rules of one device that pull apart: one flag with two values, one feature both native and absent, an empty domain.
void check_pair(const Rule& left, const Rule& right, const std::vector<KnownPort>& known, Against& against,
                std::vector<Finding>& findings) {
  if (left.summary.replaces == right.summary.id || right.summary.replaces == left.summary.id) {
    if (left.summary.replaces == right.summary.id && right.summary.replaces == left.summary.id)
      findings.push_back(
          about(right, FindingLevel::error, fmt::format("and {} replace each other in a circle", left.summary.id)));
    return;
  }
  if (!could_both_match(left, right)) return;
  std::optional<bool> meet;  // asked of the few that differ
  const auto complain = [&](const std::string& what) {
    if (!meet) meet = known_to_meet(left, right, known);
    if (*meet) against.says_otherwise(what, left);
  };
  for (const auto& [flag, choice] : right.sets)
    for (const auto& [other_flag, other] : left.sets)
      if (flag == other_flag && choice != other) complain(fmt::format("sets {} to {}", name(flag), name(choice)));
  for (const auto& [feature, support] : right.features)
    for (const auto& [other_feature, other] : left.features)
      if (feature == other_feature && pull_apart(left, other, right, support))
        complain(fmt::format("says {} is {}", name(feature), name(support)));
  const auto asks_of = [](const Rule& rule, Field field) {
    std::vector<std::pair<AskKind, std::uint64_t>> asks;
    for (const FieldOp& op : rule.limits)
      if (op.field == field && op.kind == FieldOp::Kind::ask) asks.emplace_back(op.ask, op.amount.literal);
    return asks;
  };
  for (const FieldInfo& field : all_fields()) {
    const auto mine = asks_of(right, field.field);
    const auto theirs = asks_of(left, field.field);
    // In which order two rules' asks would be applied, nothing says.
    if (!mine.empty() && !theirs.empty() && mine != theirs)
      complain(fmt::format("asks for {} its own way", field.name));
  }
  for (const FieldOp& op : right.limits)
    for (const FieldOp& other : left.limits) {
      if (op.field != other.field || op.amount.cap || other.amount.cap) continue;
      const bool empty = (op.kind == FieldOp::Kind::min && other.kind == FieldOp::Kind::max &&
                          op.amount.literal > other.amount.literal) ||
                         (op.kind == FieldOp::Kind::max && other.kind == FieldOp::Kind::min &&
                          op.amount.literal < other.amount.literal);
      if (empty) complain(fmt::format("leaves nothing of {}", name(op.field)));
    }
}

/// Whether another rule leaves this one nothing to say.
bool shadows(const Rule& other, const Rule& rule) {
  if (rule.loosens || other.loosens || !covers(other, rule)) return false;
  // That is what a later layer is for.
  if (other.layer > rule.layer) return false;
  // Of two equal rules the later one by id is the superfluous one, and not both.
  return !covers(rule, other) || rule.summary.id > other.summary.id;
}

}  // namespace

bool check_against_others(const Rule& rule, const std::vector<Rule>& rules, const std::vector<KnownPort>& known,
                          std::vector<Finding>& findings) {
  Against against(rule);
  bool earlier = true;
  for (const Rule& other : rules) {
    if (&other == &rule) {
      earlier = false;
      continue;
    }
    if (!in_force(other)) continue;
    // Of two that pull apart the later one by id is told.
    if (earlier) check_pair(other, rule, known, against, findings);
    if (shadows(other, rule)) against.changes_nothing(other);
  }
  against.tell(findings);
  return against.shadowed();
}

}  // namespace verbena::quirks
