// SPDX-License-Identifier: Apache-2.0 OR MIT
// Address handles and groups.
#include "process.hpp"
#include "real.hpp"

using namespace verbena::preload;

extern "C" {

ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (EmulatedVerbs* const verbs = owner_of(pd)) return made(*verbs, [&] { return verbs->create_ah(pd, *attr); });
  return forward<&ibv_create_ah>("ibv_create_ah", pd, attr);
}

int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
  if (EmulatedVerbs* const verbs = owner(context))
    return minus_one(*verbs, [&] { return verbs->init_ah_from_wc(context, port, *wc, grh, *attr); });
  return forward<&ibv_init_ah_from_wc>("ibv_init_ah_from_wc", context, port, wc, grh, attr);
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  if (EmulatedVerbs* const verbs = owner_of(pd))
    return made(*verbs, [&] { return verbs->create_ah_from_wc(pd, *wc, grh, port); });
  return forward<&ibv_create_ah_from_wc>("ibv_create_ah_from_wc", pd, wc, grh, port);
}

int ibv_destroy_ah(ibv_ah* ah) {
  if (EmulatedVerbs* const verbs = owner_of(ah)) return gone(*verbs, [&] { return verbs->destroy_ah(ah); });
  return forward<&ibv_destroy_ah>("ibv_destroy_ah", ah);
}

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  if (EmulatedVerbs* const verbs = owner_of(qp))
    return outcome(*verbs, [&] { return verbs->attach_mcast(qp, *gid, lid); });
  return forward<&ibv_attach_mcast>("ibv_attach_mcast", qp, gid, lid);
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  if (EmulatedVerbs* const verbs = owner_of(qp))
    return outcome(*verbs, [&] { return verbs->detach_mcast(qp, *gid, lid); });
  return forward<&ibv_detach_mcast>("ibv_detach_mcast", qp, gid, lid);
}

}  // extern "C"
