// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/loop.hpp"
#include "verbena/errno_family.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::Made;

/// What a verb was asked on, made by plain verbs.
struct Stand {
  explicit Stand(Case& of) : c(of), memory(of.verbs().page_size(), of.verbs().page_size()) {
    pd = c.made(c.way().pd(), "ibv_alloc_pd");
    cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  }
  Object<ibv_qp> qp() {
    c.needs_queue_pairs();
    QpShape shape;
    shape.type = c.qp_types().front();
    shape.send_cq = cq.raw();
    return c.made(c.way().qp(pd.raw(), shape), "ibv_create_qp");
  }

  Case& c;
  Memory memory;
  Object<ibv_pd> pd;
  Object<ibv_cq> cq;
};

/// Gives the handle of a creation back where it was not refused.
template <class T, class Destroy>
int outcome(const Made<T>& made, Destroy destroy) {
  if (!made) return made.errno_missing ? -1 : made.error;
  destroy(made.handle);
  return 0;
}

/// The same of a verb that is libibverbs' own in both columns, since the table has no word for it.
template <class T, class Call, class Destroy>
int plain(Call call, Destroy destroy) {
  errno = 0;
  T* made = call();
  if (made == nullptr) return errno != 0 ? errno : -1;
  destroy(made);
  return 0;
}

struct Verb {
  std::string_view name;
  Feature feature;
  int (*call)(Stand&);
};

constexpr Verb kVerbs[] = {
    {"resize_cq", Feature::cq_resize, [](Stand& s) { return s.c.verbs().resize_cq(s.cq.raw(), 8); }},
    {"modify_cq", Feature::cq_moderation,
     [](Stand& s) {
       ibv_modify_cq_attr attr{};
       attr.attr_mask = IBV_CQ_ATTR_MODERATE;
       attr.moderate = {1, 1};
       return s.c.verbs().modify_cq(s.cq.raw(), attr);
     }},
    {"create_cq_ex", Feature::create_cq_ex,
     [](Stand& s) {
       ibv_cq_init_attr_ex init{};
       init.cqe = 4;
       return outcome(s.c.verbs().create_cq_ex(s.c.context(), init),
                      [&](ibv_cq_ex* cq) { s.c.verbs().destroy_cq(ibv_cq_ex_to_cq(cq)); });
     }},
    {"create_qp_ex", Feature::create_qp_ex,
     [](Stand& s) {
       ibv_qp_init_attr_ex init{};
       init.send_cq = s.cq.raw();
       init.recv_cq = s.cq.raw();
       init.cap = {1, 1, 1, 1, 0};
       init.qp_type = IBV_QPT_RC;
       init.pd = s.pd.raw();
       init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
       init.send_ops_flags = IBV_QP_EX_WITH_SEND;
       return outcome(s.c.verbs().create_qp_ex(s.c.context(), init), [&](ibv_qp* qp) { s.c.verbs().destroy_qp(qp); });
     }},
    {"create_srq", Feature::srq,
     [](Stand& s) {
       ibv_srq_init_attr init{};
       init.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
       return outcome(s.c.verbs().create_srq(s.pd.raw(), init), [&](ibv_srq* srq) { s.c.verbs().destroy_srq(srq); });
     }},
    {"alloc_mw", Feature::memory_window_1,
     [](Stand& s) {
       return outcome(s.c.verbs().alloc_mw(s.pd.raw(), IBV_MW_TYPE_1), [&](ibv_mw* mw) { s.c.verbs().dealloc_mw(mw); });
     }},
    {"create_ah", Feature::user_ah,
     [](Stand& s) {
       Loop loop(s.c, {.type = s.c.qp_types().front()}, false);
       ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
       return outcome(s.c.verbs().create_ah(s.pd.raw(), attr), [&](ibv_ah* ah) { s.c.verbs().destroy_ah(ah); });
     }},
    {"attach_mcast", Feature::multicast,
     [](Stand& s) {
       const Object<ibv_qp> qp = s.qp();
       ibv_gid group{};
       group.raw[0] = 0xff;
       group.raw[1] = 0x0e;
       group.raw[15] = 0x77;
       return s.c.verbs().attach_mcast(qp.raw(), group, 0xc001);
     }},
    {"rereg_mr", Feature::rereg_mr,
     [](Stand& s) {
       const Object<ibv_mr> mr =
           s.c.made(s.c.way().mr(s.pd.raw(), {.address = s.memory.data(), .length = s.memory.size()}), "ibv_reg_mr");
       int code = 0;
       return s.c.verbs().rereg_mr(mr.raw(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, code);
     }},
    {"alloc_null_mr", Feature::null_mr,
     [](Stand& s) {
       return outcome(s.c.verbs().alloc_null_mr(s.pd.raw()), [&](ibv_mr* mr) { s.c.verbs().dereg_mr(mr); });
     }},
    {"advise_mr", Feature::advise_mr,
     [](Stand& s) {
       const Object<ibv_mr> mr =
           s.c.made(s.c.way().mr(s.pd.raw(), {.address = s.memory.data(), .length = s.memory.size()}), "ibv_reg_mr");
       ibv_sge sge{s.memory.address(), static_cast<std::uint32_t>(s.memory.size()), mr->lkey};
       return s.c.verbs().advise_mr(s.pd.raw(), IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
     }},
    {"alloc_td", Feature::thread_domain,
     [](Stand& s) {
       ibv_td_init_attr attr{};
       return outcome(s.c.verbs().alloc_td(s.c.context(), attr), [&](ibv_td* td) { s.c.verbs().dealloc_td(td); });
     }},
    {"alloc_parent_domain", Feature::parent_domain,
     [](Stand& s) {
       ibv_parent_domain_init_attr attr{};
       attr.pd = s.pd.raw();
       return outcome(s.c.verbs().alloc_parent_domain(s.c.context(), attr),
                      [&](ibv_pd* pd) { s.c.verbs().dealloc_pd(pd); });
     }},
    {"query_rt_values_ex", Feature::raw_clock,
     [](Stand& s) {
       ibv_values_ex values{};
       values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
       return s.c.verbs().query_rt_values_ex(s.c.context(), values);
     }},
    {"alloc_dm", Feature::device_memory,
     [](Stand& s) {
       return plain<ibv_dm>(
           [&] {
             ibv_alloc_dm_attr attr{};
             attr.length = 64;
             return ibv_alloc_dm(s.c.context(), &attr);
           },
           [](ibv_dm* dm) { ibv_free_dm(dm); });
     }},
    {"open_xrcd", Feature::xrc,
     [](Stand& s) {
       return plain<ibv_xrcd>(
           [&] {
             ibv_xrcd_init_attr init{};
             init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
             init.fd = -1;
             init.oflags = O_CREAT;
             return ibv_open_xrcd(s.c.context(), &init);
           },
           [](ibv_xrcd* domain) { ibv_close_xrcd(domain); });
     }},
};

void absent_errno(Case& c) {
  const std::string& name = c.with("verb");
  for (const Verb& verb : kVerbs) {
    if (verb.name != name) continue;
    if (c.contract().feature(verb.feature).support != verbena::Support::absent) {
      return c.note("the contract does not call ibv_" + name + " absent");
    }
    Stand stand(c);
    const int error = verb.call(stand);
    if (left_out(c, verb.feature)) {
      return c.note("Verbena leaves ibv_" + name + " out, and the provider may have it: " +
                    (error == 0 ? std::string("done") : std::string(verbena::errno_name(error))));
    }
    // Not what refused() forgives to Verbena: the verb is plain in both columns.
    if (c.refused(error, "ibv_" + name))
      c.equal(error, EOPNOTSUPP, "errno of ibv_" + name + ", which the device lacks,");
    return;
  }
  c.holds(false, Seen::value, "no such verb in the table: " + name);
}

/// The raw clock, device memory and flow steering, each as the contract says.
void raw_clock(Case& c) {
  for (const Verb& verb : kVerbs) {
    if (verb.feature != Feature::raw_clock && verb.feature != Feature::device_memory) continue;
    if (left_out(c, verb.feature)) continue;
    Stand stand(c);
    const int error = verb.call(stand);
    const std::string what = "ibv_" + std::string(verb.name);
    const verbena::Support support = c.contract().feature(verb.feature).support;
    if (support == verbena::Support::native) c.accepted(error, what + ", native by the contract,");
    if (support == verbena::Support::absent) c.refused(error, what + ", absent by the contract,");
  }
  if (c.contract().feature(Feature::flow_steering).support != verbena::Support::absent) return;
  Stand stand(c);
  const Object<ibv_qp> qp = stand.qp();
  ibv_flow_attr attr{};
  attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  attr.size = sizeof attr;
  attr.port = c.port();
  const int error =
      plain<ibv_flow>([&] { return ibv_create_flow(qp.raw(), &attr); }, [](ibv_flow* flow) { ibv_destroy_flow(flow); });
  c.refused(error, "ibv_create_flow, absent by the contract,");
}

}  // namespace

Bodies device_absent_verbs_bodies() {
  static constexpr Body kBodies[] = {
      {"device.verbs.absent_errno", absent_errno},
      {"device.query.raw_clock", raw_clock},
  };
  return kBodies;
}

}  // namespace conform
