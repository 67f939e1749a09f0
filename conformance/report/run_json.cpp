// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "run_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "file.hpp"

namespace conform {
namespace {

using Json = nlohmann::ordered_json;
using verbena::ErrorKind;
using verbena::Failure;

// ---- to JSON

Json or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}

Json to_json(const Finding& finding) {
  return {{"requirement", finding.requirement}, {"seen", word(finding.seen)},      {"errno", or_null(finding.error)},
          {"status", or_null(finding.status)},  {"state", or_null(finding.state)}, {"text", finding.text}};
}

Json to_json(const Adjustment& a) {
  return {{"field", a.field}, {"asked", a.asked},   {"granted", a.granted}, {"kind", a.kind},
          {"rule", a.rule},   {"reason", a.reason}, {"source", a.source}};
}

Json to_json(const CaseResult& result);
Json to_json(const Expectation& entry);

template <class T>
Json to_array(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) {
    if constexpr (std::is_same_v<T, std::string>) {
      array.push_back(value);
    } else {
      array.push_back(to_json(value));
    }
  }
  return array;
}

Json to_json(const Column& column) {
  return {{"verdict", word(column.verdict)},
          {"table", word(column.table)},
          {"red", column.red},
          {"ms", column.ms},
          {"runs", column.runs},
          {"rate", or_null(column.rate)},
          {"reason", column.reason},
          {"findings", to_array(column.findings)},
          {"expectations", to_array(column.expectations)},
          {"adjustments", to_array(column.adjustments)},
          {"notes", to_array(column.notes)}};
}

Json to_json(const CaseResult& result) {
  return {{"id", result.id},
          {"says", result.says},
          {"area", result.area},
          {"covers", to_array(result.covers)},
          {"impact", result.impact},
          {"raw", to_json(result.raw)},
          {"verbena", to_json(result.verbena)}};
}

Json to_json(const Identity& id) {
  return {{"name", id.name},           {"driver", id.driver},       {"part", id.part},
          {"firmware", id.firmware},   {"kernel", id.kernel},       {"library", id.library},
          {"transport", id.transport}, {"node_guid", id.node_guid}, {"model", or_null(id.model)}};
}

Json to_json(const Expectation& entry) {
  return {{"id", entry.id},
          {"says", entry.says},
          {"reason", entry.reason},
          {"source", to_array(entry.source)},
          {"until", entry.until}};
}

Json counts_json(const Run& run, Side side) {
  const Counts counts = count(run, side);
  Json out = Json::object();
  for (std::size_t at = 0; at < kVerdictWords.size(); ++at) {
    const auto found = counts.find(static_cast<Verdict>(at));
    out[std::string(kVerdictWords[at])] = found == counts.end() ? 0U : found->second;
  }
  return out;
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// ---- from JSON

/// Thrown and caught in this file.
struct Broken {
  std::string path;
  std::string text;
};

/// A value of the document and the path that leads to it.
class Node {
public:
  Node(const Json& json, std::string path) : json_{json}, path_{std::move(path)} {}

  [[noreturn]] void fail(std::string text) const { throw Broken{path_, std::move(text)}; }

  Node operator[](const char* key) const {
    if (!json_.is_object()) fail(fmt::format("should be an object and is {}", json_.type_name()));
    const std::string path = path_.empty() ? key : path_ + "." + key;
    const auto found = json_.find(key);
    if (found == json_.end()) throw Broken{path, "is missing"};
    return {*found, path};
  }

  std::string text() const { return json_.is_string() ? json_.get<std::string>() : wrong<std::string>("a text"); }
  bool flag() const { return json_.is_boolean() ? json_.get<bool>() : wrong<bool>("true or false"); }
  double number() const { return json_.is_number() ? json_.get<double>() : wrong<double>("a number"); }

  template <class T>
  T whole() const {
    if (!json_.is_number_unsigned() || json_.get<std::uint64_t>() > std::numeric_limits<T>::max()) {
      return wrong<T>(fmt::format("a whole number from 0 to {}", std::numeric_limits<T>::max()));
    }
    return json_.get<T>();
  }

  std::optional<std::string> text_or_null() const {
    if (json_.is_null()) return std::nullopt;
    return text();
  }

  template <class E>
  E one_of() const {
    const std::string found = text();
    const std::optional<E> value = from_word<E>(found);
    if (!value) fail(fmt::format("is '{}', and should be one of {}", found, every_word<E>()));
    return *value;
  }

  /// `read` makes the value of one entry.
  template <class F>
  auto each(const F& read) const {
    if (!json_.is_array()) wrong<int>("an array");
    std::vector<decltype(read(*this))> values;
    values.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) {
      values.push_back(read(Node(json_[i], fmt::format("{}[{}]", path_, i))));
    }
    return values;
  }

  std::vector<std::string> texts() const {
    return each([](const Node& entry) { return entry.text(); });
  }

  bool null() const { return json_.is_null(); }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

private:
  template <class T>
  T wrong(const std::string& wanted) const {
    fail(fmt::format("should be {} and is {}", wanted, json_.is_primitive() ? dump(json_, -1) : json_.type_name()));
  }

  const Json& json_;
  std::string path_;
};

Finding read_finding(const Node& node) {
  return {node["requirement"].text(),    node["seen"].one_of<Seen>(),  node["errno"].text_or_null(),
          node["status"].text_or_null(), node["state"].text_or_null(), node["text"].text()};
}

Adjustment read_adjustment(const Node& node) {
  return {node["field"].text(),
          node["asked"].whole<std::uint64_t>(),
          node["granted"].whole<std::uint64_t>(),
          node["kind"].text(),
          node["rule"].text(),
          node["reason"].text(),
          node["source"].text()};
}

Column read_column(const Node& node) {
  Column column;
  column.verdict = node["verdict"].one_of<Verdict>();
  column.table = node["table"].one_of<Table>();
  column.red = node["red"].flag();
  column.ms = node["ms"].number();
  column.runs = node["runs"].whole<std::uint32_t>();
  column.rate = node["rate"].text_or_null();
  column.reason = node["reason"].text();
  column.findings = node["findings"].each(read_finding);
  column.expectations = node["expectations"].texts();
  column.adjustments = node["adjustments"].each(read_adjustment);
  column.notes = node["notes"].texts();
  return column;
}

CaseResult read_case(const Node& node) {
  return {node["id"].text(),     node["says"].text(),      node["area"].text(),         node["covers"].texts(),
          node["impact"].text(), read_column(node["raw"]), read_column(node["verbena"])};
}

Identity read_identity(const Node& node) {
  return {node["name"].text(),      node["driver"].text(),    node["part"].text(),
          node["firmware"].text(),  node["kernel"].text(),    node["library"].text(),
          node["transport"].text(), node["node_guid"].text(), node["model"].text_or_null()};
}

Expectation read_expectation(const Node& node) {
  return {node["id"].text(), node["says"].text(), node["reason"].text(), node["source"].texts(), node["until"].text()};
}

/// A report must not show a sum that its cases do not have.
void check_counts(const Node& node, const Run& run, Side side) {
  Counts counts = count(run, side);
  for (const std::string_view verdict : kVerdictWords) {
    const Node said = node[verdict.data()];
    const std::uint32_t there = counts[*from_word<Verdict>(verdict)];
    if (said.whole<std::uint32_t>() != there) said.fail(fmt::format("disagrees with the cases, which have {}", there));
  }
}

void check_schema(const Node& node) {
  const auto schema = node["schema"].whole<std::uint32_t>();
  if (schema != kResultsSchema) {
    node["schema"].fail(fmt::format("is {}; this build reads results of schema {}", schema, kResultsSchema));
  }
}

Run read_run(const Node& node) {
  check_schema(node);
  Run run;
  run.suite_version = node["suite"]["version"].whole<std::uint32_t>();
  run.suite_cases = node["suite"]["cases"].whole<std::uint32_t>();
  run.suite_requirements = node["suite"]["requirements"].whole<std::uint32_t>();
  run.verbena = node["verbena"].text();
  run.begun = node["begun"].text();
  run.seconds = node["seconds"].number();
  run.seed = node["seed"].whole<std::uint64_t>();
  run.repeat = node["repeat"].whole<std::uint32_t>();
  run.official = node["official"].flag();
  run.command = node["command"].texts();
  run.substrate = node["substrate"].one_of<Substrate>();
  run.device = read_identity(node["device"]);
  if (!node["peer"].null()) run.peer = read_identity(node["peer"]);
  run.path = node["path"].one_of<Path>();
  run.quirks_hash = node["quirks"]["hash"].text();
  // Runs of before 2026-12 have none.
  if (node["quirks"].has("layers_left_out")) run.layers_left_out = node["quirks"]["layers_left_out"].texts();
  run.cases = node["cases"].each(read_case);
  run.expectations = node["expectations"].each(read_expectation);
  for (const Side side : {Side::raw, Side::verbena}) check_counts(node["counts"][word(side).data()], run, side);
  run.blocked_budget = node["blocked_budget"].whole<std::uint32_t>();
  run.red = node["red"].flag();
  run.why_red = node["why_red"].texts();
  return run;
}

/// Parses, and hands the root to `read`; what is wrong becomes an error that says where.
template <class F>
auto parse(std::string_view text, const std::string& name, const F& read)
    -> verbena::Result<decltype(read(std::declval<Node>()))> {
  verbena::Error error{.kind = ErrorKind::bad_table};
  error.by.file = name;
  try {
    return read(Node(Json::parse(text), ""));
  } catch (const Broken& broken) {
    error.field = broken.path;
    error.text = fmt::format("{}: {} {}", name, broken.path.empty() ? "the document" : broken.path, broken.text);
  } catch (const Json::parse_error& broken) {
    const std::string_view before = text.substr(0, std::min(text.size(), broken.byte == 0 ? 0 : broken.byte - 1));
    error.by.line = static_cast<int>(std::count(before.begin(), before.end(), '\n') + 1);
    const std::size_t column = before.size() - (before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1) + 1;
    error.text = fmt::format("{}:{}:{}: is no JSON from here on{}", name, error.by.line, column,
                             text.empty() ? ": the file is empty" : "");
  }
  return Failure(std::move(error));
}

}  // namespace

std::string run_to_json(const Run& run) {
  Json out;
  out["schema"] = kResultsSchema;
  out["suite"] = {{"version", run.suite_version}, {"cases", run.suite_cases}, {"requirements", run.suite_requirements}};
  out["verbena"] = run.verbena;
  out["begun"] = run.begun;
  out["seconds"] = run.seconds;
  out["seed"] = run.seed;
  out["repeat"] = run.repeat;
  out["official"] = run.official;
  out["command"] = to_array(run.command);
  out["substrate"] = word(run.substrate);
  out["device"] = to_json(run.device);
  out["peer"] = run.peer ? to_json(*run.peer) : Json(nullptr);
  out["path"] = word(run.path);
  out["quirks"]["hash"] = run.quirks_hash;
  out["quirks"]["layers_left_out"] = to_array(run.layers_left_out);
  out["cases"] = to_array(run.cases);
  out["expectations"] = to_array(run.expectations);
  for (const Side side : {Side::raw, Side::verbena}) out["counts"][std::string(word(side))] = counts_json(run, side);
  out["blocked_budget"] = run.blocked_budget;
  out["red"] = run.red;
  out["why_red"] = to_array(run.why_red);
  return dump(out, 1) + "\n";
}

std::string case_to_json_line(const CaseResult& result) {
  return dump(to_json(result), -1);
}

verbena::Result<Run> run_from_json(std::string_view text, const std::string& name) {
  return parse(text, name, read_run);
}

verbena::Result<CaseResult> case_from_json_line(std::string_view line, const std::string& name) {
  return parse(line, name, read_case);
}

verbena::Result<Run> load_run(const std::string& file) {
  const verbena::Result<std::string> text = read_file(file);
  if (!text) return Failure(text.error());
  return run_from_json(*text, file);
}

}  // namespace conform
