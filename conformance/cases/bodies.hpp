// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <vector>

#include "rig/case.hpp"

/// What the cases do: one function a file, which gives the bodies that stand in it.
namespace conform {

// device
Bodies device_absent_verbs_bodies();
Bodies device_caps_bodies();
Bodies device_objects_bodies();
Bodies device_query_bodies();
// port
Bodies port_gid_bodies();
Bodies port_query_bodies();
// pd
Bodies pd_bodies();
Bodies pd_domain_bodies();
// mr
Bodies mr_access_bodies();
Bodies mr_bounds_bodies();
Bodies mr_dereg_bodies();
Bodies mr_kinds_bodies();
Bodies mr_on_demand_bodies();
Bodies mr_range_bodies();
Bodies mr_register_bodies();
Bodies mr_rereg_bodies();
// mw
Bodies mw_bind_bodies();
Bodies mw_type1_bodies();
// cq
Bodies cq_create_bodies();
Bodies cq_event_bodies();
Bodies cq_extended_bodies();
Bodies cq_moderation_bodies();
Bodies cq_overflow_bodies();
Bodies cq_poll_bodies();
Bodies cq_resize_bodies();
// srq
Bodies srq_create_bodies();
Bodies srq_limit_bodies();
Bodies srq_receive_bodies();
// ah
Bodies ah_bodies();
// qp
Bodies qp_contract_bodies();
Bodies qp_create_bodies();
Bodies qp_lifetime_bodies();
Bodies qp_limits_bodies();
Bodies qp_moves_bodies();
// state
Bodies state_attributes_bodies();
Bodies state_attributes_taken_bodies();
Bodies state_drained_bodies();
Bodies state_further_types_bodies();
Bodies state_moves_refused_bodies();
Bodies state_posting_bodies();
Bodies state_recycle_bodies();
Bodies state_values_bodies();
// data
Bodies data_atomics_bodies();
Bodies data_builder_bodies();
Bodies data_carry_bodies();
Bodies data_contract_bodies();
Bodies data_datagrams_bodies();
Bodies data_inline_bodies();
Bodies data_largest_bodies();
Bodies data_opcodes_bodies();
Bodies data_ordering_bodies();
Bodies data_posting_bodies();
Bodies data_rdma_bodies();
Bodies data_sges_bodies();
Bodies data_sizes_bodies();
// error
Bodies error_fabric_bodies();
Bodies error_flushes_bodies();
Bodies error_keys_bodies();
Bodies error_waits_bodies();
// event
Bodies event_object_bodies();
Bodies event_port_bodies();
// address
Bodies address_gid_bodies();
Bodies address_path_bodies();
// thread
Bodies thread_objects_bodies();
Bodies thread_traffic_bodies();
// scale
Bodies scale_exit_bodies();
Bodies scale_many_bodies();
// iwarp
Bodies iwarp_connection_bodies();
Bodies iwarp_ends_bodies();
// multicast
Bodies multicast_attach_bodies();
Bodies multicast_by_cm_bodies();
// pair
Bodies pair_bodies();

/// Every body, in the order of the areas.
std::vector<Body> all_bodies();

}  // namespace conform
