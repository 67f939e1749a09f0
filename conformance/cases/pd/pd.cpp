// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/memory.hpp"

namespace conform {

namespace {

void many_distinct(Case& c) {
  std::vector<Object<ibv_pd>> domains;
  for (int count = 0; count < 8; ++count) domains.push_back(c.made(c.way().pd(), "ibv_alloc_pd"));
  for (Object<ibv_pd>& domain : domains) c.accepted(domain.destroy(), "ibv_dealloc_pd of one of eight");
}

/// The verb itself in both columns: a Pd of Verbena's lives as long as what stands on it.
void busy_with_mr(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr =
      c.made(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr");
  c.refused(c.verbs().dealloc_pd(pd.raw()), "ibv_dealloc_pd under a memory region", {EBUSY});
}

}  // namespace

Bodies pd_bodies() {
  static constexpr Body kBodies[] = {
      {"pd.alloc.many_distinct", many_distinct},
      {"pd.dealloc.busy_with_mr", busy_with_mr},
  };
  return kBodies;
}

}  // namespace conform
