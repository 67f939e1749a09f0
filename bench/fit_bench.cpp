// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fit of one QP tuple under all built-in rules of a NIC. The goal is at most 1 us on mlx5.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "verbena/fit.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"

namespace verbena {
namespace {

Contract contract_of(std::string_view name) {
  const BackendRegistry registry = BackendRegistry::builtin();
  QuirkOptions options;
  options.layers.push_back(default_layers({}, true).front());
  const auto quirks = load_quirks(options, registry);
  const auto model = load_model(name);
  if (!quirks || !model) {
    std::fprintf(stderr, "%s\n", to_string(quirks ? model.error() : quirks.error()).c_str());
    std::exit(1);
  }
  return (*quirks)->contract(model->device, model->caps, 1, true);
}

void fit_qp(benchmark::State& state, std::string_view model, std::uint32_t depth, std::uint32_t sges,
            std::uint32_t inline_data) {
  const Contract contract = contract_of(model);
  QpRequest request;
  request.max_send_wr.want = depth;
  request.max_recv_wr.want = 1024;
  request.max_send_sge.want = sges;
  request.max_recv_sge.want = 1;
  request.max_inline_data.want = inline_data;
  for (auto _ : state) {
    benchmark::DoNotOptimize(request);
    auto fitted = fit(request, contract);
    benchmark::DoNotOptimize(fitted);
  }
}

BENCHMARK_CAPTURE(fit_qp, mlx5_as_asked, "connectx5", 1024, 4, 60);
BENCHMARK_CAPTURE(fit_qp, mlx5_depth_reduced, "connectx5", 32768, 4, 60);
BENCHMARK_CAPTURE(fit_qp, mlx5_inline_reduced, "connectx5", 8192, 1, 256);
BENCHMARK_CAPTURE(fit_qp, irdma_as_asked, "e810-roce", 1024, 2, 32);
BENCHMARK_CAPTURE(fit_qp, hns_as_asked, "hip09", 1024, 2, 32);
BENCHMARK_CAPTURE(fit_qp, rxe_as_asked, "rxe-6.12", 1024, 2, 32);

}  // namespace
}  // namespace verbena
