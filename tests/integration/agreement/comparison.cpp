// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "comparison.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "verbena/errno_family.hpp"
#include "verbena/fields.hpp"

namespace agreement {
namespace {

using namespace verbena;

/// Larger rings are drawn rarely: pinning their pages takes most of the time in an emulated processor.
constexpr std::uint64_t kSmallRingBytes = std::uint64_t{2} << 20;
constexpr unsigned kLargeOnceIn = 16;

/// SGEs of a queue that has no work requests are nobody's.
bool counts(const Tuple& tuple, std::size_t i, const Numbers& granted) noexcept {
  if (tuple.kind != Kind::qp) return true;
  return !(i == kRecvSge && granted[kRecvWr] == 0) && !(i == kSendSge && granted[kSendWr] == 0);
}

/// Not where fit changed a number on every device, such as a depth of 0, and not for rules of safety: those keep off
/// what is taken and does harm.
bool refusal_expected(const Fitted& fitted, std::size_t i) noexcept {
  const auto& by = fitted.changed_by[i];
  if (by && by->severity == Severity::safety && !by->rule.empty()) return false;
  return fitted.granted[i] < fitted.asked[i] || (by && by->set_by == SetBy::rule);
}

}  // namespace

Comparison::Comparison(const Device& device, const Contract& contract, std::uint64_t seed, bool judged,
                       std::optional<ModelCreation> model, std::uint64_t ring_budget)
    : device_(device),
      contract_(contract),
      judged_(judged),
      ring_budget_(ring_budget),
      model_(std::move(model)),
      draw_(contract, seed),
      creation_(device.raw()),
      posting_(contract) {}

bool Comparison::start() {
  return creation_.start(!denied({Kind::cq, {}, {}, {}, {}})) && posting_.start(creation_.pd());
}

void Comparison::disagree(const std::string& text) {
  disagreed_ = true;
  std::printf("DISAGREE %s: %s\n", device_.id().name.c_str(), text.c_str());
}

Outcome Comparison::create(const Tuple& tuple) {
  Outcome made = creation_.create(tuple);
  if (!made.taken) {
    if (made.by.empty())
      ++tally_.refused_by_kernel;
    else if (made.by == "shell")
      ++tally_.refused_by_shell;
    else if (made.by.starts_with("the copy"))
      ++tally_.refused_by_copy;
    else
      ++tally_.refused_by_driver;
  }
  return made;
}

/// What fit promised against what came of it.
void Comparison::hold_grant(const Fitted& fitted, const Outcome& made) {
  if (!made.taken) {
    if (made.error == ENOMEM && fitted.bytes > ring_budget_ / 2)
      ++tally_.host_enomem;
    else
      disagree(fmt::format("{}; promise: taken; device: {}", to_string(fitted), to_string(fitted.tuple, made)));
    return;
  }
  for (std::size_t i = 0; i < fitted.tuple.count(); ++i) {
    if (!counts(fitted.tuple, i, fitted.granted)) continue;
    if (fitted.tuple.kind == Kind::cq && contract_.is(Behaviour::cqe_reported, Choice::unset)) continue;
    if (made.returned[i].value_or(0) < std::int64_t{fitted.granted[i]})
      disagree(
          fmt::format("{}; promise: at least the grant; device: {}", to_string(fitted), to_string(fitted.tuple, made)));
  }
}

/// What the model says of a creation against what came of it, number by number and errno by errno.
void Comparison::hold_model(const Tuple& tuple, const Outcome& made) {
  if (!model_ || made.by == "shell") return;
  const auto told = model_->predict(tuple);
  if (!told) return;
  bool same = told->taken == made.taken;
  if (same && !made.taken) same = told->error == 0 || told->error == made.error;
  if (same && made.taken)
    for (std::size_t i = 0; i < tuple.count(); ++i)
      same = same && (!told->returned[i] || *told->returned[i] == made.returned[i].value_or(0));
  if (!same)
    disagree(fmt::format("passed {}; model: {}; device: {}", to_string(tuple), to_string(tuple, *told),
                         to_string(tuple, made)));
}

/// The wishes as they are, past fit: what a program without Verbena would meet. False where they were not tried.
bool Comparison::try_raw(const Wishes& wishes) {
  const Tuple tuple{wishes.kind, wishes.type, wishes.ops, wishes.want};
  if (bytes_of(tuple, contract_) > kSmallRingBytes && !draw_.once_in(kLargeOnceIn)) return false;
  if (bytes_of(tuple, contract_) > ring_budget_ || harmful(tuple)) return false;
  ++tally_.raw;
  hold_model(tuple, create(tuple));
  creation_.destroy();
  return true;
}

bool Comparison::denied(const Wishes& wishes) const {
  if (wishes.kind == Kind::cq) return contract_.domain(Field::max_cq).max == 0;
  return wishes.kind == Kind::qp && !contract_.native(feature_of(wishes.type));
}

/// What the contract denies: fit promises nothing, and the driver is held against the model alone.
void Comparison::compare_denied(const Wishes& wishes) {
  disagreed_ = false;
  if (!try_raw(wishes)) return;
  ++tally_.tried;
  ++tally_.denied;
  ++(disagreed_ ? tally_.disagreed : tally_.agreed);
}

/// Where what did not come of a next larger value is counted.
unsigned& Comparison::how_refused(const Outcome& made) noexcept {
  if (made.taken) return tally_.next_less;
  if (made.by == "shell") return tally_.next_unjudged;
  return made.by.starts_with("the copy") ? tally_.next_by_copy : tally_.next_by_driver;
}

/// One value that fit changed: had it been a little nearer to the wish, would the device have had it? Everything else
/// is protected at its grant, so that what is left is this value's alone. Inline bytes are tried with one SGE, since
/// fit promises them whatever the SGEs are.
void Comparison::try_next_larger(const Wishes& wishes, const Fitted& fitted) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < fitted.tuple.count(); ++i)
    if (fitted.granted[i] != fitted.asked[i] && refusal_expected(fitted, i) && counts(fitted.tuple, i, fitted.granted))
      changed.push_back(i);
  if (changed.empty()) return;
  const std::size_t i = changed[draw_.below(changed.size())];

  Wishes alone = wishes;
  alone.want = fitted.granted;
  for (std::size_t j = 0; j < fitted.tuple.count(); ++j) alone.at_least[j] = fitted.granted[j];
  if (fitted.tuple.kind == Kind::qp && i == kInline && fitted.granted[kSendSge] > 1)
    alone.want[kSendSge] = 1, alone.at_least[kSendSge] = 1;
  alone.want[i] = fitted.asked[i];
  alone.at_least[i] = 0;
  const auto best = fit(alone, contract_);
  if (!best || best->granted[i] == fitted.asked[i]) return;

  const bool raised = fitted.granted[i] > fitted.asked[i];
  const std::uint32_t wanted = raised ? best->granted[i] - 1 : best->granted[i] + 1;
  Tuple tuple = best->tuple;
  tuple.passed[i] =
      raised ? wanted : static_cast<std::uint32_t>(contract_.domain(field_of(tuple.kind, i)).passed_for(wanted));
  // What is refused takes no memory, but nobody knows that it is.
  if (bytes_of(tuple, contract_) > 2 * ring_budget_) return;
  ++tally_.next_larger;
  // A smallest value holds for all types, so it is enough that one of them needs it.
  std::vector<Tuple> tuples{tuple};
  if (raised && tuple.kind == Kind::qp) {
    tuples.clear();
    for (const QpType type : draw_.types()) {
      tuples.push_back(tuple);
      tuples.back().type = type;
      tuples.back().ops = SendOps::all();
      tuples.back().passed[kInline] = 0;
    }
  }
  bool all_usable = true;
  for (const Tuple& each : tuples) {
    ++tally_.raw;
    const Outcome made = create(each);
    const bool shown = all_usable && !usable(each, i, wanted, made);
    if (shown) ++how_refused(made);
    all_usable = all_usable && !shown;
    if (all_usable && &each == &tuples.back()) {
      if (!raised && contract_.domain(field_of(tuple.kind, i)).declared == best->granted[i])
        ++tally_.beyond_declared;  // the device takes more than it declares, and what it declares is kept
      else
        disagree(fmt::format("{}; promise: no {} of {}; device, passed {}: {}", to_string(*best),
                             name(field_of(tuple.kind, i)), wanted, to_string(each), to_string(each, made)));
    }
    hold_model(each, made);
    creation_.destroy();
  }
}

/// Below what a rule of safety asks for: such a number can end the process.
bool Comparison::harmful(const Tuple& tuple) const {
  for (std::size_t i = 0; i < tuple.count(); ++i) {
    const Domain& domain = contract_.domain(field_of(tuple.kind, i));
    const Provenance& by = contract_.provenance(domain.min_by);
    if (tuple.passed[i] < domain.min && !by.rule.empty() && by.severity == Severity::safety) return true;
  }
  return false;
}

bool Comparison::usable(const Tuple& tuple, std::size_t index, std::uint32_t wanted, const Outcome& made) {
  if (!made.taken || made.returned[index].value_or(0) < std::int64_t{wanted}) return false;
  for (std::size_t i = 0; i < tuple.count(); ++i)
    if (made.returned[i].value_or(0) > INT32_MAX) return false;
  // Creation may take what posting refuses.
  creation_.posted_to();
  if (tuple.kind == Kind::srq) return index != kSges || posting_.takes_sges(creation_.srq(), wanted);
  if (tuple.kind != Kind::qp) return true;
  if (index == kInline) return posting_.takes_inline(creation_.qp(), tuple, wanted).value_or(true);
  if (index != kSendSge && index != kRecvSge) return true;
  return posting_.takes_sges(creation_.qp(), tuple, index == kSendSge, wanted).value_or(true);
}

void Comparison::compare(const Wishes& wishes, Size size) {
  const auto fitted = fit(wishes, contract_);
  if (!fitted) {
    ++tally_.refused_by_fit;
    if (judged_ && denied(wishes)) compare_denied(wishes);
    return;
  }
  if (fitted->bytes > ring_budget_) {
    ++tally_.over_budget;
    disagreed_ = false;
    if (judged_) try_next_larger(wishes, *fitted);
    if (disagreed_) ++tally_.disagreed;
    return;
  }
  const bool large = fitted->bytes > kSmallRingBytes;
  if (size == Size::small && large && !draw_.once_in(kLargeOnceIn)) return;
  ++tally_.tried;
  disagreed_ = false;
  if (fitted->adjusted) ++tally_.adjusted;
  const Outcome made = create(fitted->tuple);
  hold_grant(*fitted, made);
  if (judged_) {
    hold_model(fitted->tuple, made);
    if (made.taken && wishes.kind != Kind::cq && (!large || draw_.once_in(4))) {
      ++tally_.filled;
      creation_.posted_to();
      const auto faults = wishes.kind == Kind::qp ? posting_.fill(creation_.qp(), fitted->tuple, fitted->granted, made)
                                                  : posting_.fill(creation_.srq(), fitted->granted, made);
      for (const std::string& fault : faults)
        disagree(fmt::format("{}; device: {}; posting: {}", to_string(*fitted), to_string(fitted->tuple, made), fault));
    }
  }
  creation_.destroy();
  if (judged_) {
    try_next_larger(wishes, *fitted);
    if (size == Size::any || draw_.once_in(3)) try_raw(wishes);
  }
  ++(disagreed_ ? tally_.disagreed : tally_.agreed);
}

void Comparison::random_requests(unsigned count) {
  // Requests that fit refuses or that need too much ring memory are drawn again, up to this many times in all.
  for (unsigned draws = 0; tally_.tried < count && draws < 40 * count; ++draws)
    compare(draw_.random(), judged_ ? Size::small : Size::any);
}

void Comparison::bounds() {
  for (const Wishes& wishes : draw_.bounds()) compare(wishes, Size::any);
}

}  // namespace agreement
