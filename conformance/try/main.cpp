// SPDX-License-Identifier: Apache-2.0 OR MIT
// conform_try DEVICE[,OTHER] [SUBSTRING [KEY=VALUE]...]: runs the bodies whose ids hold the substring, raw and through
// Verbena.
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "cases/bodies.hpp"
#include "runner/run_body.hpp"
#include "verbena/settings.hpp"

int main(int argc, char** argv) {
  using namespace conform;
  if (argc < 2) return 2;
  const std::string_view names = argv[1];
  const std::string_view part = argc > 2 ? argv[2] : "";
  Ground ground;
  ground.verbs = verbena::real_verbs();
  verbena::LibraryOptions options;
  options.verbs = ground.verbs;
  const auto library = verbena::Library::create(std::move(options));
  if (!library) return 1;
  ground.library = &*library;
  const auto comma = names.find(',');
  auto device = library->open(names.substr(0, comma));
  if (!device) {
    std::printf("%s\n", verbena::to_string(device.error()).c_str());
    return 1;
  }
  ground.device = *device;
  if (comma != std::string_view::npos) ground.other = *library->open(names.substr(comma + 1));
  std::map<std::string, std::string> row;  // KEY=VALUE behind the substring
  for (int index = 3; index < argc; ++index) {
    const std::string_view word = argv[index];
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return 2;
    row.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  int broken = 0;
  for (const Body& body : all_bodies()) {
    if (body.id.find(part) == std::string_view::npos) continue;
    for (const bool through : {false, true}) {
      const auto make = [&](const verbena::Device& on) {
        return through ? verbena_way(on, ground.verbs, 1) : raw_way(on, ground.verbs);
      };
      Case c(std::string(body.id), row, {std::string(body.id)}, ground, make(*ground.device),
             ground.other ? make(*ground.other) : nullptr);
      std::printf("%-44s %-7s ", std::string(body.id).c_str(), through ? "verbena" : "raw");
      std::fflush(stdout);
      const Outcome outcome = run_body(body, c);
      const char* word = !outcome.fault.empty()      ? "FAULT"
                         : !outcome.findings.empty() ? "findings"
                         : outcome.stop              ? "stopped"
                                                     : "holds";
      std::printf("%-8s %7.1f ms\n", word, outcome.ms);
      if (!outcome.fault.empty()) std::printf("    fault: %s\n", outcome.fault.c_str());
      if (outcome.stop) std::printf("    stop: %s %s\n", outcome.stop->word.c_str(), outcome.stop->text.c_str());
      for (const Finding& finding : outcome.findings) {
        ++broken;
        std::printf("    %s: %s\n", std::string(conform::word(finding.seen)).c_str(), finding.text.c_str());
      }
      for (const Adjustment& one : outcome.adjustments) {
        std::printf("    %s %llu -> %llu %s\n", one.field.c_str(), static_cast<unsigned long long>(one.asked),
                    static_cast<unsigned long long>(one.granted), one.rule.c_str());
      }
      for (const std::string& note : outcome.notes) std::printf("    note: %s\n", note.c_str());
    }
  }
  return broken == 0 ? 0 : 1;
}
