// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <deque>
#include <set>
#include <string>

#include "cases/bodies.hpp"
#include "cases/qp/shape.hpp"

namespace conform {

namespace {

using verbena::QpType;

std::string named(QpType type, std::string_view rest) {
  return std::string(verbena::name(type)) + ": " + std::string(rest);
}

void reset_state(Case& c) {
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    const Object<ibv_qp> qp = c.made(c.way().qp(stand.pd.raw(), stand.shape(type)), "ibv_create_qp");
    c.equal(qp->state, IBV_QPS_RESET, named(type, "qp->state of a new queue pair"));
    c.in_state(qp.raw(), IBV_QPS_RESET, named(type, "a new queue pair"));
  }
}

void number_unique(Case& c) {
  const Stand stand(c);
  std::deque<Object<ibv_qp>> queue_pairs;
  std::set<std::uint32_t> numbers;
  for (int round = 0; round < 8; ++round) {
    for (const QpType type : c.qp_types()) {
      queue_pairs.push_back(c.made(c.way().qp(stand.pd.raw(), stand.shape(type)), "ibv_create_qp"));
      const std::uint32_t number = queue_pairs.back()->qp_num;
      c.holds(number < 1U << 24, Seen::value, "qp_num " + std::to_string(number) + " has more than 24 bits");
      c.holds(numbers.insert(number).second, Seen::value, "qp_num " + std::to_string(number) + " was given twice");
    }
  }
}

void caps_at_least_asked(Case& c) {
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    for (const ibv_qp_cap& wish : {kLeast, ibv_qp_cap{3, 5, 2, 1, 0}, ibv_qp_cap{17, 1, 1, 2, 16},
                                   ibv_qp_cap{64, 100, 3, 3, 33}, ibv_qp_cap{100, 64, 1, 1, 64}}) {
      ibv_qp_cap asked = within(c, type, wish);
      ibv_qp_cap returned{};
      const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned);
      if (!c.accepted(qp, "ibv_create_qp of " + text(type, asked))) continue;
      for (const CapField field : kCapFields) {
        c.holds(of(returned, field) >= of(asked, field), Seen::value,
                text(type, asked) + " came back as " + text(type, returned));
      }
    }
  }
}

void caps_queried(Case& c) {
  const Stand stand(c);
  for (const QpType type : c.qp_types()) {
    for (const ibv_qp_cap& wish : {kLeast, ibv_qp_cap{20, 30, 2, 2, 16}}) {
      const ibv_qp_cap asked = within(c, type, wish);
      ibv_qp_cap returned{};
      const Object<ibv_qp> qp =
          c.made(c.way().qp(stand.pd.raw(), stand.shape(type, asked), &returned), "ibv_create_qp");
      ibv_qp_attr attr{};
      ibv_qp_init_attr init{};
      c.need(c.accepted(c.way().query(qp.raw(), attr, IBV_QP_CAP, init), "ibv_query_qp of the caps"));
      for (const CapField field : kCapFields) {
        // Through Verbena a grant is what may be counted on, and the device may have more.
        const bool same = of(init.cap, field) == of(returned, field);
        const bool enough = c.through_verbena() && of(init.cap, field) >= of(returned, field);
        if (!c.holds(same || enough, Seen::value, text(type, returned) + " is queried as " + text(type, init.cap)))
          break;
      }
    }
  }
}

void init_attributes_queried(Case& c) {
  const Stand stand(c);
  const Object<ibv_cq> other = c.made(c.way().cq({}), "ibv_create_cq");
  Object<ibv_srq> srq;
  if (c.native(verbena::Feature::srq)) {
    srq = c.made(c.way().srq(stand.pd.raw(), {.max_wr = 4, .max_sge = 1, .srq_limit = 0}), "ibv_create_srq");
  }
  for (const QpType type : c.qp_types()) {
    for (const bool all : {false, true}) {
      QpShape shape = stand.shape(type);
      shape.recv_cq = other.raw();
      shape.sq_sig_all = all;
      if (all && type != QpType::uc) shape.srq = srq.raw();
      const Object<ibv_qp> qp = c.made(c.way().qp(stand.pd.raw(), shape), "ibv_create_qp");
      ibv_qp_attr attr{};
      ibv_qp_init_attr init{};
      c.need(c.accepted(c.way().query(qp.raw(), attr, IBV_QP_CAP, init), "ibv_query_qp"));
      c.holds(init.send_cq == shape.send_cq, Seen::value, named(type, "send_cq is another"));
      c.holds(init.recv_cq == shape.recv_cq, Seen::value, named(type, "recv_cq is another"));
      c.holds(init.srq == shape.srq, Seen::value, named(type, "srq is another"));
      c.equal(init.qp_type, qp->qp_type, named(type, "qp_type"));
      c.equal(init.sq_sig_all, all ? 1 : 0, named(type, "sq_sig_all"));
    }
  }
}

void context_kept(Case& c) {
  const Stand stand(c);
  int place = 0;
  for (const QpType type : c.qp_types()) {
    QpShape shape = stand.shape(type);
    shape.qp_context = &place;
    const Object<ibv_qp> qp = c.made(c.way().qp(stand.pd.raw(), shape), "ibv_create_qp");
    c.holds(qp->qp_context == &place, Seen::value, named(type, "qp_context is not the pointer given"));
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    c.need(c.accepted(c.way().query(qp.raw(), attr, IBV_QP_CAP, init), "ibv_query_qp"));
    c.holds(init.qp_context == &place, Seen::value, named(type, "ibv_query_qp gives another qp_context"));
  }
}

void one_cq_for_both(Case& c) {
  const Stand stand(c);
  const Object<ibv_cq> other = c.made(c.way().cq({}), "ibv_create_cq");
  for (const QpType type : c.qp_types()) {
    QpShape shape = stand.shape(type);
    for (ibv_cq* recv_cq : {stand.cq.raw(), other.raw()}) {
      shape.recv_cq = recv_cq;
      const Object<ibv_qp> qp = c.way().qp(stand.pd.raw(), shape);
      if (!c.accepted(qp, named(type, recv_cq == shape.send_cq ? "one completion queue" : "two completion queues")))
        continue;
      c.holds(qp->send_cq == shape.send_cq && qp->recv_cq == recv_cq, Seen::value,
              named(type, "the queue pair names other completion queues"));
    }
  }
}

ibv_qp_init_attr plain(const Stand& stand) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = stand.cq.raw();
  init.cap = kLeast;
  init.qp_type = IBV_QPT_RC;
  return init;
}

/// Verbena's requests know three types, so both columns use the verb.
void unknown_type_refused(Case& c) {
  const Stand stand(c);
  for (const int type : {0, 1, 7, 11, 100}) {
    ibv_qp_init_attr init = plain(stand);
    init.qp_type = static_cast<ibv_qp_type>(type);
    const verbena::Made<ibv_qp> qp = c.verbs().create_qp(stand.pd.raw(), init);
    c.refused(qp ? 0 : qp.error, "ibv_create_qp of type " + std::to_string(type));
    c.holds(qp || !qp.errno_missing, Seen::refused, "the refusal left errno unset");
    if (qp) c.verbs().destroy_qp(qp.handle);
  }
}

void raw_needs_privilege(Case& c) {
  const Stand stand(c);
  ibv_qp_init_attr init = plain(stand);
  init.qp_type = IBV_QPT_RAW_PACKET;
  const verbena::Made<ibv_qp> qp = c.verbs().create_qp(stand.pd.raw(), init);
  c.refused(qp ? 0 : qp.error, "ibv_create_qp of a raw packet queue pair without CAP_NET_RAW", {EPERM});
  if (!qp) c.equal(qp.error, EPERM, "errno without CAP_NET_RAW");
  if (qp) c.verbs().destroy_qp(qp.handle);
}

/// What no device grants.
constexpr ibv_qp_cap kTooMuch{0xffffffffU, 1, 1, 1, 0};

/// By the verb in both columns: through Verbena such a wish is granted with less.
void refused_leaves_nothing(Case& c) {
  for (const QpType type : c.qp_types()) {
    Stand stand(c);
    ibv_qp_init_attr init = plain(stand);
    init.qp_type = type == QpType::rc ? IBV_QPT_RC : type == QpType::uc ? IBV_QPT_UC : IBV_QPT_UD;
    for (int round = 0; round < 3; ++round) {
      init.cap = kTooMuch;
      const verbena::Made<ibv_qp> qp = c.verbs().create_qp(stand.pd.raw(), init);
      c.need(c.refused(qp ? 0 : qp.error, named(type, "ibv_create_qp with 4294967295 sends")));
    }
    c.accepted(stand.cq.destroy(), named(type, "ibv_destroy_cq after a refused creation"));
    c.accepted(stand.pd.destroy(), named(type, "ibv_dealloc_pd after a refused creation"));
  }
}

void refused_leaves_others(Case& c) {
  Loop loop(c);
  c.need(carries(c, loop, "before the refused creation"));
  for (int round = 0; round < 4; ++round) {
    ibv_qp_init_attr init{};
    init.send_cq = loop.a().send_cq.raw();
    init.recv_cq = loop.a().recv_cq.raw();
    init.qp_type = IBV_QPT_RC;
    init.cap = kTooMuch;
    const verbena::Made<ibv_qp> qp = c.verbs().create_qp(loop.a().pd.raw(), init);
    c.need(c.refused(qp ? 0 : qp.error, "ibv_create_qp with 4294967295 sends"));
    carries(c, loop, "after a refused creation", static_cast<std::uint64_t>(round) + 2);
  }
}

/// Through Verbena they count for nothing too, and are said to.
void srq_ignores_receive_caps(Case& c) {
  const Stand stand(c);
  const Object<ibv_srq> srq =
      c.made(c.way().srq(stand.pd.raw(), {.max_wr = 4, .max_sge = 1, .srq_limit = 0}), "ibv_create_srq");
  for (const auto& [wr, sge] : {std::pair(0U, 0U), std::pair(1U, 1U), std::pair(0U, 100000U), std::pair(10000000U, 1U),
                                std::pair(0xffffffffU, 0xffffffffU)}) {
    QpShape shape = stand.shape(QpType::rc, {1, wr, 1, sge, 0});
    shape.srq = srq.raw();
    c.accepted(c.way().qp(stand.pd.raw(), shape), "a queue pair on a shared receive queue with max_recv_wr " +
                                                      std::to_string(wr) + " and max_recv_sge " + std::to_string(sge));
  }
}

void srq_type(Case& c) {
  const Stand stand(c);
  const Object<ibv_srq> srq =
      c.made(c.way().srq(stand.pd.raw(), {.max_wr = 4, .max_sge = 1, .srq_limit = 0}), "ibv_create_srq");
  QpShape shape = stand.shape(QpType::uc);
  shape.srq = srq.raw();
  c.refused(c.way().qp(stand.pd.raw(), shape), "a UC queue pair on a shared receive queue");
}

void sig_all(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type, .sq_sig_all = true});
    const std::size_t head = type == QpType::ud ? kGrhBytes : 0;
    for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
      c.need(c.accepted(loop.receive(loop.b(), wr_id, 0, head + kMessageBytes), "ibv_post_recv"));
      c.need(c.accepted(loop.send(loop.a(), wr_id, 0, kMessageBytes, 0), "ibv_post_send without IBV_SEND_SIGNALED"));
      const auto wc = next(c, loop.a().send_cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, named(type, "an unsignalled send with sq_sig_all")));
      c.equal(wc->wr_id, wr_id, "wr_id");
    }
  }
}

}  // namespace

Bodies qp_create_bodies() {
  static constexpr Body kBodies[] = {
      {"qp.create.reset_state", reset_state},
      {"qp.create.number_unique", number_unique},
      {"qp.create.caps_at_least_asked", caps_at_least_asked},
      {"qp.create.caps_queried", caps_queried},
      {"qp.create.init_attributes_queried", init_attributes_queried},
      {"qp.create.context_kept", context_kept},
      {"qp.create.one_cq_for_both", one_cq_for_both},
      {"qp.create.unknown_type_refused", unknown_type_refused},
      {"qp.create.raw_needs_privilege", raw_needs_privilege},
      {"qp.create.refused_leaves_nothing", refused_leaves_nothing},
      {"qp.create.refused_leaves_others", refused_leaves_others},
      {"qp.create.srq_ignores_receive_caps", srq_ignores_receive_caps},
      {"qp.create.srq_type", srq_type},
      {"qp.create.sig_all", sig_all},
  };
  return kBodies;
}

}  // namespace conform
