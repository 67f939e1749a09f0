// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/messages.hpp"

#include <nlohmann/json.hpp>

#include "report/run_json.hpp"

namespace conform {
namespace {

using Json = nlohmann::json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// What a column holds of an outcome travels as a column, by the report's own reader.
CaseResult carried(const Outcome& outcome) {
  CaseResult out;
  out.impact = "none";
  out.raw.ms = outcome.ms;
  out.raw.findings = outcome.findings;
  out.raw.adjustments = outcome.adjustments;
  out.raw.notes = outcome.notes;
  return out;
}

}  // namespace

std::string to_line(const Task& task) {
  Json json{{"case", task.id},       {"body", task.body},       {"row", task.row},
            {"covers", task.covers}, {"side", word(task.side)}, {"drop", task.drop_capabilities}};
  if (task.memlock_bytes) json["memlock"] = *task.memlock_bytes;
  return dump(json);
}

std::optional<Task> task_from_line(std::string_view line) try {
  const Json json = Json::parse(line);
  Task task;
  task.id = json.at("case").get<std::string>();
  task.body = json.at("body").get<std::string>();
  task.row = json.at("row").get<std::map<std::string, std::string>>();
  task.covers = json.at("covers").get<std::vector<std::string>>();
  task.side = from_word<Side>(json.at("side").get<std::string>()).value_or(Side::raw);
  task.drop_capabilities = json.at("drop").get<bool>();
  if (json.contains("memlock")) task.memlock_bytes = json.at("memlock").get<std::uint64_t>();
  return task;
} catch (const Json::exception&) {
  return std::nullopt;
}

std::string to_line(const Outcome& outcome) {
  Json json{{"column", case_to_json_line(carried(outcome))}, {"fault", outcome.fault}};
  if (outcome.stop) {
    json["stop"] = {
        {"why", static_cast<int>(outcome.stop->why)}, {"word", outcome.stop->word}, {"text", outcome.stop->text}};
  }
  return dump(json);
}

std::optional<Outcome> outcome_from_line(std::string_view line) try {
  const Json json = Json::parse(line);
  const auto column = case_from_json_line(json.at("column").get<std::string>(), "worker");
  if (!column) return std::nullopt;
  Outcome outcome;
  outcome.ms = column->raw.ms;
  outcome.findings = column->raw.findings;
  outcome.adjustments = column->raw.adjustments;
  outcome.notes = column->raw.notes;
  outcome.fault = json.at("fault").get<std::string>();
  if (json.contains("stop")) {
    const int why = json.at("stop").at("why").get<int>();
    if (why < 0 || why > static_cast<int>(Stop::Why::broken)) return std::nullopt;
    outcome.stop = Stop{static_cast<Stop::Why>(why), json.at("stop").at("word").get<std::string>(),
                        json.at("stop").at("text").get<std::string>()};
  }
  return outcome;
} catch (const Json::exception&) {
  return std::nullopt;
}

std::string ready_line(const std::string& why_not) {
  return dump(Json{{"ready", why_not}});
}

std::optional<std::string> why_not_ready(std::string_view line) try {
  return Json::parse(line).at("ready").get<std::string>();
} catch (const Json::exception&) {
  return std::nullopt;
}

}  // namespace conform
