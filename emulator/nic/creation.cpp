// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/creation.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "nic/formula.hpp"
#include "verbena/errno_family.hpp"

namespace verbena::emulator {
namespace {

using Value = std::optional<std::int64_t>;

/// Formulas of one part of a model, over the device's caps and what has been worked out so far.
class Part {
public:
  Part(const Tree* node, const Caps& caps) : node_(node), caps_(&caps) {}

  const Caps& caps() const { return *caps_; }
  bool has(std::string_view key) const { return node_ != nullptr && node_->find(key) != nullptr; }
  const Tree* node(std::string_view key) const { return node_ == nullptr ? nullptr : node_->find(key); }
  void set(std::string_view name, Value value) { names_[std::string{name}] = value; }

  Value named(std::string_view name) const {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    const auto cap = find_cap(name);
    const auto number = cap ? (*caps_)[*cap] : std::nullopt;
    return number ? Value{static_cast<std::int64_t>(std::min<std::uint64_t>(*number, INT64_MAX))} : std::nullopt;
  }
  Value value(const Tree* node) const {
    if (node == nullptr || !node->is_scalar()) return std::nullopt;
    return evaluate(node->scalar, [this](std::string_view name) { return named(name); });
  }
  Value value(std::string_view key) const { return value(node(key)); }

  /// The errno that stands under a key; 0 where none does, kErrnoLeftAlone for a driver that sets none.
  int error(std::string_view key) const {
    const Tree* at = node(key);
    if (at == nullptr || !at->is_scalar()) return 0;
    if (at->scalar == "null_without_errno") return kErrnoLeftAlone;
    for (int number = 1; number < 134; ++number)
      if (errno_name(number) == at->scalar) return number;
    return 0;
  }

private:
  const Tree* node_;
  const Caps* caps_;
  std::map<std::string, Value, std::less<>> names_;
};

Created refused(int error) {
  Created created;
  created.error = error;
  return created;
}

Created unknown() {
  Created created;
  created.known = false;
  return created;
}

/// Which queue of what: the words of the model depend on it.
struct Asked {
  bool shared = false;
  QpType type = QpType::rc;
  SendOps ops;
};

Value by_type(const Part& queue, std::string_view key, const std::string& type) {
  const Tree* node = queue.node(key);
  if (node == nullptr) return 0;
  return node->is_map() ? queue.value(node->find(type)) : queue.value(node);
}

/// Bytes before the SGEs: by type, or by the opcodes where the driver knows them. Empty for opcodes of no group.
Value overhead(const Part& queue, const Asked& asked) {
  const Tree* node = queue.node("overhead");
  if (node == nullptr || !node->is_map() || asked.ops.is_all() || asked.type == QpType::ud)
    return by_type(queue, "overhead", std::string{verbena::name(asked.type)});
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 3> groups{
      {{"send", SendOps::kSend | SendOps::kSendWithImm | SendOps::kSendWithInv},
       {"write_read", SendOps::kRdmaWrite | SendOps::kRdmaWriteWithImm | SendOps::kRdmaRead},
       {"atomics", SendOps::kCompareSwap | SendOps::kFetchAdd}}};
  std::uint64_t left = asked.ops.bits;
  Value most = 0;
  for (const auto& [group, bits] : groups) {
    if ((asked.ops.bits & bits) == 0) continue;
    const Value one = queue.value(node->find(group));
    most = most && one ? Value{std::max(*most, *one)} : std::nullopt;
    left &= ~bits;
  }
  return left == 0 ? most : std::nullopt;
}

/// Size of one work request: the first class that neither SGEs nor inline bytes exceed.
Value class_size(const Part& queue, std::int64_t sge, std::int64_t inline_data) {
  const Tree* classes = queue.node("classes");
  if (classes == nullptr) return 1;
  for (const Tree& each : classes->items) {
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
  const Tree* node = queue.node(bound);
  if (node == nullptr || !node->is_scalar() || node->scalar != "unknown") return false;
  return above(number, queue.named(declared));
}

QueueOutcome predict_queue(Part queue, QueueNumbers numbers, const Asked& asked, int over) {
  QueueOutcome outcome;
  outcome.error = queue.has("over") ? queue.error("over") : over;
  const Value least = queue.value("min"),
              least_sges = by_type(queue, "sge_min", std::string{verbena::name(asked.type)});
  if (numbers.wr == 0 && least && *least > 0) {
    if (queue.has("zero")) outcome.error = queue.error("zero");
    return outcome;
  }
  if (const Tree* cut = queue.node("over");
      cut != nullptr && cut->scalar == "clamped" && above(numbers.wr, queue.value("max")))
    numbers.wr = *queue.value("max");
  if (beyond_knowledge(queue, "max", numbers.wr, asked.shared ? "max_srq_wr" : "max_qp_wr") ||
      beyond_knowledge(queue, "sge_max", numbers.sge, asked.shared ? "max_srq_sge" : "max_sge")) {
    outcome.known = false;
    return outcome;
  }
  queue.set("wr", numbers.wr);
  queue.set("sge", numbers.sge);
  queue.set("inline", numbers.inline_data);
  const Tree* over_sges = queue.node("sge_over");
  const bool sges_looked_at = over_sges == nullptr || over_sges->scalar != "taken";
  if (above(numbers.wr, queue.value("max")) || (sges_looked_at && above(numbers.sge, queue.value("sge_max"))))
    return outcome;
  const bool looked_at = numbers.wr > 0 || asked.shared;
  if (looked_at && least_sges && numbers.sge < *least_sges) {
    const Tree* zero = queue.node("sge_zero");
    if (zero != nullptr) outcome.error = queue.error("sge_zero");
    outcome.known = zero == nullptr || zero->scalar != "unknown";
    return outcome;
  }
  queue.set("size", class_size(queue, numbers.sge + queue.value("sge_extra").value_or(0), numbers.inline_data));
  queue.set("overhead", overhead(queue, asked));
  queue.set("sge_in_wqe", by_type(queue, "sge_in_wqe", std::string{verbena::name(asked.type)}));
  for (const std::string_view key : {"least", "wqe", "bytes", "extended", "ring"})
    if (queue.has(key)) queue.set(key, queue.value(key));
  if (above(queue.value("wqe"), queue.value("wqe_max")) || above(queue.value("ring"), queue.value("ring_max")))
    return outcome;
  outcome.known = by_type(queue, "overrun", std::string{verbena::name(asked.type)}).value_or(0) == 0;
  outcome.taken = true;
  if (const Tree* returned = queue.node("returned")) {
    outcome.wr = queue.value(returned->find("wr"));
    outcome.sge = queue.value(returned->find("sge"));
    outcome.inline_data = queue.value(returned->find("inline"));
  }
  return outcome;
}

/// The numbers of a queue pair, whatever its type.
Created predict_numbers(const Part& qp, const Asked& asked, const ibv_qp_cap& passed) {
  std::int64_t inline_data = passed.max_inline_data;
  if (const Value most = qp.value("inline_max"); most && inline_data > *most) {
    const Tree* over = qp.node("inline_over");
    if (over == nullptr || over->scalar != "clamped") return refused(qp.error("inline_over"));
    inline_data = *most;
  }
  const int over = qp.error("over");
  const QueueOutcome send = predict_queue(Part(qp.node("send"), qp.caps()),
                                          {passed.max_send_wr, passed.max_send_sge, inline_data}, asked, over);
  const QueueOutcome recv =
      predict_queue(Part(qp.node("recv"), qp.caps()), {passed.max_recv_wr, passed.max_recv_sge, 0}, asked, over);
  if (!send.known || !recv.known) return unknown();
  if (!send.taken) return refused(send.error);
  if (!recv.taken) return refused(recv.error);
  Created created;
  created.taken = true;
  created.send_wr = send.wr;
  created.recv_wr = recv.wr;
  created.send_sge = send.sge;
  created.recv_sge = recv.sge;
  created.inline_data = send.inline_data;
  return created;
}

}  // namespace

std::optional<Creation> Creation::of(const Model& model, const Caps& caps) {
  Tree root = Tree::of(model.creation_yaml);
  if (!root.is_map()) return std::nullopt;
  // The text may stand below its own key.
  if (const Tree* creation = root.find("creation")) return Creation(*creation, caps);
  return Creation(std::move(root), caps);
}

Created Creation::cq(std::uint32_t depth) const {
  const Tree* node = root_.find("cq");
  if (node == nullptr) return unknown();
  Part cq(node, caps_);
  const Value least = cq.value("min");
  if (depth == 0 && least && *least > 0) return refused(cq.error("zero"));
  if (least && std::int64_t{depth} < *least) return refused(cq.error("over"));
  if (above(depth, cq.value("max"))) return refused(cq.error("over"));
  cq.set("n", depth);
  cq.set("ring", cq.value("ring"));
  if (above(cq.value("ring"), cq.value("ring_max"))) return refused(cq.error("over"));
  Created created;
  created.taken = true;
  created.cqe = cq.value("reported");
  return created;
}

Created Creation::srq(std::uint32_t depth, std::uint32_t sges) const {
  const Tree* node = root_.find("srq");
  if (node == nullptr || !node->is_map()) return unknown();
  const Part part(node, caps_);
  const QueueOutcome queue = predict_queue(part, {depth, sges, 0}, {.shared = true, .ops = {}}, part.error("over"));
  if (!queue.known) return unknown();
  if (!queue.taken) return refused(queue.error);
  Created created;
  created.taken = true;
  created.srq_wr = queue.wr;
  created.srq_sge = queue.sge;
  return created;
}

Created Creation::qp(QpType type, SendOps ops, const ibv_qp_cap& passed) const {
  const Tree* node = root_.find("qp");
  if (node == nullptr) return unknown();
  const Part qp(node, caps_);
  const Asked asked{.type = type, .ops = ops};
  const std::string_view word = verbena::name(type);
  if (const Tree* types = qp.node("types");
      types != nullptr &&
      std::none_of(types->items.begin(), types->items.end(), [&](const Tree& each) { return each.scalar == word; })) {
    const int error = qp.has(word) ? qp.error(word) : qp.error("other_type");
    // Where the numbers are refused as well, or may be, no model says what is looked at first.
    const Created numbers = predict_numbers(qp, asked, passed);
    return refused(numbers.known && (numbers.taken || numbers.error == error) ? error : 0);
  }
  return predict_numbers(qp, asked, passed);
}

bool Creation::makes(QpType type) const {
  const Tree* const node = root_.find("qp");
  const Tree* const types = node == nullptr ? nullptr : node->find("types");
  return types == nullptr || std::any_of(types->items.begin(), types->items.end(),
                                         [type](const Tree& each) { return each.scalar == verbena::name(type); });
}

bool Creation::has_srq() const {
  const Tree* const node = root_.find("srq");
  return node == nullptr || node->is_map();
}

int Creation::error(std::string_view part, std::string_view key) const {
  return Part(root_.find(part), caps_).error(key);
}

std::optional<std::int64_t> Creation::number(std::string_view part, std::string_view key) const {
  return Part(root_.find(part), caps_).value(key);
}

std::string Creation::word(std::string_view part, std::string_view key) const {
  const Tree* const at = Part(root_.find(part), caps_).node(key);
  return at != nullptr && at->is_scalar() ? at->scalar : std::string();
}

}  // namespace verbena::emulator
