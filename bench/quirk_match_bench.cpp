// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finding the rules of one device among 500, and making its whole contract.
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "many_rules.hpp"
#include "quirks/match.hpp"
#include "quirks/quirk_set.hpp"
#include "verbena/model.hpp"

namespace {

using namespace verbena;

std::shared_ptr<const QuirkSet> load(LayerSource layer) {
  QuirkOptions options;
  options.layers.push_back(std::move(layer));
  options.strict = true;
  auto set = load_quirks(options, BackendRegistry::builtin());
  if (!set) throw std::runtime_error(to_string(set.error()));
  return *set;
}

std::shared_ptr<const QuirkSet> five_hundred() {
  LayerSource layer;
  layer.kind = LayerKind::etc;
  layer.path = "bench";
  layer.texts.push_back({"bench.yaml", bench::many_rules(500)});
  return load(std::move(layer));
}

Model device() {
  auto model = load_model("e810-roce");
  if (!model) throw std::runtime_error(to_string(model.error()));
  return std::move(*model);
}

/// Which of 500 rules, of 20 drivers, apply to one device: no trace, nothing merged.
void match_one_device_among_500_rules(benchmark::State& state) {
  const auto set = five_hundred();
  const auto& loaded = dynamic_cast<const quirks::LoadedQuirks&>(*set);
  const Model model = device();
  const quirks::Subject subject(model.device, model.caps, 1);
  std::size_t looked_at = 0, applied = 0;
  for (auto run : state) {
    looked_at = applied = 0;
    for (const std::uint32_t index : loaded.candidates(model.device.driver)) {
      ++looked_at;
      if (quirks::matches(loaded.rule_data()[index], subject, nullptr, quirks::DriverCondition::answered)) ++applied;
    }
    benchmark::DoNotOptimize(applied);
  }
  state.counters["looked_at"] = static_cast<double>(looked_at);
  state.counters["applied"] = static_cast<double>(applied);
}
BENCHMARK(match_one_device_among_500_rules);

void contract_under_500_rules(benchmark::State& state) {
  const auto set = five_hundred();
  const Model model = device();
  for (auto run : state) benchmark::DoNotOptimize(set->contract(model.device, model.caps, 1, true));
}
BENCHMARK(contract_under_500_rules)->Unit(benchmark::kMicrosecond);

void contract_under_the_built_in_rules(benchmark::State& state) {
  const auto set = load(default_layers("", true).front());
  const Model model = device();
  for (auto run : state) benchmark::DoNotOptimize(set->contract(model.device, model.caps, 1, true));
}
BENCHMARK(contract_under_the_built_in_rules)->Unit(benchmark::kMicrosecond);

}  // namespace
