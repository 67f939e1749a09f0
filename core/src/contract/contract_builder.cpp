// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "contract/contract_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace verbena {
namespace {

/// How restrictive a support is: the higher of two holds.
int rank(Support support) noexcept {
  switch (support) {
    case Support::unknown:
      return 0;
    case Support::native:
      return 1;
    case Support::substituted:
      return 2;
    case Support::absent:
      break;
  }
  return 3;
}

auto order_key(const Provenance& by) {
  return std::tie(by.set_by, by.rule, by.file, by.line, by.reason, by.source, by.layer, by.evidence, by.severity);
}

auto order_key(const RuleTrace& trace) {
  return std::tie(trace.id, trace.applied, trace.why_not, trace.beaten_by);
}

}  // namespace

ProvenanceIndex ContractBuilder::add(Provenance provenance) {
  contract_.provenances_.push_back(std::move(provenance));
  return static_cast<ProvenanceIndex>(contract_.provenances_.size() - 1);
}

bool ContractBuilder::earlier(ProvenanceIndex left, ProvenanceIndex right) const noexcept {
  return order_key(contract_.provenances_[left]) < order_key(contract_.provenances_[right]);
}

void ContractBuilder::at_least(Field field, std::uint64_t min, ProvenanceIndex by) {
  Domain& domain = contract_.domains_[static_cast<std::size_t>(field)];
  if (min < domain.min || (min == domain.min && (min == 0 || !earlier(by, domain.min_by)))) return;
  domain.min = min;
  domain.min_by = by;
}

void ContractBuilder::at_most(Field field, std::uint64_t max, ProvenanceIndex by) {
  auto& limit = limits_[static_cast<std::size_t>(field)];
  if (limit && (limit->value < max || (limit->value == max && !earlier(by, limit->by)))) return;
  limit = Bound{max, by};
}

void ContractBuilder::replace_declared_max(Field field, std::uint64_t max, ProvenanceIndex by) {
  auto& replaced = replaced_[static_cast<std::size_t>(field)];
  if (replaced && (replaced->value < max || (replaced->value == max && !earlier(by, replaced->by)))) return;
  replaced = Bound{max, by};
}

void ContractBuilder::ask(Field field, AskKind kind, std::uint64_t n, ProvenanceIndex by) {
  asks_.push_back({field, Ask{kind, n, by}});
}

void ContractBuilder::reserve(Field field, std::uint64_t slots, ProvenanceIndex by) {
  Domain& domain = contract_.domains_[static_cast<std::size_t>(field)];
  if (slots < domain.reserve || (slots == domain.reserve && (slots == 0 || !earlier(by, domain.reserve_by)))) return;
  domain.reserve = slots;
  domain.reserve_by = by;
}

void ContractBuilder::joint(const JointFormula& formula, const JointParams& params, ProvenanceIndex by) {
  for (Joint& known : contract_.joints_) {
    if (known.formula != &formula || known.params != params) continue;
    if (earlier(by, known.by)) known.by = by;
    return;
  }
  contract_.joints_.push_back(Joint{&formula, params, by});
}

void ContractBuilder::feature(Feature feature, Support support, bool loosens, ProvenanceIndex by) {
  if (support == Support::unknown) return;
  if (support == Support::substituted && !has_substitute(feature)) support = Support::absent;
  auto& state = (loosens ? loosened_ : ruled_)[static_cast<std::size_t>(feature)];
  if (state) {
    if (rank(state->support) > rank(support)) return;
    if (state->support == support && !earlier(by, state->by)) return;
  }
  state = FeatureState{support, by};
}

void ContractBuilder::behaviour(Behaviour flag, Choice choice, ProvenanceIndex by) {
  BehaviourState& state = contract_.behaviours_[static_cast<std::size_t>(flag)];
  if (state.by != 0) {
    const Provenance& standing = contract_.provenances_[state.by];
    const Provenance& offered = contract_.provenances_[by];
    const auto weight = [](const Provenance& rule) { return std::tie(rule.severity, rule.rule, rule.file, rule.line); };
    const auto left = weight(offered);
    const auto right = weight(standing);
    if (right < left || (left == right && state.choice <= choice)) return;
  }
  state = {choice, by};
}

void ContractBuilder::trace(RuleTrace entry) {
  contract_.trace_.push_back(std::move(entry));
}

void ContractBuilder::invalidated_by(std::string what) {
  contract_.invalidated_by_.push_back(std::move(what));
}

void ContractBuilder::settle_domains() {
  for (std::size_t at = 0; at < kFieldCount; ++at) {
    Domain& domain = contract_.domains_[at];
    if (const auto& replaced = replaced_[at]) {
      if (!contract_.beyond_declared_allowed_ && domain.declared && *domain.declared < replaced->value) {
        Provenance site;
        site.set_by = SetBy::site;
        site.rule = contract_.provenances_[replaced->by].rule;
        site.reason = fmt::format(
            "the device declares {}; the rule's own bound is {}, but this site forbids more than is declared",
            *domain.declared, replaced->value);
        site.source = "setting fit.beyond_declared (VERBENA_FIT_BEYOND_DECLARED)";
        domain.max = *domain.declared;
        domain.max_by = add(std::move(site));
      } else {
        domain.max = replaced->value;
        domain.max_by = replaced->by;
      }
      if (const Bound& interface = interface_[at]; domain.max > interface.value) {
        domain.max = interface.value;
        domain.max_by = interface.by;
      }
      domain.known = true;
    }
    if (const auto& limit = limits_[at]; limit && limit->value <= domain.max) {
      // A rule that repeats the device's own word owns the bound: it has a reason and a source.
      const bool by_rule = contract_.provenances_[domain.max_by].set_by == SetBy::rule;
      if (limit->value < domain.max || !by_rule || earlier(limit->by, domain.max_by)) {
        domain.max = limit->value;
        domain.max_by = limit->by;
      }
      domain.known = true;
    }
  }

  std::stable_sort(asks_.begin(), asks_.end(),
                   [this](const FieldAsk& left, const FieldAsk& right) { return earlier(left.ask.by, right.ask.by); });
  for (const FieldAsk& asked : asks_) {
    Domain& domain = contract_.domains_[static_cast<std::size_t>(asked.field)];
    bool known = asked.ask.kind == AskKind::as_is || domain.ask_count == kMaxAsks;
    for (std::uint8_t at = 0; at < domain.ask_count; ++at) {
      known = known || (domain.asks[at].kind == asked.ask.kind && domain.asks[at].n == asked.ask.n);
    }
    if (!known) domain.asks[domain.ask_count++] = asked.ask;
  }
}

void ContractBuilder::settle_features() {
  for (std::size_t at = 0; at < kFeatureCount; ++at) {
    FeatureState& state = contract_.features_[at];
    // No table can make up for what this build does not cover.
    if (contract_.provenances_[state.by].set_by == SetBy::build) continue;
    if (loosened_[at]) state = *loosened_[at];
    if (ruled_[at] && rank(ruled_[at]->support) > rank(state.support)) state = *ruled_[at];
  }
}

void ContractBuilder::sort_provenances() {
  // In the order of the rules' ids, so that equal rule sets give equal contracts. Index 0 stays.
  std::vector<Provenance>& all = contract_.provenances_;
  std::vector<ProvenanceIndex> order(all.size());
  std::iota(order.begin(), order.end(), ProvenanceIndex{0});
  std::stable_sort(order.begin() + 1, order.end(),
                   [this](ProvenanceIndex left, ProvenanceIndex right) { return earlier(left, right); });
  std::vector<ProvenanceIndex> now_at(all.size());
  std::vector<Provenance> sorted;
  sorted.reserve(all.size());
  for (const ProvenanceIndex was : order) {
    now_at[was] = static_cast<ProvenanceIndex>(sorted.size());
    sorted.push_back(std::move(all[was]));
  }
  all = std::move(sorted);

  for (Domain& domain : contract_.domains_) {
    domain.min_by = now_at[domain.min_by];
    domain.max_by = now_at[domain.max_by];
    domain.reserve_by = now_at[domain.reserve_by];
    for (std::uint8_t at = 0; at < domain.ask_count; ++at) domain.asks[at].by = now_at[domain.asks[at].by];
  }
  for (FeatureState& feature : contract_.features_) feature.by = now_at[feature.by];
  for (BehaviourState& behaviour : contract_.behaviours_) behaviour.by = now_at[behaviour.by];
  for (Joint& joint : contract_.joints_) joint.by = now_at[joint.by];
}

Contract ContractBuilder::build(std::uint64_t quirks_hash) && {
  settle_domains();
  settle_features();
  sort_provenances();
  std::sort(contract_.joints_.begin(), contract_.joints_.end(), [](const Joint& left, const Joint& right) {
    return std::tie(left.by, left.formula->name, left.params) < std::tie(right.by, right.formula->name, right.params);
  });
  std::sort(contract_.trace_.begin(), contract_.trace_.end(),
            [](const RuleTrace& left, const RuleTrace& right) { return order_key(left) < order_key(right); });
  auto& reasons = contract_.invalidated_by_;
  std::sort(reasons.begin(), reasons.end());
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  contract_.quirks_hash_ = quirks_hash;
  return std::move(contract_);
}

}  // namespace verbena
