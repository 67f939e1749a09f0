// SPDX-License-Identifier: Apache-2.0 OR MIT
// What holds for every request on every contract.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include "contracts.hpp"
#include "unit/requests.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

const Contract& draw_contract() {
  static const std::array<Contract, 7> all{contracts::rounding(),  contracts::e810(),  contracts::e810(false),
                                           contracts::connectx5(), contracts::hip09(), contracts::rxe(),
                                           contracts::cramped()};
  return all[*rc::gen::inRange<std::size_t>(0, all.size())];
}

std::uint32_t draw_number(std::uint32_t bits) {
  const auto width = *rc::gen::inRange<std::uint32_t>(0, bits + 1);
  return static_cast<std::uint32_t>(*rc::gen::inRange<std::uint64_t>(0, (std::uint64_t{1} << width) + 1));
}

QpRequest draw_request(bool floors) {
  QpRequest request;
  const std::array<std::uint32_t, 5> bits{17, 17, 6, 6, 11};
  const auto fields = requests::wishes(request);
  for (std::size_t at = 0; at < fields.size(); ++at) {
    fields[at]->want = draw_number(bits[at]);
    if (floors)
      fields[at]->at_least = fields[at]->want / *rc::gen::elementOf(std::array<std::uint32_t, 4>{3, 8, 64, 100000});
  }
  request.type = *rc::gen::elementOf(std::array<QpType, 2>{QpType::rc, QpType::ud});
  if (*rc::gen::arbitrary<bool>()) request.ops = SendOps{SendOps::kSend};
  std::sort(request.give_way.begin(), request.give_way.end());
  const auto turns = *rc::gen::inRange(0, 6);
  for (int turn = 0; turn < turns; ++turn) std::next_permutation(request.give_way.begin(), request.give_way.end());
  return request;
}

Competitor competitor_of(Field field) {
  if (field == Field::max_inline_data) return Competitor::inline_data;
  return field == Field::max_send_sge || field == Field::max_recv_sge ? Competitor::sges : Competitor::depth;
}

void expect_within(const QpFit& fitted, const Contract& contract) {
  const QpGrant& grant = fitted.grant;
  QueueShape send;
  send.type = grant.type;
  send.ops = grant.ops;
  send.ops_declared = fitted.declare_ops;
  send.sge = grant.max_send_sge().passed;
  send.inline_data = grant.max_inline_data().passed;
  QueueShape recv = send;
  recv.sge = grant.max_recv_sge().passed;
  recv.inline_data = 0;
  for (const FieldGrant& field : grant.fields) {
    const Domain& domain = contract.domain(field.field);
    RC_ASSERT(field.passed <= domain.max);
    RC_ASSERT(field.passed >= domain.min);
    RC_ASSERT(field.passed >= field.granted);
  }
  for (const Joint& joint : contract.joints()) {
    RC_ASSERT(grant.max_send_wr().passed <= joint.formula->max_wr(joint.params, Queue::send, send));
    RC_ASSERT(grant.max_recv_wr().passed <= joint.formula->max_wr(joint.params, Queue::recv, recv));
  }
}

RC_GTEST_PROP(FitProperty, AGrantIsNeverAboveTheContractNorBelowAFloor, ()) {
  const Contract& contract = draw_contract();
  QpRequest request = draw_request(true);
  const auto fitted = fit(request, contract);
  if (!fitted) {
    RC_ASSERT(fitted.error().kind == ErrorKind::limit);
    RC_ASSERT(!fitted.error().field.empty());
    return;
  }
  expect_within(*fitted, contract);
  const auto fields = requests::wishes(request);
  for (std::size_t at = 0; at < fields.size(); ++at) {
    const FieldGrant& field = fitted->grant.fields[at];
    RC_ASSERT(field.granted >= *fields[at]->at_least);
    const bool told = std::any_of(fitted->grant.adjustments.begin(), fitted->grant.adjustments.end(),
                                  [&](const Adjustment& entry) { return entry.field == name(field.field); });
    RC_ASSERT(field.granted == field.asked || told);
  }
}

RC_GTEST_PROP(FitProperty, FittingAGrantAgainChangesNothing, ()) {
  const Contract& contract = draw_contract();
  QpRequest request = draw_request(*rc::gen::arbitrary<bool>());
  const auto first = fit(request, contract);
  if (!first) return;
  const auto fields = requests::wishes(request);
  for (std::size_t at = 0; at < fields.size(); ++at) {
    fields[at]->want = first->grant.fields[at].granted;
    fields[at]->at_least = std::nullopt;
  }
  const auto again = fit(request, contract);
  RC_ASSERT(again.has_value());
  for (std::size_t at = 0; at < fields.size(); ++at) {
    RC_ASSERT(again->grant.fields[at].granted == first->grant.fields[at].granted);
    RC_ASSERT(again->grant.fields[at].passed == first->grant.fields[at].passed);
  }
}

/// What gives way first has what the others leave: where they take more and give room back with it (a ring of half the
/// depth has WQEs of twice the size), it has more too.
RC_GTEST_PROP(FitProperty, AskingForMoreNeverLowersItsOwnGrantNorRaisesOneThatIsProtected, ()) {
  const Contract& contract = draw_contract();
  QpRequest request = draw_request(true);
  const auto before = fit(request, contract);
  if (!before) return;
  const auto raised = *rc::gen::inRange<std::size_t>(0, 5);
  requests::wishes(request)[raised]->want += draw_number(12);
  const auto after = fit(request, contract);
  RC_ASSERT(after.has_value());
  for (std::size_t at = 0; at < 5; ++at) {
    const std::uint32_t was = before->grant.fields[at].granted;
    const std::uint32_t is = after->grant.fields[at].granted;
    if (at == raised) {
      RC_ASSERT(is >= was);
    } else if (competitor_of(after->grant.fields[at].field) != request.give_way[0]) {
      RC_ASSERT(is <= was);
    }
  }
}

RC_GTEST_PROP(FitProperty, NothingMoreCouldBeHadBesideWhatIsGranted, ()) {
  const Contract& contract = draw_contract();
  QpRequest request = draw_request(true);
  const auto fitted = fit(request, contract);
  if (!fitted) return;
  const auto fields = requests::wishes(request);
  for (std::size_t at = 0; at < fields.size(); ++at) {
    const FieldGrant& more = fitted->grant.fields[at];
    if (more.granted >= more.asked) continue;
    for (std::size_t other = 0; other < fields.size(); ++other) {
      const std::uint32_t granted = fitted->grant.fields[other].granted;
      fields[other]->want = granted + (other == at ? 1 : 0);
      fields[other]->at_least = fields[other]->want;
    }
    RC_ASSERT(!fit(request, contract).has_value());
  }
}

RC_GTEST_PROP(FitProperty, TheSameQuestionHasTheSameAnswer, ()) {
  const Contract& contract = draw_contract();
  const QpRequest request = draw_request(*rc::gen::arbitrary<bool>());
  const auto once = fit(request, contract);
  const auto twice = fit(request, contract);
  RC_ASSERT(once.has_value() == twice.has_value());
  if (once) {
    RC_ASSERT(once->grant == twice->grant);
  } else {
    RC_ASSERT(once.error() == twice.error());
  }
}

RC_GTEST_PROP(FitProperty, ACompletionQueueHoldsTheSamePromises, ()) {
  const Contract& contract = draw_contract();
  CqRequest request;
  request.cqe.want = draw_number(32);
  request.cqe.at_least = 0;
  const auto grant = fit(request, contract);
  RC_ASSERT(grant.has_value());
  RC_ASSERT(grant->cqe.passed <= contract.domain(Field::cqe).max);
  RC_ASSERT(grant->cqe.granted <= std::max(request.cqe.want, 1U));
  request.cqe.want = grant->cqe.granted;
  RC_ASSERT(fit(request, contract)->cqe.passed == grant->cqe.passed);
}

}  // namespace
}  // namespace verbena
