// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/bodies.hpp"

namespace conform {

std::vector<Body> all_bodies() {
  std::vector<Body> all;
  for (const Bodies part : {
           device_absent_verbs_bodies(),  //
           device_caps_bodies(),  //
           device_objects_bodies(),  //
           device_query_bodies(),  //
           port_gid_bodies(),  //
           port_query_bodies(),  //
           pd_bodies(),  //
           pd_domain_bodies(),  //
           mr_access_bodies(),  //
           mr_bounds_bodies(),  //
           mr_dereg_bodies(),  //
           mr_kinds_bodies(),  //
           mr_on_demand_bodies(),  //
           mr_range_bodies(),  //
           mr_register_bodies(),  //
           mr_rereg_bodies(),  //
           mw_bind_bodies(),  //
           mw_type1_bodies(),  //
           cq_create_bodies(),  //
           cq_event_bodies(),  //
           cq_extended_bodies(),  //
           cq_moderation_bodies(),  //
           cq_overflow_bodies(),  //
           cq_poll_bodies(),  //
           cq_resize_bodies(),  //
           srq_create_bodies(),  //
           srq_limit_bodies(),  //
           srq_receive_bodies(),  //
           ah_bodies(),  //
           qp_contract_bodies(),  //
           qp_create_bodies(),  //
           qp_lifetime_bodies(),  //
           qp_limits_bodies(),  //
           qp_moves_bodies(),  //
           state_attributes_bodies(),  //
           state_attributes_taken_bodies(),  //
           state_drained_bodies(),  //
           state_further_types_bodies(),  //
           state_moves_refused_bodies(),  //
           state_posting_bodies(),  //
           state_recycle_bodies(),  //
           state_values_bodies(),  //
           data_atomics_bodies(),  //
           data_builder_bodies(),  //
           data_carry_bodies(),  //
           data_contract_bodies(),  //
           data_datagrams_bodies(),  //
           data_inline_bodies(),  //
           data_largest_bodies(),  //
           data_opcodes_bodies(),  //
           data_ordering_bodies(),  //
           data_posting_bodies(),  //
           data_rdma_bodies(),  //
           data_sges_bodies(),  //
           data_sizes_bodies(),  //
           error_fabric_bodies(),  //
           error_flushes_bodies(),  //
           error_keys_bodies(),  //
           error_waits_bodies(),  //
           event_object_bodies(),  //
           event_port_bodies(),  //
           address_gid_bodies(),  //
           address_path_bodies(),  //
           thread_objects_bodies(),  //
           thread_traffic_bodies(),  //
           scale_exit_bodies(),  //
           scale_many_bodies(),  //
           iwarp_connection_bodies(),  //
           iwarp_ends_bodies(),  //
           multicast_attach_bodies(),  //
           multicast_by_cm_bodies(),  //
           pair_bodies(),  //
       }) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace conform
