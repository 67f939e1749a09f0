// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the rules together leave of a known device is asked by asking for it: the least request of each kind. No list of
// what a rule could get wrong has to be kept, and a formula that shares a ring is seen as a plain bound is.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "quirks/lint.hpp"
#include "quirks/match.hpp"
#include "quirks/quirk_set.hpp"
#include "verbena/fit.hpp"

namespace verbena::quirks {
namespace {

template <class Request>
std::optional<Error> refusal(const Request& request, const Contract& contract) {
  auto fitted = fit(request, contract);
  // What is denied by a feature is denied on purpose.
  if (fitted || fitted.error().kind != ErrorKind::limit) return std::nullopt;
  return std::move(fitted.error());
}

std::optional<Error> queue_pair(QpType type, SendOps ops, bool srq, const Contract& contract) {
  QpRequest request;
  request.type = type;
  request.ops = ops;
  request.srq = srq;
  return refusal(request, contract);
}

struct Probe {
  std::string_view name;
  std::optional<Error> (*refused)(const Contract& contract);
};
constexpr SendOps kSends{SendOps::kSend};
constexpr std::array kProbes{
    Probe{"the least completion queue", [](const Contract& contract) { return refusal(CqRequest{}, contract); }},
    Probe{"the least rc queue pair",
          [](const Contract& contract) { return queue_pair(QpType::rc, kSends, false, contract); }},
    Probe{"the least rc queue pair for every opcode",
          [](const Contract& contract) { return queue_pair(QpType::rc, SendOps::all(), false, contract); }},
    Probe{"the least uc queue pair",
          [](const Contract& contract) { return queue_pair(QpType::uc, kSends, false, contract); }},
    Probe{"the least ud queue pair",
          [](const Contract& contract) { return queue_pair(QpType::ud, kSends, false, contract); }},
    Probe{"the least rc queue pair beside a shared receive queue",
          [](const Contract& contract) { return queue_pair(QpType::rc, kSends, true, contract); }},
    Probe{"the least shared receive queue", [](const Contract& contract) { return refusal(SrqRequest{}, contract); }},
    Probe{"a shared receive queue of any size with a limit event",
          [](const Contract& contract) {
            SrqRequest request;
            request.max_wr = {.want = UINT32_MAX, .at_least = 1, .policy = {}};
            request.srq_limit = 1;
            return refusal(request, contract);
          }},
    // No length is raised, so the least is the rules' own.
    Probe{"the smallest region",
          [](const Contract& contract) {
            MrRequest request;
            request.length = std::max<std::uint64_t>(contract.domain(Field::mr_length).min, 1);
            return refusal(request, contract);
          }},
};

/// The rules that hold on one device, to be held against it one fewer at a time.
class Held {
public:
  Held(const std::vector<Rule>& rules, const KnownPort& known) : known_(known) {
    for (const Rule& rule : rules)
      if (in_force(rule) && matches(rule, known.subject, nullptr)) held_.push_back(&rule);
  }

  /// The rule without which it would be granted; the later layer's where each of several is enough, for that came to
  /// what was there. Null where no single one is to blame.
  const Rule* to_blame(const Probe& probe) const {
    const Rule* blamed = nullptr;
    for (const Rule* rule : held_) {
      if (blamed && blamed->layer > rule->layer) continue;
      if (!probe.refused(contract_without(rule))) blamed = rule;
    }
    return blamed;
  }

  /// Whether the device grants it once no rule is there.
  bool granted_by_the_device(const Probe& probe) const {
    return !probe.refused(
        LoadedQuirks({}, {}).contract(known_.model->device, known_.model->caps, known_.subject.port, true));
  }

  const Rule* find(const std::string& id) const {
    const auto found =
        std::find_if(held_.begin(), held_.end(), [&](const Rule* rule) { return rule->summary.id == id; });
    return found == held_.end() ? nullptr : *found;
  }

  std::string of_the_site() const {
    std::string ids;
    for (const Rule* rule : held_)
      if (of_a_site(rule->layer)) ids += ' ' + rule->summary.id;
    return ids;
  }

private:
  Contract contract_without(const Rule* left_out) const {
    std::vector<Rule> others;
    for (const Rule* rule : held_)
      if (rule != left_out) others.push_back(*rule);
    return LoadedQuirks({}, std::move(others))
        .contract(known_.model->device, known_.model->caps, known_.subject.port, true);
  }

  const KnownPort& known_;
  std::vector<const Rule*> held_;
};

}  // namespace

void check_requests(const std::vector<Rule>& rules, const std::vector<KnownPort>& known,
                    const std::set<std::pair<const Rule*, Field>>& said, std::vector<Finding>& findings) {
  const auto told_before = [&](const Contract& contract, const std::string& field) {
    return std::any_of(said.begin(), said.end(), [&](const auto& each) {
      return name(each.second) == field &&
             std::any_of(contract.trace().begin(), contract.trace().end(),
                         [&](const RuleTrace& trace) { return trace.applied && trace.id == each.first->summary.id; });
    });
  };
  // Of each rule and number the first device will do, and one search for the rule where the same refuses by the same
  // rules of a site.
  std::set<std::pair<const Rule*, std::string>> blamed;
  std::set<std::tuple<const Probe*, std::string, std::string>> searched;
  for (const KnownPort& each : known) {
    std::optional<Held> held;
    for (const Probe& probe : kProbes) {
      const auto refused = probe.refused(each.contract);
      if (!refused || told_before(each.contract, refused->field)) continue;
      if (!held) held.emplace(rules, each);
      if (!searched.emplace(&probe, refused->field, refused->by.rule + held->of_the_site()).second) continue;
      if (!held->granted_by_the_device(probe)) continue;
      const Rule* rule = held->to_blame(probe);
      if (rule == nullptr) rule = held->find(refused->by.rule);
      if (rule == nullptr || !blamed.emplace(rule, refused->field).second) continue;
      // What the text says for people names the rules of both sides; how the formula comes to it, `explain` tells.
      findings.push_back(about(
          *rule, FindingLevel::error,
          fmt::format("has {} refused on {}: {}: {}", probe.name, each.model->name, refused->field, refused->text)));
    }
  }
}

}  // namespace verbena::quirks
