// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>

#include "runner/conditions_reader.hpp"
#include "runner/table_text.hpp"

namespace conform {

Conditions read_conditions(TableText& text, const YAML::Node& entry) {
  const auto words = [&](const char* key) { return text.words(entry, key); };
  Conditions out;
  out.needs = text.each<verbena::Feature>(entry, "needs", words("needs"), "feature of a contract",
                                          [](const std::string& one) { return verbena::find_feature(one); });
  out.qp_types =
      text.each<verbena::Feature>(entry, "qp_types", words("qp_types"), "type of queue pair",
                                  [](const std::string& one) -> std::optional<verbena::Feature> {
                                    const auto found = verbena::find_feature(one);
                                    return found && *found <= verbena::Feature::driver_qp ? found : std::nullopt;
                                  });
  out.transport = text.each<verbena::Transport>(entry, "transport", words("transport"), "transport",
                                                [](const std::string& one) { return verbena::find_transport(one); });
  out.setup = text.each<std::string>(
      entry, "setup", words("setup"), "setup word", [](const std::string& one) -> std::optional<std::string> {
        const bool known = std::find(kSetupWords.begin(), kSetupWords.end(), one) != kSetupWords.end();
        return known ? std::optional(one) : std::nullopt;
      });
  return out;
}

void read_requirements(TableText& text, CaseList& list) {
  static constexpr std::string_view kTop[] = {"schema", "version", "requirements"};
  static constexpr std::string_view kKeys[] = {"id",     "number", "says",     "area",      "level", "by",
                                               "source", "needs",  "qp_types", "transport", "setup"};
  if (!text.map(text.root(), kTop)) return;
  text.schema();
  list.version = static_cast<std::uint32_t>(text.number(text.root(), "version").value_or(0));
  for (const YAML::Node& entry : text.list(text.root(), "requirements")) {
    if (!text.map(entry, kKeys)) continue;
    Requirement one;
    one.id = text.word(entry, "id");
    one.says = text.word(entry, "says");
    one.source = text.words(entry, "source");
    one.conditions = read_conditions(text, entry);
    one.at = text.place(entry);
    if (list.requirement(one.id) != nullptr) text.wrong(entry, fmt::format("requirement '{}' stands twice", one.id));
    list.requirements.push_back(std::move(one));
  }
}

}  // namespace conform
