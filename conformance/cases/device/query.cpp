// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <endian.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/loop.hpp"
#include "rig/opened.hpp"

namespace conform {

namespace {

using verbena::Made;

/// Each field of the two; padding and the bytes behind a terminated text are nobody's.
void same(Case& c, const ibv_device_attr& is, const ibv_device_attr& must, const std::string& which) {
  const auto field = [&](const char* name, const auto& one, const auto& other) { c.equal(one, other, which + name); };
  field("fw_ver", std::string(is.fw_ver, strnlen(is.fw_ver, sizeof is.fw_ver)),
        std::string(must.fw_ver, strnlen(must.fw_ver, sizeof must.fw_ver)));
  field("node_guid", is.node_guid, must.node_guid);
  field("sys_image_guid", is.sys_image_guid, must.sys_image_guid);
  field("max_mr_size", is.max_mr_size, must.max_mr_size);
  field("page_size_cap", is.page_size_cap, must.page_size_cap);
  field("vendor_id", is.vendor_id, must.vendor_id);
  field("vendor_part_id", is.vendor_part_id, must.vendor_part_id);
  field("hw_ver", is.hw_ver, must.hw_ver);
  field("max_qp", is.max_qp, must.max_qp);
  field("max_qp_wr", is.max_qp_wr, must.max_qp_wr);
  field("device_cap_flags", is.device_cap_flags, must.device_cap_flags);
  field("max_sge", is.max_sge, must.max_sge);
  field("max_sge_rd", is.max_sge_rd, must.max_sge_rd);
  field("max_cq", is.max_cq, must.max_cq);
  field("max_cqe", is.max_cqe, must.max_cqe);
  field("max_mr", is.max_mr, must.max_mr);
  field("max_pd", is.max_pd, must.max_pd);
  field("max_qp_rd_atom", is.max_qp_rd_atom, must.max_qp_rd_atom);
  field("max_ee_rd_atom", is.max_ee_rd_atom, must.max_ee_rd_atom);
  field("max_res_rd_atom", is.max_res_rd_atom, must.max_res_rd_atom);
  field("max_qp_init_rd_atom", is.max_qp_init_rd_atom, must.max_qp_init_rd_atom);
  field("max_ee_init_rd_atom", is.max_ee_init_rd_atom, must.max_ee_init_rd_atom);
  field("atomic_cap", is.atomic_cap, must.atomic_cap);
  field("max_ee", is.max_ee, must.max_ee);
  field("max_rdd", is.max_rdd, must.max_rdd);
  field("max_mw", is.max_mw, must.max_mw);
  field("max_raw_ipv6_qp", is.max_raw_ipv6_qp, must.max_raw_ipv6_qp);
  field("max_raw_ethy_qp", is.max_raw_ethy_qp, must.max_raw_ethy_qp);
  field("max_mcast_grp", is.max_mcast_grp, must.max_mcast_grp);
  field("max_mcast_qp_attach", is.max_mcast_qp_attach, must.max_mcast_qp_attach);
  field("max_total_mcast_qp_attach", is.max_total_mcast_qp_attach, must.max_total_mcast_qp_attach);
  field("max_ah", is.max_ah, must.max_ah);
  field("max_fmr", is.max_fmr, must.max_fmr);
  field("max_map_per_fmr", is.max_map_per_fmr, must.max_map_per_fmr);
  field("max_srq", is.max_srq, must.max_srq);
  field("max_srq_wr", is.max_srq_wr, must.max_srq_wr);
  field("max_srq_sge", is.max_srq_sge, must.max_srq_sge);
  field("max_pkeys", is.max_pkeys, must.max_pkeys);
  field("local_ca_ack_delay", is.local_ca_ack_delay, must.local_ca_ack_delay);
  field("phys_port_cnt", is.phys_port_cnt, must.phys_port_cnt);
}

void list_complete(Case& c) {
  int count = -1;
  const Made<ibv_device*> list = c.verbs().get_device_list(count);
  c.need(c.accepted(list ? 0 : list.error, "ibv_get_device_list"));
  int entries = 0;
  bool named = false;
  while (list.handle[entries] != nullptr) {
    named = named || c.device().id().name == c.verbs().get_device_name(list.handle[entries]);
    ++entries;
  }
  c.equal(count, entries, "num_devices");
  c.holds(named, Seen::value, "the list lacks the device that is open");
  c.verbs().free_device_list(list.handle);
}

void outlives_list(Case& c) {
  Opened opened(c);  // the list is freed by now
  ibv_device_attr attr{};
  c.accepted(c.verbs().query_device(opened.raw(), attr), "ibv_query_device after ibv_free_device_list");
  c.holds(attr.phys_port_cnt >= 1, Seen::value, "the device has no port after ibv_free_device_list");
  const Made<ibv_pd> pd = c.verbs().alloc_pd(opened.raw());
  if (c.accepted(pd.error, "ibv_alloc_pd after ibv_free_device_list"))
    c.accepted(c.verbs().dealloc_pd(pd.handle), "ibv_dealloc_pd after ibv_free_device_list");
  c.accepted(opened.close(), "ibv_close_device");
}

/// A domain, a queue and a region of a context that plain verbs opened.
struct Things {
  Case& c;
  Memory memory;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;

  Things(Case& of, ibv_context* context) : c(of), memory(of.verbs().page_size(), of.verbs().page_size()) {
    pd = made(c.verbs().alloc_pd(context), "ibv_alloc_pd");
    const verbena::Domain& queues = c.contract().domain(verbena::Field::max_cq);
    if (!queues.known || queues.largest_grant() > 0)
      cq = made(c.verbs().create_cq(context, static_cast<int>(c.within(verbena::Field::cqe, 8)), nullptr, nullptr, 0),
                "ibv_create_cq");
    if (pd != nullptr)
      mr = made(c.verbs().reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
  }
  Things(const Things&) = delete;
  Things& operator=(const Things&) = delete;
  ~Things() {
    if (mr != nullptr) c.accepted(c.verbs().dereg_mr(mr), "ibv_dereg_mr");
    if (cq != nullptr) c.accepted(c.verbs().destroy_cq(cq), "ibv_destroy_cq");
    if (pd != nullptr) c.accepted(c.verbs().dealloc_pd(pd), "ibv_dealloc_pd");
  }

  template <class T>
  T* made(const Made<T>& one, const char* what) {
    return c.accepted(one.error, what) ? one.handle : nullptr;
  }
};

void close_after_release(Case& c) {
  Opened opened(c);
  {
    const Things things(c, opened.raw());
  }
  c.accepted(opened.close(), "ibv_close_device of a context without objects");
}

void contexts_independent(Case& c) {
  c.needs_queue_pairs();
  Loop loop(c, {.type = c.qp_types().front()});
  {
    Opened other(c);
    {
      const Things things(c, other.raw());
    }
    c.accepted(other.close(), "ibv_close_device of the other context");
  }
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv after the other context was closed"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, 64), "ibv_post_send after the other context was closed"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send after the other context was closed");
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive after the other context was closed");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  c.accepted(c.way().mr(loop.a().pd.raw(), {.address = memory.data(), .length = memory.size()}),
             "ibv_reg_mr after the other context was closed");
}

void guid_agrees(Case& c) {
  // The table gives the GUID of ibv_get_device_guid in host byte order.
  c.equal(c.verbs().get_device_guid(c.context()->device), be64toh(queried_device(c).node_guid), "ibv_get_device_guid");
}

void ex_agrees(Case& c) {
  ibv_device_attr_ex extended{};
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, extended), "ibv_query_device_ex"));
  same(c, extended.orig_attr, queried_device(c), "orig_attr.");
}

void repeatable(Case& c) {
  const ibv_device_attr first = queried_device(c);
  same(c, queried_device(c), first, "at the second query, ");
  ibv_device_attr_ex one{};
  ibv_device_attr_ex two{};
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, one), "ibv_query_device_ex"));
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, two), "ibv_query_device_ex once more"));
  c.equal(two.comp_mask, one.comp_mask, "comp_mask of the second ibv_query_device_ex");
  c.equal(two.odp_caps.general_caps, one.odp_caps.general_caps, "odp_caps.general_caps of the second query");
  c.equal(two.completion_timestamp_mask, one.completion_timestamp_mask,
          "completion_timestamp_mask of the second query");
  c.equal(two.hca_core_clock, one.hca_core_clock, "hca_core_clock of the second query");
  c.equal(two.device_cap_flags_ex, one.device_cap_flags_ex, "device_cap_flags_ex of the second query");
  c.equal(two.max_dm_size, one.max_dm_size, "max_dm_size of the second query");
}

void fw_ver_terminated(Case& c) {
  ibv_device_attr attr{};
  std::memset(attr.fw_ver, 'x', sizeof attr.fw_ver);
  c.need(c.accepted(c.verbs().query_device(c.context(), attr), "ibv_query_device"));
  c.holds(std::memchr(attr.fw_ver, 0, sizeof attr.fw_ver) != nullptr, Seen::value, "fw_ver has no zero byte");
}

void ports_counted(Case& c) {
  const ibv_device_attr attr = queried_device(c);
  c.holds(attr.phys_port_cnt >= 1, Seen::value, "phys_port_cnt is 0");
  for (unsigned port = 1; port <= attr.phys_port_cnt; ++port) {
    ibv_port_attr of{};
    c.accepted(c.verbs().query_port(c.context(), static_cast<std::uint8_t>(port), of),
               "ibv_query_port of port " + std::to_string(port));
  }
}

void counts_positive(Case& c) {
  const ibv_device_attr attr = queried_device(c);
  const auto positive = [&](const char* name, auto value) {
    c.holds(value >= 1, Seen::value, std::string(name) + " is " + std::to_string(value));
  };
  positive("max_qp", attr.max_qp);
  positive("max_qp_wr", attr.max_qp_wr);
  positive("max_cq", attr.max_cq);
  positive("max_cqe", attr.max_cqe);
  positive("max_mr", attr.max_mr);
  positive("max_pd", attr.max_pd);
  positive("max_mr_size", attr.max_mr_size);
}

void comp_vectors(Case& c) {
  c.holds(c.context()->num_comp_vectors >= 1, Seen::value,
          "num_comp_vectors is " + std::to_string(c.context()->num_comp_vectors));
}

}  // namespace

Bodies device_query_bodies() {
  static constexpr Body kBodies[] = {
      {"device.list.complete", list_complete},
      {"device.list.opened_outlives_list", outlives_list},
      {"device.open.contexts_independent", contexts_independent},
      {"device.open.close_after_release", close_after_release},
      {"device.query.guid_agrees", guid_agrees},
      {"device.query.ex_agrees", ex_agrees},
      {"device.query.repeatable", repeatable},
      {"device.query.fw_ver_terminated", fw_ver_terminated},
      {"device.query.ports_counted", ports_counted},
      {"device.query.counts_positive", counts_positive},
      {"device.caps.comp_vectors", comp_vectors},
  };
  return kBodies;
}

}  // namespace conform
