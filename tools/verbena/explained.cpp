// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "explained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "explain_steps.hpp"
#include "table.hpp"

namespace cli {
namespace {

using verbena::Result;

FieldLine line(std::string_view field, const verbena::Wish& wish) {
  FieldLine out;
  out.field = field;
  out.asked = wish.want;
  if (wish.at_least) out.at_least = *wish.at_least;
  return out;
}

void fill(FieldLine& line, const verbena::FieldGrant& grant) {
  line.granted = grant.granted;
  line.passed = grant.passed;
  if (grant.returned) line.returned = *grant.returned;
}

void take_notes(Explained& out, const verbena::GrantNotes& notes) {
  out.adjustments = notes.adjustments;
  out.ladder = notes.ladder;
}

}  // namespace

Explained begin(const verbena::CqRequest& request) {
  Explained out;
  out.kind = out.title = "cq";
  out.fields = {line("cqe", request.cqe)};
  return out;
}

Explained begin(const verbena::QpRequest& request) {
  Explained out;
  out.kind = "qp";
  out.title = fmt::format("qp {}, opcodes {}", name(request.type), to_string(request.ops));
  out.words["type"] = name(request.type);
  out.words["ops"] = to_string(request.ops);
  out.fields = {line("max_send_wr", request.max_send_wr), line("max_recv_wr", request.max_recv_wr),
                line("max_send_sge", request.max_send_sge), line("max_recv_sge", request.max_recv_sge),
                line("max_inline_data", request.max_inline_data)};
  return out;
}

Explained begin(const verbena::SrqRequest& request) {
  Explained out;
  out.kind = out.title = "srq";
  out.fields = {line("max_wr", request.max_wr), line("max_sge", request.max_sge),
                line("srq_limit", verbena::Wish{request.srq_limit})};
  return out;
}

Explained begin(const verbena::MrRequest& request) {
  Explained out;
  out.kind = "mr";
  out.title = fmt::format("mr, access 0x{:x}", request.access);
  out.words["access"] = request.access;
  FieldLine length;
  length.field = "length";
  length.asked = request.length;
  out.fields = {std::move(length)};
  return out;
}

void finish(Explained& out, const verbena::CqGrant& grant) {
  fill(out.fields[0], grant.cqe);
  take_notes(out, grant);
}

void finish(Explained& out, const verbena::QpGrant& grant) {
  for (std::size_t i = 0; i < grant.fields.size(); ++i) fill(out.fields[i], grant.fields[i]);
  take_notes(out, grant);
}

void finish(Explained& out, const verbena::SrqGrant& grant) {
  fill(out.fields[0], grant.max_wr);
  fill(out.fields[1], grant.max_sge);
  fill(out.fields[2], grant.srq_limit);
  take_notes(out, grant);
}

void finish(Explained& out, const verbena::MrGrant& grant) {
  out.fields[0].granted = grant.length;
  out.fields[0].passed = grant.length;
  take_notes(out, grant);
}

void note_passings(Explained& object, const verbena::Contract& contract) {
  const std::optional<verbena::Object> on = verbena::find_object(object.kind);
  for (const FieldLine& field : object.fields) {
    const auto found = on ? verbena::find_field(*on, field.field) : std::nullopt;
    if (!found || !field.granted || field.passed == field.granted) continue;
    verbena::Domain steps = contract.domain(*found);
    const std::uint8_t asks = steps.ask_count;
    std::uint64_t before = *field.granted;
    steps.ask_count = 0;
    verbena::ProvenanceIndex by = steps.reserve_by;
    for (std::uint8_t i = 0;; ++i) {
      const std::uint64_t after = steps.passed_for(*field.granted);
      if (after != before) object.passings.push_back({field.field, before, after, contract.provenance(by)});
      before = after;
      if (i == asks) break;
      by = steps.asks[i].by;
      steps.ask_count = static_cast<std::uint8_t>(i + 1);
    }
  }
}

namespace {

void note_unbounded(Explained& object, const verbena::Contract& contract) {
  const std::optional<verbena::Object> on = verbena::find_object(object.kind);
  for (const FieldLine& field : object.fields) {
    const auto found =
        on ? verbena::find_field(*on, field.field == "length" ? "mr_length" : field.field) : std::nullopt;
    if (found && field.granted && *field.granted > 0 && !contract.domain(*found).known)
      object.unbounded.push_back(field.field);
  }
}

}  // namespace

std::vector<Explained> explain(const Target& target, const Asked& asked) {
  std::vector<Explained> objects;
  const auto each = [&](const auto& requests, auto&& grant_of) {
    for (const auto& request : requests) {
      Explained object = begin(request);
      auto fitted = verbena::fit(request, *target.contract);
      if (fitted) {
        finish(object, grant_of(*fitted));
        note_passings(object, *target.contract);
        note_unbounded(object, *target.contract);
      } else {
        object.error = fitted.error();
      }
      objects.push_back(std::move(object));
    }
  };
  const auto itself = [](const auto& grant) -> const auto& { return grant; };
  each(asked.cqs, itself);
  each(asked.qps, [](const verbena::QpFit& fit) -> const auto& { return fit.grant; });
  each(asked.srqs, itself);
  each(asked.mrs, itself);
  return objects;
}

Json to_json(const Explained& object) {
  Json out;
  out["kind"] = object.kind;
  Json asked = object.words.is_null() ? Json::object() : object.words;
  Json floors = Json::object();
  Json granted = Json::object();
  Json passed = Json::object();
  Json returned = Json::object();
  for (const FieldLine& field : object.fields) {
    asked[field.field] = field.asked;
    if (field.at_least) floors[field.field] = *field.at_least;
    if (field.granted) granted[field.field] = *field.granted;
    if (field.passed) passed[field.field] = *field.passed;
    if (field.returned) returned[field.field] = *field.returned;
  }
  if (!floors.empty()) asked["at_least"] = std::move(floors);
  out["asked"] = std::move(asked);
  out["granted"] = object.error ? Json(nullptr) : std::move(granted);
  out["passed"] = std::move(passed);
  out["returned"] = returned.empty() ? Json(nullptr) : std::move(returned);
  out["adjustments"] = Json::array();
  for (const verbena::Adjustment& adjustment : object.adjustments) out["adjustments"].push_back(to_json(adjustment));
  out["error"] = object.error ? to_json(*object.error) : Json(nullptr);
  if (!object.passings.empty()) {
    out["passed_by"] = Json::array();
    for (const Passing& passing : object.passings) {
      Json row;
      row["field"] = passing.field;
      row["granted"] = passing.from;
      row["passed"] = passing.to;
      add_provenance(row, passing.by);
      row["layer"] = passing.by.layer;
      out["passed_by"].push_back(std::move(row));
    }
  }
  if (!object.unbounded.empty()) out["no_bound_known"] = object.unbounded;
  if (!object.ladder.empty()) {
    out["ladder"] = Json::array();
    for (const verbena::LadderStep& step : object.ladder) out["ladder"].push_back(to_json(step));
  }
  return out;
}

std::string to_text(const Explained& object) {
  const auto cell = [](const std::optional<std::uint64_t>& value) {
    return value ? fmt::format("{}", *value) : std::string("-");
  };
  Table table({"field", "asked", "granted", "passed", "returned"});
  for (const FieldLine& field : object.fields) {
    table.row({field.field,
               field.at_least ? fmt::format("{}..{}", *field.at_least, field.asked) : fmt::format("{}", field.asked),
               cell(field.granted), cell(field.passed), cell(field.returned)});
  }
  std::string out = object.title + '\n' + table.text(2);
  for (const verbena::Adjustment& adjustment : object.adjustments) out += "  " + to_string(adjustment) + '\n';
  for (const Passing& passing : object.passings) {
    out += fmt::format("  {}: {} becomes {} as passed by {} {} [layer {}, {}:{}]: {} — {}\n", passing.field,
                       passing.from, passing.to, name(passing.by.set_by), passing.by.rule, passing.by.layer,
                       passing.by.file, passing.by.line, passing.by.reason, passing.by.source);
  }
  if (!object.unbounded.empty())
    out += fmt::format("  no bound is known of {}: the device may take less\n", fmt::join(object.unbounded, ", "));
  for (const verbena::LadderStep& step : object.ladder) {
    out += fmt::format("  tried {}: {}{}\n", step.passed,
                       step.errno_value == 0 ? "accepted" : fmt::format("errno {}", step.errno_value),
                       step.changed.empty() ? "" : fmt::format(", then lowered {}", step.changed));
  }
  if (object.error) out += "  refused: " + to_string(*object.error) + '\n';
  return out;
}

}  // namespace cli
