// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <algorithm>

#include "exit_code.hpp"
#include "json.hpp"
#include "numbers.hpp"
#include "quirks.hpp"
#include "say.hpp"

namespace cli {
namespace {

struct QuirksLintWords {
  std::vector<std::string> paths;
  std::string layer = "etc";
  bool json = false;
};

std::optional<verbena::LayerKind> find_layer(std::string_view word) {
  using enum verbena::LayerKind;
  for (const verbena::LayerKind kind : {builtin, installed, etc, run, env}) {
    if (name(kind) == word) return kind;
  }
  return std::nullopt;
}

/// What is to be checked: the layers of this host, or the given paths over (or, as `builtin`, in place of) the
/// built-in tables.
verbena::Result<std::vector<verbena::LayerSource>> layers(const QuirksLintWords& words) {
  const auto kind = find_layer(words.layer);
  if (!kind) {
    return verbena::Failure(
        bad_argument("as", fmt::format("'{}' is none of builtin, installed, etc, run, env", words.layer)));
  }
  if (words.paths.empty()) {
    const verbena::Result<verbena::LoadedSettings> settings = verbena::load_settings();
    if (!settings) return verbena::Failure(settings.error());
    return verbena::default_layers(settings->values.quirks_path, settings->privileged);
  }
  std::vector<verbena::LayerSource> sources;
  if (*kind != verbena::LayerKind::builtin) sources.push_back(verbena::default_layers({}, true).front());
  for (const std::string& path : words.paths) {
    if (access(path.c_str(), R_OK) != 0) {
      return verbena::Failure(bad_argument("path", fmt::format("'{}' cannot be read: {}", path, std::strerror(errno))));
    }
    sources.push_back({*kind, path, {}});
  }
  return sources;
}

int lint(const QuirksLintWords& words) {
  verbena::Result<std::vector<verbena::LayerSource>> sources = layers(words);
  if (!sources) return fail(sources.error());
  verbena::QuirkOptions options;
  options.layers = *std::move(sources);
  const std::vector<verbena::Finding> findings = lint_quirks(options, verbena::BackendRegistry::builtin());
  const auto empty = std::find_if_not(words.paths.begin(), words.paths.end(), holds_a_table);
  if (empty != words.paths.end()) {
    if (!words.json)
      for (const verbena::Finding& finding : findings) say("{}\n", to_string(finding));
    return fail(no_table(*empty));
  }
  const bool bad = std::any_of(findings.begin(), findings.end(), [](const verbena::Finding& finding) {
    return finding.level != verbena::FindingLevel::note;
  });
  if (words.json) {
    Json out;
    out["schema"] = kSchema;
    out["findings"] = Json::array();
    for (const verbena::Finding& finding : findings) out["findings"].push_back(to_json(finding));
    print(out);
  } else {
    for (const verbena::Finding& finding : findings) say("{}\n", to_string(finding));
    say("{} finding{}\n", findings.size(), findings.size() == 1 ? "" : "s");
    const auto takes_place = std::count_if(findings.begin(), findings.end(), [](const verbena::Finding& finding) {
      return finding.text.starts_with("replaces the rule of the same id");
    });
    if (takes_place > 20)
      say("{} rules take the place of those built in: --as builtin checks the tables in place of them\n", takes_place);
  }
  return bad ? kFinding : kOk;
}

}  // namespace

void add_quirks_lint(CLI::App& quirks, Run& run) {
  CLI::App* command = quirks.add_subcommand("lint", "Check tables; exit 1 on an error or a warning");
  auto words = std::make_shared<QuirksLintWords>();
  command->add_option("PATH", words->paths, "Table files or directories; without one, the layers of this host");
  command->add_option("--as", words->layer, "The layer that PATH stands for; `builtin` puts it in place of that one")
      ->capture_default_str();
  command->add_flag("-j,--json", words->json, "Print one JSON document");
  command->footer("Example: verbena quirks lint /etc/verbena/quirks.d/site.yaml");
  command->callback([words, &run] { run = [words] { return lint(*words); }; });
}

}  // namespace cli
