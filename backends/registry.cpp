// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/registry.hpp"

#include <algorithm>

#include "backends/generic/generic.hpp"
#include "backends/hns/hns.hpp"
#include "backends/irdma/irdma.hpp"
#include "backends/mlx5/mlx5.hpp"
#include "backends/rxe/rxe.hpp"

namespace verbena {

BackendRegistry BackendRegistry::builtin() {
  BackendRegistry registry;
  registry.add(mlx5::backend());
  registry.add(irdma::backend());
  registry.add(hns::backend());
  registry.add(rxe::backend());
  registry.add(generic::backend());
  return registry;
}

void BackendRegistry::add(const Backend& backend) {
  // Before the generic one, which serves whatever nobody before it does.
  const auto last =
      std::find_if(backends_.begin(), backends_.end(), [](const Backend* known) { return known->drivers().empty(); });
  backends_.insert(backend.drivers().empty() ? backends_.end() : last, &backend);
}

const Backend* BackendRegistry::for_driver(std::string_view driver) const noexcept {
  for (const Backend* backend : backends_) {
    const auto served = backend->drivers();
    if (served.empty() || std::find(served.begin(), served.end(), driver) != served.end()) return backend;
  }
  return nullptr;
}

const JointFormula* BackendRegistry::formula(std::string_view name) const noexcept {
  for (const Backend* backend : backends_)
    for (const JointFormula& formula : backend->formulas())
      if (formula.name == name) return &formula;
  return nullptr;
}

std::vector<const JointFormula*> BackendRegistry::formulas() const {
  std::vector<const JointFormula*> formulas;
  for (const Backend* backend : backends_)
    for (const JointFormula& formula : backend->formulas()) formulas.push_back(&formula);
  return formulas;
}

}  // namespace verbena
