// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "quirks/lint.hpp"
#include "quirks/match.hpp"
#include "quirks/quirk_set.hpp"
#include "quirks/scalars.hpp"

namespace verbena::quirks {
namespace {

std::string_view word(FieldOp::Kind kind) {
  return kind == FieldOp::Kind::max ? "at most" : kind == FieldOp::Kind::min ? "at least" : "a reserve of";
}

/// What is below it is as good as nothing; 0 where there may be none at all: inline data, a limit event, how many of an
/// object there are.
std::uint64_t least_of_use(Field field) {
  switch (field) {
    case Field::path_mtu_bytes:
      return 256;  // infiniband/verbs.h enum ibv_mtu begins with IBV_MTU_256
    case Field::cqe:
    case Field::max_send_wr:
    case Field::max_recv_wr:
    case Field::max_send_sge:
    case Field::max_recv_sge:
    case Field::max_wr:
    case Field::max_sge:
    case Field::mr_length:
    case Field::message_bytes:
    case Field::total_wr:
      return 1;
    default:
      return 0;
  }
}

/// One number of one rule, over the known devices that the rule matches; true when it leaves nothing.
bool check_amount(const Rule& rule, const FieldOp& op, const std::vector<KnownPort>& known,
                  std::vector<Finding>& findings) {
  if (op.kind == FieldOp::Kind::ask) return false;
  const std::uint64_t least = least_of_use(op.field);
  const auto says = [&](const std::string& text, FindingLevel level = FindingLevel::warning) {
    findings.push_back(
        about(rule, level, fmt::format("{} of {} {} {}", name(op.field), word(op.kind), to_string(op.amount), text)));
  };
  if (!op.amount.cap) {
    if (op.kind != FieldOp::Kind::max || op.amount.literal >= least) return false;
    const Object on = info(op.field).object;
    const std::string_view instead = least > 1 ? "; 256 is the least there is"
                                     : on == Object::qp || on == Object::srq
                                         ? "; what a device lacks is said as 'feature: {...: absent}'"
                                         : "";
    says(fmt::format("leaves nothing{}", instead));
    return true;
  }
  bool matched = false;
  bool told = false;
  for (const KnownPort& each : known) {
    const Caps& caps = each.model->caps;
    if (!matches(rule, each.subject, nullptr)) continue;
    matched = true;
    const auto value = value_of(op.amount, caps);
    if (!value) continue;
    told = true;
    if (op.kind != FieldOp::Kind::max || *value >= least) continue;
    says(fmt::format("leaves nothing on {}, where {} is {}", each.model->name, name(*op.amount.cap),
                     caps[*op.amount.cap].value_or(0)));
    return true;
  }
  // A device may tell what no source gave for its model. The shipped tables know more devices than there are models.
  if (matched && !told && of_a_site(rule.layer))
    says(fmt::format("says nothing where the device does not tell {}, as none of the known models does",
                     name(*op.amount.cap)),
         FindingLevel::note);
  return false;
}

/// The tightest bound on one side, and whose it is.
struct Tightest {
  const Rule* rule = nullptr;
  std::uint64_t value = 0;
};

/// What the rules that hold on one device leave of its numbers. They are looked at as they are written, so that a
/// finding names the rule that is to be mended.
class Settled {
public:
  Settled(const KnownPort& known, const std::map<std::string_view, const Rule*>& rules) : known_(known) {
    for (const RuleTrace& trace : known.contract.trace())
      if (const auto rule = rules.find(trace.id); trace.applied && rule != rules.end())
        applied_.push_back(rule->second);
  }

  /// Why nothing is left of the field, and the rule that is to be mended; null when there is no such thing.
  std::pair<const Rule*, std::string> nothing_left(Field field) const {
    const Domain& domain = known_.contract.domain(field);
    const Tightest least = tightest(field, FieldOp::Kind::min);
    const Tightest most = tightest(field, FieldOp::Kind::max);
    if (least.rule && most.rule && least.value > most.value) {
      if (least.rule == most.rule) return {least.rule, fmt::format("at least {}, at most {}", least.value, most.value)};
      const bool later = least.rule->layer >= most.rule->layer;
      return {later ? least.rule : most.rule,
              later ? fmt::format("at least {}, and at most {} by {}", least.value, most.value, place(*most.rule))
                    : fmt::format("at most {}, and at least {} by {}", most.value, least.value, place(*least.rule))};
    }
    const bool beyond = most.rule && most.rule->replaces_declared;
    if (least.rule && domain.declared && !beyond && least.value > *domain.declared)
      return {least.rule, fmt::format("at least {}, of which the device declares {}", least.value, *domain.declared)};
    if (!domain.known) return {};
    if (least.rule && domain.min > domain.max && !beyond)
      return {least.rule, fmt::format("at least {}, and at most {} may be", least.value, domain.max)};
    // A bound below the least MTU has its finding by itself.
    if (field == Field::path_mtu_bytes && domain.min <= domain.max && (least.rule || most.rule) && !any_mtu(domain))
      return {most.rule ? most.rule : least.rule, fmt::format("no MTU is from {} to {}", domain.min, domain.max)};
    const Rule* reserves = tightest(field, FieldOp::Kind::reserve).rule;
    if (reserves && domain.max > 0 && domain.reserve >= domain.max)
      return {reserves, fmt::format("{} reserved of {}", domain.reserve, domain.max)};
    return nothing_passes(field, domain, std::max({least.value, domain.min, std::uint64_t{1}}));
  }

private:
  static bool any_mtu(const Domain& domain) {
    constexpr std::array<std::uint64_t, 5> mtus{256, 512, 1024, 2048, 4096};  // infiniband/verbs.h enum ibv_mtu
    return std::any_of(mtus.begin(), mtus.end(),
                       [&](std::uint64_t mtu) { return mtu >= domain.min && mtu <= domain.max; });
  }

  static std::string place(const Rule& rule) {
    return fmt::format("{} ({}:{})", rule.summary.id, rule.summary.by.file, rule.at.line);
  }

  std::pair<const Rule*, std::string> nothing_passes(Field field, const Domain& domain, std::uint64_t smallest) const {
    const Rule* asks = nullptr;
    for (const Rule* rule : applied_)
      for (const FieldOp& op : rule->limits)
        if (op.field == field && op.kind == FieldOp::Kind::ask) asks = rule;
    if (asks == nullptr || domain.max < smallest || domain.largest_grant() >= smallest) return {};
    return {asks, fmt::format("at least {} is asked for as {}, and at most {} may be", smallest,
                              domain.passed_for(smallest), domain.max)};
  }

  Tightest tightest(Field field, FieldOp::Kind kind) const {
    Tightest found;
    for (const Rule* rule : applied_)
      for (const FieldOp& op : rule->limits) {
        if (op.field != field || op.kind != kind) continue;
        const auto value = value_of(op.amount, known_.model->caps);
        if (!value) continue;
        const bool tighter = kind == FieldOp::Kind::max ? *value < found.value : *value > found.value;
        if (found.rule == nullptr || tighter) found = {rule, *value};
      }
    return found;
  }

  const KnownPort& known_;
  std::vector<const Rule*> applied_;
};

}  // namespace

void check_numbers(const std::vector<Rule>& rules, const std::vector<KnownPort>& known,
                   std::vector<Finding>& findings) {
  // Of each rule and number the first device will do.
  std::set<std::pair<const Rule*, Field>> said, amounts;
  std::map<std::string_view, const Rule*> by_id;
  for (const Rule& rule : rules) {
    if (!in_force(rule)) continue;
    by_id.emplace(rule.summary.id, &rule);
    for (const FieldOp& op : rule.limits)
      if (check_amount(rule, op, known, findings)) amounts.emplace(&rule, op.field);
  }
  for (const KnownPort& each : known) {
    const Settled settled(each, by_id);
    for (const FieldInfo& field : all_fields()) {
      const auto [rule, why] = settled.nothing_left(field.field);
      if (rule == nullptr || !said.emplace(rule, field.field).second) continue;
      findings.push_back(about(*rule, FindingLevel::error,
                               fmt::format("leaves nothing of {} on {}: {}", field.name, each.model->name, why)));
    }
  }
  said.merge(amounts);
  check_requests(rules, known, said, findings);
}

}  // namespace verbena::quirks
