// SPDX-License-Identifier: Apache-2.0 OR MIT
// Completion channels and queues.
#include "process.hpp"
#include "real.hpp"

using namespace verbena::preload;

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (EmulatedVerbs* const verbs = owner(context))
    return made(*verbs, [&] { return verbs->create_comp_channel(context); });
  return forward<&ibv_create_comp_channel>("ibv_create_comp_channel", context);
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (EmulatedVerbs* const verbs = owner_of(channel))
    return gone(*verbs, [&] { return verbs->destroy_comp_channel(channel); });
  return forward<&ibv_destroy_comp_channel>("ibv_destroy_comp_channel", channel);
}

ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int vector) {
  if (EmulatedVerbs* const verbs = owner(context))
    return made(*verbs, [&] { return verbs->create_cq(context, cqe, cq_context, channel, vector); });
  return forward<&ibv_create_cq>("ibv_create_cq", context, cqe, cq_context, channel, vector);
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (EmulatedVerbs* const verbs = owner_of(cq)) return outcome(*verbs, [&] { return verbs->resize_cq(cq, cqe); });
  return forward<&ibv_resize_cq>("ibv_resize_cq", cq, cqe);
}

int ibv_destroy_cq(ibv_cq* cq) {
  if (EmulatedVerbs* const verbs = owner_of(cq)) return gone(*verbs, [&] { return verbs->destroy_cq(cq); });
  return forward<&ibv_destroy_cq>("ibv_destroy_cq", cq);
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (EmulatedVerbs* const verbs = owner_of(channel))
    return minus_one(*verbs, [&] { return verbs->get_cq_event(channel, cq, cq_context); });
  return forward<&ibv_get_cq_event>("ibv_get_cq_event", channel, cq, cq_context);
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  EmulatedVerbs* const verbs = owner_of(cq);
  if (verbs == nullptr) return forward<&ibv_ack_cq_events>("ibv_ack_cq_events", cq, count);
  if (!verbs->host().inert()) verbs->ack_cq_events(cq, count);
}

}  // extern "C"
