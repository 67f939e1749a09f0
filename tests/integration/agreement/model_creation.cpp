// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "model_creation.hpp"

#include <utility>

namespace agreement {

namespace {

std::optional<Outcome> outcome_of(const verbena::emulator::Created& created, Kind kind) {
  if (!created.known) return std::nullopt;
  Outcome outcome;
  outcome.taken = created.taken;
  outcome.error = created.error;
  if (!created.taken) {
    outcome.by = "the model";
    return outcome;
  }
  switch (kind) {
    case Kind::qp:
      outcome.returned = {created.send_wr, created.recv_wr, created.send_sge, created.recv_sge, created.inline_data};
      break;
    case Kind::cq:
      outcome.returned[kDepth] = created.cqe;
      break;
    case Kind::srq:
      outcome.returned[kDepth] = created.srq_wr;
      outcome.returned[kSges] = created.srq_sge;
      break;
  }
  return outcome;
}

}  // namespace

std::optional<ModelCreation> ModelCreation::of(const verbena::Model& model, const verbena::Caps& caps) {
  auto creation = verbena::emulator::Creation::of(model, caps);
  if (!creation) return std::nullopt;
  return ModelCreation(std::move(*creation));
}

std::optional<Outcome> ModelCreation::predict(const Tuple& tuple) const {
  const Numbers& passed = tuple.passed;
  switch (tuple.kind) {
    case Kind::cq:
      return outcome_of(creation_.cq(passed[kDepth]), tuple.kind);
    case Kind::srq:
      return outcome_of(creation_.srq(passed[kDepth], passed[kSges]), tuple.kind);
    case Kind::qp:
      break;
  }
  return outcome_of(
      creation_.qp(tuple.type, tuple.ops,
                   {passed[kSendWr], passed[kRecvWr], passed[kSendSge], passed[kRecvSge], passed[kInline]}),
      tuple.kind);
}

}  // namespace agreement
