// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <string>

#include "cases/bodies.hpp"

namespace conform {

namespace {

void at_least_asked(Case& c) {
  for (const std::uint32_t wish : {1U, 2U, 3U, 63U, 64U, 65U, 255U, 1000U}) {
    const std::uint32_t asked = c.within(verbena::Field::cqe, wish);
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = asked}), "ibv_create_cq");
    c.holds(cq->cqe >= static_cast<int>(asked), Seen::value,
            "a completion queue has fewer entries than were asked for: " + std::to_string(cq->cqe) + " of " +
                std::to_string(asked));
  }
}

}  // namespace

Bodies cq_create_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.create.at_least_asked", at_least_asked},
  };
  return kBodies;
}

}  // namespace conform
