// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reading a table of 500 rules beside yaml-cpp alone on the same text, in alternating blocks of processor time; and
// what a process pays at its start for the tables that are built in. Exit code 1 when reading takes more than 1.5 times
// as long as the bare parser.
#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "blocks.hpp"
#include "control.hpp"
#include "many_rules.hpp"
#include "quirks/table_reader.hpp"
#include "verbena/quirks.hpp"

namespace {

using namespace verbena;

constexpr int kRules = 500;
constexpr double kLimit = 1.5;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(3);
}

int measure(int blocks, int rounds) {
  const std::string text = bench::many_rules(kRules);
  const BackendRegistry registry = BackendRegistry::builtin();
  bench::Side parser, reader, built_in;
  for (int block = 0; block < blocks; ++block) {
    for (bench::Side* side : {&parser, &reader, &built_in}) side->next_block();
    for (int round = 0; round < rounds; ++round) {
      parser.time([&] { check(YAML::Load(text)["rules"].size() == kRules, "the text is broken"); });
      reader.time([&] {
        const auto table = quirks::read_table(text, "bench.yaml", LayerKind::etc, registry);
        check(table.rules.size() == kRules && table.findings.empty(), "the table was refused");
      });
      built_in.time([&] {
        QuirkOptions options;
        options.layers.push_back(default_layers("", true).front());
        check(load_quirks(options, registry).has_value(), "the built-in tables were refused");
      });
    }
  }
  const bench::Comparison found = bench::compare(reader, parser);
  const bool holds = found.ratio <= kLimit;
  std::printf("medians of %d alternating blocks of %d, the first left out, in us of processor time\n", blocks, rounds);
  std::printf(
      "%d rules read %.0f   yaml-cpp alone %.0f   ratio %.3f   worst block %.3f (number %zu)   limit %.2f   %s\n",
      kRules, found.ours / 1000, found.theirs / 1000, found.ratio, found.worst_ratio, found.worst_block, kLimit,
      holds ? "holds" : "BROKEN");
  std::printf("all built-in tables loaded %.0f\n", built_in.overall() / 1000);
  return holds ? 0 : 1;
}

}  // namespace

/// `--once`: that it still works, without a verdict.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--once") == 0) {
    measure(2, 1);
    return 0;
  }
  return bench::under_control([] { return measure(11, 5); });
}
