// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs and shared receive queues.
#include "process.hpp"
#include "real.hpp"

using namespace verbena::preload;

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  if (EmulatedVerbs* const verbs = owner_of(pd)) return made(*verbs, [&] { return verbs->create_srq(pd, *attr); });
  return forward<&ibv_create_srq>("ibv_create_srq", pd, attr);
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (EmulatedVerbs* const verbs = owner_of(srq))
    return outcome(*verbs, [&] { return verbs->modify_srq(srq, *attr, mask); });
  return forward<&ibv_modify_srq>("ibv_modify_srq", srq, attr, mask);
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  if (EmulatedVerbs* const verbs = owner_of(srq)) return outcome(*verbs, [&] { return verbs->query_srq(srq, *attr); });
  return forward<&ibv_query_srq>("ibv_query_srq", srq, attr);
}

int ibv_destroy_srq(ibv_srq* srq) {
  if (EmulatedVerbs* const verbs = owner_of(srq)) return gone(*verbs, [&] { return verbs->destroy_srq(srq); });
  return forward<&ibv_destroy_srq>("ibv_destroy_srq", srq);
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (EmulatedVerbs* const verbs = owner_of(pd)) return made(*verbs, [&] { return verbs->create_qp(pd, *attr); });
  return forward<&ibv_create_qp>("ibv_create_qp", pd, attr);
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (owner_of(qp) == nullptr) return forward<&ibv_qp_to_qp_ex>("ibv_qp_to_qp_ex", qp);
  auto* const extended = reinterpret_cast<ibv_qp_ex*>(qp);
  return verbena::emulator::of<verbena::emulator::Qp>(extended).building ? extended : nullptr;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (EmulatedVerbs* const verbs = owner_of(qp))
    return outcome(*verbs, [&] { return verbs->modify_qp(qp, *attr, mask); });
  return forward<&ibv_modify_qp>("ibv_modify_qp", qp, attr, mask);
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  if (EmulatedVerbs* const verbs = owner_of(qp))
    return outcome(*verbs, [&] { return verbs->query_qp(qp, *attr, mask, *init); });
  return forward<&ibv_query_qp>("ibv_query_qp", qp, attr, mask, init);
}

int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  if (EmulatedVerbs* const verbs = owner_of(qp)) return verbs->query_qp_data_in_order(qp, opcode, flags);
  return forward<&ibv_query_qp_data_in_order>("ibv_query_qp_data_in_order", qp, opcode, flags);
}

int ibv_destroy_qp(ibv_qp* qp) {
  if (EmulatedVerbs* const verbs = owner_of(qp)) return gone(*verbs, [&] { return verbs->destroy_qp(qp); });
  return forward<&ibv_destroy_qp>("ibv_destroy_qp", qp);
}

int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  if (EmulatedVerbs* const verbs = owner_of(qp)) return outcome(*verbs, [&] { return verbs->query_ece(qp, *ece); });
  return forward<&ibv_query_ece>("ibv_query_ece", qp, ece);
}

int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  if (EmulatedVerbs* const verbs = owner_of(qp)) return outcome(*verbs, [&] { return verbs->set_ece(qp, *ece); });
  return forward<&ibv_set_ece>("ibv_set_ece", qp, ece);
}

}  // extern "C"
