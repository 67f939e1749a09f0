// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "junit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "column_text.hpp"
#include "escape.hpp"

namespace conform {
namespace {

class Writer {
public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void property(std::string_view name, std::string_view value) {
    line(R"(      <property name="{}" value="{}"/>)", name, escape_attribute(value));
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
};

void write_identity(Writer& out, const std::string& whose, const Identity& id) {
  out.property(whose + ".name", id.name);
  out.property(whose + ".driver", id.driver);
  out.property(whose + ".part", id.part);
  out.property(whose + ".firmware", id.firmware);
  out.property(whose + ".kernel", id.kernel);
  out.property(whose + ".library", id.library);
  out.property(whose + ".transport", id.transport);
  out.property(whose + ".node_guid", id.node_guid);
  if (id.model) out.property(whose + ".model", *id.model);
}

enum class Outcome { passed, failed, error, skipped };

/// A feature that is absent was asked for and refused as it should: passed. Where nothing was run, skipped.
Outcome outcome(const Column& column) {
  if (column.verdict == Verdict::crash || column.verdict == Verdict::timeout) return Outcome::error;
  if (column.red) return Outcome::failed;
  switch (column.verdict) {
    case Verdict::blocked:
    case Verdict::withheld:
    case Verdict::not_run:
      return Outcome::skipped;
    case Verdict::absent:
      return column.runs == 0 ? Outcome::skipped : Outcome::passed;
    default:
      return Outcome::passed;
  }
}

void write_case(Writer& out, const CaseResult& result, Side side) {
  const Column& column = result.column(side);
  const std::string begin = fmt::format(R"(    <testcase classname="{}.{}" name="{}" time="{:.3f}")", word(side),
                                        escape_attribute(result.area), escape_attribute(result.id), column.ms / 1000);
  const std::string message = escape_attribute(one_line(column));
  const std::string text = escape_markup(full_text(result, side));
  switch (outcome(column)) {
    case Outcome::passed:
      if (column.verdict == Verdict::conforms && column.notes.empty()) {
        out.line("{}/>", begin);
        return;
      }
      out.line("{}>", begin);
      out.line("      <system-out>{}</system-out>", text);
      break;
    case Outcome::skipped:
      out.line("{}>", begin);
      out.line(R"(      <skipped message="{}"/>)", message);
      break;
    case Outcome::failed:
    case Outcome::error: {
      const std::string_view element = outcome(column) == Outcome::failed ? "failure" : "error";
      const std::string_view type = column.table == Table::stale ? word(column.table) : word(column.verdict);
      out.line("{}>", begin);
      out.line(R"(      <{0} type="{1}" message="{2}">{3}</{0}>)", element, type, message, text);
      break;
    }
  }
  out.line("    </testcase>");
}

}  // namespace

std::string run_to_junit(const Run& run) {
  std::size_t tests = 1, failures = run.red ? 1 : 0, errors = 0, skipped = 0;
  for (const CaseResult& one : run.cases) {
    for (const Side side : {Side::raw, Side::verbena}) {
      ++tests;
      const Outcome what = outcome(one.column(side));
      failures += what == Outcome::failed;
      errors += what == Outcome::error;
      skipped += what == Outcome::skipped;
    }
  }
  Writer out;
  const std::string numbers = fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.3f}")", tests,
                                          failures, errors, skipped, run.seconds);
  out.line(R"(<testsuites name="verbena conform" {}>)", numbers);
  out.line(R"(  <testsuite name="{}" timestamp="{}" {}>)", escape_attribute(title(run)), escape_attribute(run.begun),
           numbers);
  out.line("    <properties>");
  write_identity(out, "device", run.device);
  if (run.peer) write_identity(out, "peer", *run.peer);
  out.property("path", word(run.path));
  out.property("substrate", word(run.substrate));
  out.property("suite.version", fmt::format("{}", run.suite_version));
  out.property("verbena", run.verbena);
  out.property("quirks.hash", run.quirks_hash);
  out.property("seed", fmt::format("{}", run.seed));
  out.property("repeat", fmt::format("{}", run.repeat));
  out.property("command", fmt::format("{}", fmt::join(run.command, " ")));
  out.line("    </properties>");
  // A run may be red for what is no case's: one that did not run exactly once, too many that are blocked.
  if (run.red) {
    const std::string first = run.why_red.empty() ? "red" : run.why_red.front();
    out.line(R"(    <testcase classname="run" name="not_red" time="0">)");
    out.line(R"(      <failure type="red" message="{}">{}</failure>)", escape_attribute(first),
             escape_markup(fmt::format("{}", fmt::join(run.why_red, "\n"))));
    out.line("    </testcase>");
  } else {
    out.line(R"(    <testcase classname="run" name="not_red" time="0"/>)");
  }
  for (const Side side : {Side::raw, Side::verbena}) {
    for (const CaseResult& one : run.cases) write_case(out, one, side);
  }
  out.line("  </testsuite>");
  out.line("</testsuites>");
  return out.take();
}

}  // namespace conform
