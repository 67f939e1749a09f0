// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "model_creation.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "formula.hpp"
#include "verbena/errno_family.hpp"

namespace agreement {
namespace {

using verbena::QpType;
using verbena::SendOps;
using verbena::yaml::Node;
using Value = std::optional<std::int64_t>;

/// Formulas of one part of a model, over the device's caps and what has been worked out so far.
class Part {
public:
  Part(const Node* node, const verbena::Caps& caps) : node_(node), caps_(&caps) {}

  const verbena::Caps& caps() const { return *caps_; }
  bool has(std::string_view key) const { return node_ != nullptr && node_->find(key) != nullptr; }
  const Node* node(std::string_view key) const { return node_ == nullptr ? nullptr : node_->find(key); }
  void set(std::string_view name, Value value) { names_[std::string{name}] = value; }

  Value named(std::string_view name) const {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    const auto cap = verbena::find_cap(name);
    const auto number = cap ? (*caps_)[*cap] : std::nullopt;
    return number ? Value{static_cast<std::int64_t>(std::min<std::uint64_t>(*number, INT64_MAX))} : std::nullopt;
  }
  Value value(const Node* node) const {
    if (node == nullptr || !node->is_scalar()) return std::nullopt;
    return evaluate(node->scalar, [this](std::string_view name) { return named(name); });
  }
  Value value(std::string_view key) const { return value(node(key)); }

  /// The errno that stands under a key; 0 where none does, kErrnoLeftAlone for a driver that sets none.
  int error(std::string_view key) const {
    const Node* at = node(key);
    if (at == nullptr || !at->is_scalar()) return 0;
    if (at->scalar == "null_without_errno") return kErrnoLeftAlone;
    for (int number = 1; number < 134; ++number)
      if (verbena::errno_name(number) == at->scalar) return number;
    return 0;
  }

private:
  const Node* node_;
  const verbena::Caps* caps_;
  std::map<std::string, Value, std::less<>> names_;
};

Outcome refused(int error) {
  Outcome outcome;
  outcome.error = error;
  outcome.by = "the model";
  return outcome;
}

Value by_type(const Part& queue, std::string_view key, const std::string& type) {
  const Node* node = queue.node(key);
  if (node == nullptr) return 0;
  return node->is_map() ? queue.value(node->find(type)) : queue.value(node);
}

/// Bytes before the SGEs: by type, or by the opcodes where the driver knows them. Empty for opcodes of no group.
Value overhead(const Part& queue, const Tuple& tuple) {
  const Node* node = queue.node("overhead");
  if (node == nullptr || !node->is_map() || tuple.ops.is_all() || tuple.type == QpType::ud)
    return by_type(queue, "overhead", std::string{name(tuple.type)});
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 3> groups{
      {{"send", SendOps::kSend | SendOps::kSendWithImm | SendOps::kSendWithInv},
       {"write_read", SendOps::kRdmaWrite | SendOps::kRdmaWriteWithImm | SendOps::kRdmaRead},
       {"atomics", SendOps::kCompareSwap | SendOps::kFetchAdd}}};
  std::uint64_t left = tuple.ops.bits;
  Value most = 0;
  for (const auto& [group, bits] : groups) {
    if ((tuple.ops.bits & bits) == 0) continue;
    const Value one = queue.value(node->find(group));
    most = most && one ? Value{std::max(*most, *one)} : std::nullopt;
    left &= ~bits;
  }
  return left == 0 ? most : std::nullopt;
}

/// Size of one work request: the first class that neither SGEs nor inline bytes exceed.
Value class_size(const Part& queue, std::int64_t sge, std::int64_t inline_data) {
  const Node* classes = queue.node("classes");
  if (classes == nullptr) return 1;
  for (const Node& each : classes->items) {
    const Value most_sges = queue.value(each.find("sge")), most_inline = queue.value(each.find("inline"));
    if ((!most_sges || sge <= *most_sges) && (!most_inline || inline_data <= *most_inline))
      return queue.value(each.find("size"));
  }
  return std::nullopt;
}

struct QueueNumbers {
  std::int64_t wr = 0, sge = 0, inline_data = 0;
};

/// One queue of a QP, or an SRQ: an errno of a refusal (0: the model names none), or what is written back.
struct QueueOutcome {
  bool known = true;
  bool taken = false;
  int error = 0;
  Value wr, sge, inline_data;
};

bool above(Value number, Value bound) {
  return number && bound && *number > *bound;
}

/// Is the number above what the device declares, where only firmware knows its bound?
bool beyond_knowledge(const Part& queue, std::string_view bound, std::int64_t number, std::string_view declared) {
  const Node* node = queue.node(bound);
  if (node == nullptr || !node->is_scalar() || node->scalar != "unknown") return false;
  return above(number, queue.named(declared));
}

QueueOutcome predict_queue(Part queue, QueueNumbers asked, const Tuple& tuple, int over) {
  QueueOutcome outcome;
  outcome.error = queue.has("over") ? queue.error("over") : over;
  const Value least = queue.value("min"), least_sges = by_type(queue, "sge_min", std::string{name(tuple.type)});
  if (asked.wr == 0 && least && *least > 0) {
    if (queue.has("zero")) outcome.error = queue.error("zero");
    return outcome;
  }
  if (const Node* cut = queue.node("over");
      cut != nullptr && cut->scalar == "clamped" && above(asked.wr, queue.value("max")))
    asked.wr = *queue.value("max");
  if (beyond_knowledge(queue, "max", asked.wr, tuple.kind == Kind::srq ? "max_srq_wr" : "max_qp_wr") ||
      beyond_knowledge(queue, "sge_max", asked.sge, tuple.kind == Kind::srq ? "max_srq_sge" : "max_sge")) {
    outcome.known = false;
    return outcome;
  }
  queue.set("wr", asked.wr);
  queue.set("sge", asked.sge);
  queue.set("inline", asked.inline_data);
  const Node* over_sges = queue.node("sge_over");
  const bool sges_looked_at = over_sges == nullptr || over_sges->scalar != "taken";
  if (above(asked.wr, queue.value("max")) || (sges_looked_at && above(asked.sge, queue.value("sge_max"))))
    return outcome;
  const bool looked_at = asked.wr > 0 || tuple.kind == Kind::srq;
  if (looked_at && least_sges && asked.sge < *least_sges) {
    const Node* zero = queue.node("sge_zero");
    if (zero != nullptr) outcome.error = queue.error("sge_zero");
    outcome.known = zero == nullptr || zero->scalar != "unknown";
    return outcome;
  }
  queue.set("size", class_size(queue, asked.sge + queue.value("sge_extra").value_or(0), asked.inline_data));
  queue.set("overhead", overhead(queue, tuple));
  queue.set("sge_in_wqe", by_type(queue, "sge_in_wqe", std::string{name(tuple.type)}));
  for (const std::string_view key : {"least", "wqe", "bytes", "extended", "ring"})
    if (queue.has(key)) queue.set(key, queue.value(key));
  if (above(queue.value("wqe"), queue.value("wqe_max")) || above(queue.value("ring"), queue.value("ring_max")))
    return outcome;
  outcome.known = by_type(queue, "overrun", std::string{name(tuple.type)}).value_or(0) == 0;
  outcome.taken = true;
  if (const Node* returned = queue.node("returned")) {
    outcome.wr = queue.value(returned->find("wr"));
    outcome.sge = queue.value(returned->find("sge"));
    outcome.inline_data = queue.value(returned->find("inline"));
  }
  return outcome;
}

/// The numbers of a queue pair, whatever its type.
std::optional<Outcome> predict_numbers(const Part& qp, const Tuple& tuple) {
  const Numbers& passed = tuple.passed;
  std::int64_t inline_data = passed[kInline];
  if (const Value most = qp.value("inline_max"); most && inline_data > *most) {
    const Node* over = qp.node("inline_over");
    if (over == nullptr || over->scalar != "clamped") return refused(qp.error("inline_over"));
    inline_data = *most;
  }
  const int over = qp.error("over");
  const QueueOutcome send =
      predict_queue(Part(qp.node("send"), qp.caps()), {passed[kSendWr], passed[kSendSge], inline_data}, tuple, over);
  const QueueOutcome recv =
      predict_queue(Part(qp.node("recv"), qp.caps()), {passed[kRecvWr], passed[kRecvSge], 0}, tuple, over);
  if (!send.known || !recv.known) return std::nullopt;
  if (!send.taken) return refused(send.error);
  if (!recv.taken) return refused(recv.error);
  Outcome outcome;
  outcome.taken = true;
  outcome.returned = {send.wr, recv.wr, send.sge, recv.sge, send.inline_data};
  return outcome;
}

}  // namespace

std::optional<ModelCreation> ModelCreation::of(const verbena::Model& model, const verbena::Caps& caps) {
  auto root = verbena::yaml::parse(model.creation_yaml, model.name);
  if (!root || !root->is_map()) return std::nullopt;
  // The text may stand below its own key.
  if (const Node* creation = root->find("creation")) return ModelCreation(*creation, caps);
  return ModelCreation(std::move(*root), caps);
}

std::optional<Outcome> ModelCreation::predict_cq(std::uint32_t depth) const {
  const Node* node = root_.find("cq");
  if (node == nullptr) return std::nullopt;
  Part cq(node, *caps_);
  const Value least = cq.value("min");
  if (depth == 0 && least && *least > 0) return refused(cq.error("zero"));
  if (least && std::int64_t{depth} < *least) return refused(cq.error("over"));
  if (above(depth, cq.value("max"))) return refused(cq.error("over"));
  cq.set("n", depth);
  cq.set("ring", cq.value("ring"));
  if (above(cq.value("ring"), cq.value("ring_max"))) return refused(cq.error("over"));
  Outcome outcome;
  outcome.taken = true;
  outcome.returned[kDepth] = cq.value("reported");
  return outcome;
}

std::optional<Outcome> ModelCreation::predict_srq(std::uint32_t depth, std::uint32_t sges) const {
  const Node* node = root_.find("srq");
  if (node == nullptr || !node->is_map()) return std::nullopt;
  const Part part(node, *caps_);
  Tuple tuple;
  tuple.kind = Kind::srq;
  const QueueOutcome queue = predict_queue(part, {depth, sges, 0}, tuple, part.error("over"));
  if (!queue.known) return std::nullopt;
  if (!queue.taken) return refused(queue.error);
  Outcome outcome;
  outcome.taken = true;
  outcome.returned[kDepth] = queue.wr;
  outcome.returned[kSges] = queue.sge;
  return outcome;
}

std::optional<Outcome> ModelCreation::predict_qp(const Tuple& tuple) const {
  const Node* node = root_.find("qp");
  if (node == nullptr) return std::nullopt;
  const Part qp(node, *caps_);
  const std::string type{name(tuple.type)};
  if (const Node* types = qp.node("types");
      types != nullptr &&
      std::none_of(types->items.begin(), types->items.end(), [&](const Node& each) { return each.scalar == type; })) {
    const int error = qp.has(type) ? qp.error(type) : qp.error("other_type");
    // Where the numbers are refused as well, or may be, no model says what is looked at first.
    const auto numbers = predict_numbers(qp, tuple);
    return refused(numbers && (numbers->taken || numbers->error == error) ? error : 0);
  }
  return predict_numbers(qp, tuple);
}

std::optional<Outcome> ModelCreation::predict(const Tuple& tuple) const {
  if (tuple.kind == Kind::cq) return predict_cq(tuple.passed[kDepth]);
  if (tuple.kind == Kind::srq) return predict_srq(tuple.passed[kDepth], tuple.passed[kSges]);
  return predict_qp(tuple);
}

}  // namespace agreement
