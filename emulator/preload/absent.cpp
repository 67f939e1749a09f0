// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "absent.hpp"

#include "process.hpp"
#include "real.hpp"

namespace verbena::preload {

namespace {

template <class T>
T* none(const char* verb) {
  absent(verb);
  return nullptr;
}

}  // namespace

void fill_absent(ibv_context& context) noexcept {
  verbs_context& table =
      *reinterpret_cast<verbs_context*>(reinterpret_cast<char*>(&context) - offsetof(verbs_context, context));
  table.open_xrcd = [](ibv_context*, ibv_xrcd_init_attr*) { return none<ibv_xrcd>("ibv_open_xrcd"); };
  table.open_qp = [](ibv_context*, ibv_qp_open_attr*) { return none<ibv_qp>("ibv_open_qp"); };
  table.get_srq_num = [](ibv_srq*, std::uint32_t*) { return absent("ibv_get_srq_num"); };
  table.ibv_create_flow = [](ibv_qp*, ibv_flow_attr*) { return none<ibv_flow>("ibv_create_flow"); };
  table.create_flow_action_esp = [](ibv_context*, ibv_flow_action_esp_attr*) {
    return none<ibv_flow_action>("ibv_create_flow_action_esp");
  };
  table.create_wq = [](ibv_context*, ibv_wq_init_attr*) { return none<ibv_wq>("ibv_create_wq"); };
  table.create_rwq_ind_table = [](ibv_context*, ibv_rwq_ind_table_init_attr*) {
    return none<ibv_rwq_ind_table>("ibv_create_rwq_ind_table");
  };
  table.alloc_dm = [](ibv_context*, ibv_alloc_dm_attr*) { return none<ibv_dm>("ibv_alloc_dm"); };
  table.create_counters = [](ibv_context*, ibv_counters_init_attr*) {
    return none<ibv_counters>("ibv_create_counters");
  };
  table.modify_qp_rate_limit = [](ibv_qp*, ibv_qp_rate_limit_attr*) { return absent("ibv_modify_qp_rate_limit"); };
  table.post_srq_ops = [](ibv_srq*, ibv_ops_wr* list, ibv_ops_wr** bad) {
    if (bad != nullptr) *bad = list;
    return absent("ibv_post_srq_ops");
  };
}

}  // namespace verbena::preload

using namespace verbena::preload;

// Handles of another process's objects.
extern "C" {

ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t handle) {
  if (owner(context) != nullptr) return none<ibv_pd>("ibv_import_pd");
  return forward<&ibv_import_pd>("ibv_import_pd", context, handle);
}

void ibv_unimport_pd(ibv_pd* pd) {
  if (owner_of(pd) != nullptr) return static_cast<void>(absent("ibv_unimport_pd"));
  forward<&ibv_unimport_pd>("ibv_unimport_pd", pd);
}

ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t handle) {
  if (owner_of(pd) != nullptr) return none<ibv_mr>("ibv_import_mr");
  return forward<&ibv_import_mr>("ibv_import_mr", pd, handle);
}

void ibv_unimport_mr(ibv_mr* mr) {
  if (owner_of(mr) != nullptr) return static_cast<void>(absent("ibv_unimport_mr"));
  forward<&ibv_unimport_mr>("ibv_unimport_mr", mr);
}

ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t handle) {
  if (owner(context) != nullptr) return none<ibv_dm>("ibv_import_dm");
  return forward<&ibv_import_dm>("ibv_import_dm", context, handle);
}

}  // extern "C"
