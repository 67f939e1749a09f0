// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/bodies.hpp"

namespace conform {

std::vector<Body> all_bodies() {
  std::vector<Body> all;
  for (const Bodies part : {
           cq_create_bodies(),   //
           data_carry_bodies(),  //
           device_query_bodies(),          //
           device_caps_bodies(),          //
           pd_bodies(),          //
       }) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace conform
