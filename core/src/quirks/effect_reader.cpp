// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/effect_reader.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "backends/backend.hpp"
#include "quirks/scalars.hpp"

namespace verbena::quirks {
namespace {

/// What a limit may say of a field; the keys that a field doesn't take come last.
constexpr std::array<std::string_view, 5> kLimitOps{"max", "unit", "min", "ask", "reserve"};

/// Only what something acts on: what is passed can differ from what is granted where creation fits a ring, and nowhere
/// else; attributes of a state change have a least value, a number of objects or bytes on the way has none.
constexpr std::span<const std::string_view> limit_ops(Field field) {
  const std::span<const std::string_view> all(kLimitOps);
  switch (field) {
    case Field::max_send_wr:
    case Field::max_recv_wr:
    case Field::max_send_sge:
    case Field::max_recv_sge:
    case Field::max_inline_data:
    case Field::cqe:
    case Field::max_wr:
    case Field::max_sge:
      return all;
    case Field::max_rd_atomic:
    case Field::max_dest_rd_atomic:
    case Field::timeout:
    case Field::retry_cnt:
    case Field::rnr_retry:
    case Field::min_rnr_timer:
    case Field::path_mtu_bytes:
    case Field::srq_limit:
    case Field::mr_length:
      return all.first(3);
    default:
      return all.first(2);
  }
}
constexpr std::array<std::string_view, 4> kAsks{"power_of_two", "multiple_of", "not_multiple_of", "plus"};
constexpr std::array<std::string_view, 3> kSupports{"native", "absent", "substitute"};
constexpr std::array<Support, 3> kSupportValues{Support::native, Support::absent, Support::substituted};

std::vector<std::string_view> field_names(Object object) {
  std::vector<std::string_view> names;
  for (const FieldInfo& field : all_fields())
    if (field.object == object) names.push_back(field.name);
  return names;
}

std::optional<Amount> amount(const yaml::Node& node, std::string_view key, Reporter& report) {
  const auto read = node.is_scalar() ? read_amount(node.scalar) : std::nullopt;
  if (!read)
    report.error(node.at, fmt::format("found {} for '{}'; allowed are a number, a cap's name, or a cap plus or minus "
                                      "a number ('max_qp_wr - 1'){}",
                                      yaml::describe(node), key, begins_with_zero(node.scalar)));
  return read;
}

void read_one_ask(Field field, const yaml::Node& node, Rule& rule, Reporter& report) {
  FieldOp op;
  op.field = field;
  op.kind = FieldOp::Kind::ask;
  if (node.is_scalar() && node.scalar == "power_of_two") {
    op.ask = AskKind::power_of_two;
    rule.limits.push_back(op);
    return;
  }
  if (!node.is_map() || node.entries.size() != 1) {
    report.error(node.at, fmt::format("found {} for 'ask'; allowed are power_of_two, {{multiple_of: N}}, "
                                      "{{not_multiple_of: N}}, {{plus: N}}",
                                      yaml::describe(node)));
    return;
  }
  const auto& [key, value] = node.entries.front();
  const auto found = std::find(kAsks.begin() + 1, kAsks.end(), key.scalar);
  const auto number = value.is_scalar() ? read_number(value.scalar) : std::nullopt;
  if (found == kAsks.end()) {
    report.error(key.at, fmt::format("unknown '{}' in ask; allowed are {}{}", key.scalar, join(kAsks),
                                     did_you_mean(key.scalar, kAsks)));
    return;
  }
  if (!number || *number == 0 || *number > 0xffffffffU || (key.scalar == "not_multiple_of" && *number < 2)) {
    report.error(value.at, fmt::format("found {} for '{}'; allowed is a number from {} to {}{}", yaml::describe(value),
                                       key.scalar, key.scalar == "not_multiple_of" ? 2 : 1, 0xffffffffU,
                                       begins_with_zero(value.scalar)));
    return;
  }
  constexpr std::array<AskKind, 4> kinds{AskKind::power_of_two, AskKind::multiple_of, AskKind::not_multiple_of,
                                         AskKind::plus};
  op.ask = kinds[static_cast<std::size_t>(found - kAsks.begin())];
  op.amount.literal = *number;
  rule.limits.push_back(op);
}

void read_field(Field field, const yaml::Node& node, Rule& rule, Reporter& report) {
  const std::span<const std::string_view> ops = limit_ops(field);
  if (!node.is_map() || node.entries.empty()) {
    report.error(node.at, fmt::format("found {} for '{}'; allowed is a map of {}", yaml::describe(node), name(field),
                                      join(kLimitOps)));
    return;
  }
  const std::size_t before = rule.limits.size();
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    if (std::find(ops.begin(), ops.end(), key.scalar) == ops.end()) {
      const bool elsewhere = std::find(kLimitOps.begin(), kLimitOps.end(), key.scalar) != kLimitOps.end();
      report.error(key.at, fmt::format("{} '{}' for '{}'; allowed are {}{}", elsewhere ? "there is no" : "unknown",
                                       key.scalar, name(field), join(ops), did_you_mean(key.scalar, ops)));
    } else if (key.scalar == "min" || key.scalar == "max" || key.scalar == "reserve") {
      const auto number = amount(value, key.scalar, report);
      if (number && key.scalar == "reserve" && number->literal > 0xffffffffU) {
        report.error(value.at, fmt::format("'{}' for 'reserve'; allowed are at most {} slots", value.scalar,
                                           std::uint64_t{0xffffffffU}));
      } else if (number) {
        const auto kind = key.scalar == "min"   ? FieldOp::Kind::min
                          : key.scalar == "max" ? FieldOp::Kind::max
                                                : FieldOp::Kind::reserve;
        rule.limits.push_back({field, kind, *number, AskKind::as_is});
      }
    } else if (key.scalar == "ask") {
      if (value.is_sequence()) {
        if (value.items.size() > kMaxAsks)
          report.error(value.at, fmt::format("{} asks; at most {} are applied", value.items.size(), kMaxAsks));
        for (const yaml::Node& item : value.items) read_one_ask(field, item, rule, report);
      } else {
        read_one_ask(field, value, rule, report);
      }
    } else {
      const std::array<std::string_view, 1> unit{name(info(field).unit)};
      report.choice(value, "unit", unit);
    }
  }
  std::optional<std::uint64_t> min, max;
  for (std::size_t i = before; i < rule.limits.size(); ++i) {
    const FieldOp& op = rule.limits[i];
    if (op.kind == FieldOp::Kind::min && !op.amount.cap) min = op.amount.literal;
    if (op.kind == FieldOp::Kind::max && !op.amount.cap) max = op.amount.literal;
  }
  if (min && max && *min > *max)
    report.error(node.at, fmt::format("'{}' has min {} above max {}: nothing would be left", name(field), *min, *max));
}

void read_limit(const yaml::Node& node, Rule& rule, Reporter& report) {
  if (!node.is_map() || node.entries.empty()) {
    report.error(node.at, fmt::format("found {} for 'limit'; allowed is a map of fields", yaml::describe(node)));
    return;
  }
  const auto known = field_names(rule.summary.on);
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto field = find_field(rule.summary.on, key.scalar);
    if (!field) {
      report.error(key.at, known.empty()
                               ? fmt::format("unknown field '{}': on {} there is nothing to limit", key.scalar,
                                             name(rule.summary.on))
                               : fmt::format("unknown field '{}' on {}; allowed are {}{}", key.scalar,
                                             name(rule.summary.on), join(known), did_you_mean(key.scalar, known)));
      continue;
    }
    read_field(*field, value, rule, report);
  }
}

const JointFormula* find_formula(const yaml::Node& key, const BackendRegistry& registry, Reporter& report) {
  if (const JointFormula* formula = registry.formula(key.scalar)) return formula;
  std::vector<std::string_view> known;
  for (const Backend* backend : registry.all())
    for (const JointFormula& formula : backend->formulas()) known.push_back(formula.name);
  report.error(key.at, fmt::format("unknown formula '{}'; allowed are {}{}", key.scalar, join(known),
                                   did_you_mean(key.scalar, known)));
  return nullptr;
}

void read_joint(const yaml::Node& node, Rule& rule, const BackendRegistry& registry, Reporter& report) {
  if (rule.summary.on != Object::qp) {
    report.error(node.at, fmt::format("'joint' on {}: a formula bounds the rings of queue pairs alone, and would do "
                                      "nothing here; allowed is 'on: qp'",
                                      name(rule.summary.on)));
    return;
  }
  if (!node.is_map() || node.entries.size() != 1) {
    report.error(node.at,
                 fmt::format("found {} for 'joint'; allowed is one formula with its parameters", yaml::describe(node)));
    return;
  }
  const auto& [key, value] = node.entries.front();
  JointChoice joint;
  joint.formula = find_formula(key, registry, report);
  if (!joint.formula) return;
  std::vector<std::string_view> known;
  for (const ParamInfo& param : joint.formula->params) known.push_back(param.name);
  if (!value.is_map() && value.kind != yaml::Node::Kind::null) {
    report.error(value.at, fmt::format("found {} for '{}'; allowed is a map of {}", yaml::describe(value), key.scalar,
                                       join(known)));
    return;
  }
  for (const auto& [param, number] : value.entries) {
    if (report.full()) return;
    const auto found = std::find(known.begin(), known.end(), param.scalar);
    if (found == known.end()) {
      report.error(param.at, fmt::format("unknown parameter '{}' of {}; allowed are {}{}", param.scalar, key.scalar,
                                         join(known), did_you_mean(param.scalar, known)));
      continue;
    }
    const auto index = static_cast<std::size_t>(found - known.begin());
    const auto read = amount(number, param.scalar, report);
    if (!read) continue;
    const ParamInfo& bounds = joint.formula->params[index];
    if (!read->cap && (read->literal > static_cast<std::uint64_t>(bounds.max) ||
                       static_cast<std::int64_t>(read->literal) < bounds.min)) {
      report.error(number.at, fmt::format("{} for '{}'; allowed are {} to {}", read->literal, param.scalar, bounds.min,
                                          bounds.max));
      continue;
    }
    joint.params.emplace_back(index, *read);
  }
  rule.joint = std::move(joint);
}

void read_features(const yaml::Node& node, Rule& rule, Reporter& report) {
  if (!node.is_map() || node.entries.empty()) {
    report.error(node.at, fmt::format("found {} for 'feature'; allowed is a map", yaml::describe(node)));
    return;
  }
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto feature = find_feature(key.scalar);
    if (!feature) {
      std::vector<std::string_view> known;
      for (const FeatureInfo& info : all_features()) known.push_back(info.name);
      report.error(key.at, fmt::format("unknown feature '{}'{}", key.scalar, did_you_mean(key.scalar, known)));
      continue;
    }
    if (const auto index = report.choice(value, key.scalar, kSupports))
      rule.features.emplace_back(*feature, kSupportValues[*index]);
  }
}

void read_sets(const yaml::Node& node, Rule& rule, Reporter& report) {
  if (!node.is_map() || node.entries.empty()) {
    report.error(node.at, fmt::format("found {} for 'set'; allowed is a map", yaml::describe(node)));
    return;
  }
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto flag = find_behaviour(key.scalar);
    if (!flag) {
      std::vector<std::string_view> known;
      for (const BehaviourInfo& info : all_behaviours()) known.push_back(info.name);
      report.error(key.at, fmt::format("unknown flag '{}'{}", key.scalar, did_you_mean(key.scalar, known)));
      continue;
    }
    const auto choices = info(*flag).choices;
    std::vector<std::string_view> allowed;
    for (Choice choice : choices) allowed.push_back(name(choice));
    if (const auto index = report.choice(value, key.scalar, allowed)) rule.sets.emplace_back(*flag, choices[*index]);
  }
}

}  // namespace

void read_effects(const yaml::Node& node, Rule& rule, const BackendRegistry& registry, Reporter& report) {
  const yaml::Node* on = node.find("on");
  constexpr std::array<std::string_view, 10> objects{"device", "port", "pd", "cq", "qp",
                                                     "srq",    "mr",   "mw", "ah", "data"};
  if (!on) {
    report.error(node.at, fmt::format("'on' is missing; allowed are {}", join(objects)));
    return;
  }
  const auto object = report.choice(*on, "on", objects);
  if (!object) return;
  rule.summary.on = *find_object(objects[*object]);
  if (const yaml::Node* limit = node.find("limit")) read_limit(*limit, rule, report);
  if (const yaml::Node* joint = node.find("joint")) read_joint(*joint, rule, registry, report);
  if (const yaml::Node* feature = node.find("feature")) read_features(*feature, rule, report);
  if (const yaml::Node* set = node.find("set")) read_sets(*set, rule, report);
  if (!node.find("limit") && !node.find("joint") && !node.find("feature") && !node.find("set"))
    report.error(node.at, "the rule changes nothing; it has one or more of limit, joint, feature, set");
}

std::string effect_text(const Rule& rule) {
  std::vector<std::string> parts;
  for (const FieldOp& op : rule.limits) {
    switch (op.kind) {
      case FieldOp::Kind::min:
        parts.push_back(fmt::format("{} >= {}", name(op.field), to_string(op.amount)));
        break;
      case FieldOp::Kind::max:
        parts.push_back(fmt::format("{} <= {}", name(op.field), to_string(op.amount)));
        break;
      case FieldOp::Kind::reserve:
        parts.push_back(fmt::format("{} reserves {}", name(op.field), to_string(op.amount)));
        break;
      case FieldOp::Kind::ask: {
        const auto kind = static_cast<std::size_t>(op.ask) - 1;
        parts.push_back(op.ask == AskKind::power_of_two
                            ? fmt::format("{} ask power_of_two", name(op.field))
                            : fmt::format("{} ask {} {}", name(op.field), kAsks[kind], op.amount.literal));
        break;
      }
    }
  }
  if (rule.joint) {
    std::string params;
    for (const auto& [index, number] : rule.joint->params)
      params += fmt::format("{}{}: {}", params.empty() ? "" : ", ", rule.joint->formula->params[index].name,
                            to_string(number));
    parts.push_back(fmt::format("joint {} {{{}}}", rule.joint->formula->name, params));
  }
  for (const auto& [feature, support] : rule.features)
    parts.push_back(fmt::format("{} {}", name(feature), name(support)));
  for (const auto& [flag, choice] : rule.sets) parts.push_back(fmt::format("{} = {}", name(flag), name(choice)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace verbena::quirks
