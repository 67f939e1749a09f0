// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reading a table of 500 rules, against yaml-cpp alone on the same text, and the start of the library.
#include <benchmark/benchmark.h>
#include <yaml-cpp/yaml.h>

#include "many_rules.hpp"
#include "quirks/table_reader.hpp"

namespace {

using namespace verbena;

void read_500_rules(benchmark::State& state) {
  const std::string text = bench::many_rules(500);
  const BackendRegistry registry = BackendRegistry::builtin();
  for (auto run : state) {
    const auto table = quirks::read_table(text, "bench.yaml", LayerKind::etc, registry);
    if (table.rules.size() != 500 || !table.findings.empty()) state.SkipWithError("the table was refused");
    benchmark::DoNotOptimize(table);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_500_rules)->Unit(benchmark::kMillisecond);

void yaml_cpp_alone_500_rules(benchmark::State& state) {
  const std::string text = bench::many_rules(500);
  for (auto run : state) {
    const YAML::Node root = YAML::Load(text);
    if (root["rules"].size() != 500) state.SkipWithError("the text is broken");
    benchmark::DoNotOptimize(root);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(yaml_cpp_alone_500_rules)->Unit(benchmark::kMillisecond);

/// What a process pays at its start for the tables that are built in.
void load_all_built_in_tables(benchmark::State& state) {
  const BackendRegistry registry = BackendRegistry::builtin();
  for (auto run : state) {
    QuirkOptions options;
    options.layers.push_back(default_layers("", true).front());
    const auto set = load_quirks(options, registry);
    if (!set) state.SkipWithError("the built-in tables were refused");
    benchmark::DoNotOptimize(set);
  }
}
BENCHMARK(load_all_built_in_tables)->Unit(benchmark::kMillisecond);

}  // namespace
