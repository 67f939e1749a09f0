// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/loop.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::QpType;
using verbena::Support;

ibv_ah_attr to_peer(Case& c) {
  c.needs_queue_pairs();
  const QpType type = c.native(Feature::ud) ? QpType::ud : c.qp_types().front();
  Loop loop(c, {.type = type}, false);
  return loop.path(loop.a(), loop.b()).address;
}

/// A datagram from one end to the other by any handle.
int send_by(End& from, const End& to, ibv_ah* ah, std::uint64_t wr_id = 1) {
  ibv_sge sge = from.sge(0, kBytes);
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {ah, to.qp->qp_num, to.qkey};
  ibv_send_wr* bad = nullptr;
  return from.way->post_send(from.qp.raw(), wr, bad);
}

void arrives_by(Case& c, Loop& loop, End& from, End& to, ibv_ah* ah, const std::string& what) {
  from.memory->fill(static_cast<std::uint32_t>(what.size() + 3));
  std::fill_n(to.data(), kGrhBytes + kBytes, std::uint8_t{0});
  c.need(c.accepted(loop.receive(to, 2, 0, kGrhBytes + kBytes), "ibv_post_recv"));
  c.need(c.accepted(send_by(from, to, ah), "ibv_post_send by " + what));
  c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, "a send by " + what);
  c.need(c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send by " + what));
  c.holds(std::equal(from.data(), from.data() + kBytes, to.data() + kGrhBytes), Seen::no_data,
          "other bytes arrived by " + what);
}

void reaches_peer(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  const Object<ibv_ah> ah =
      c.made(loop.a().way->ah(loop.a().pd.raw(), loop.path(loop.a(), loop.b()).address), "ibv_create_ah");
  arrives_by(c, loop, loop.a(), loop.b(), ah.raw(), "an address handle");
}

/// Made as it is, and refused after the change.
template <class Change>
void refused_with(Case& c, Change change, const std::string& what, std::initializer_list<int> errnos) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  ibv_ah_attr attr = to_peer(c);
  c.need(c.accepted(c.way().ah(pd.raw(), attr), "ibv_create_ah of a peer's address"));
  change(attr);
  const Object<ibv_ah> ah = c.way().ah(pd.raw(), attr);
  if (c.refused(ah, "ibv_create_ah " + what, errnos)) c.holds(ah.error() > 0, Seen::value, "the refusal set no errno");
}

void port_zero(Case& c) {
  refused_with(c, [](ibv_ah_attr& attr) { attr.port_num = 0; }, "with port_num 0", {EINVAL});
}

void port_above(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  refused_with(c, [&](ibv_ah_attr& attr) { attr.port_num = static_cast<std::uint8_t>(device.phys_port_cnt + 1); },
               "with port_num phys_port_cnt + 1", {EINVAL});
}

/// An index has 8 bits: in a longer table the last of them that holds nothing.
void gid_index_above(Case& c) {
  ibv_port_attr port{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), port), "ibv_query_port"));
  int index = std::min(port.gid_tbl_len, 255);
  if (port.gid_tbl_len > 255) {
    ibv_gid_entry entry{};
    while (index > 0 && c.verbs().query_gid_ex(c.context(), c.port(), static_cast<std::uint32_t>(index), entry) == 0) {
      --index;
    }
    c.need(c.holds(index > 0, Seen::value, "the GID table has no empty entry"));
  }
  refused_with(c,
               [&](ibv_ah_attr& attr) {
                 attr.is_global = 1;
                 attr.grh.sgid_index = static_cast<std::uint8_t>(index);
               },
               "with sgid_index " + std::to_string(index), {});
}

void grh_where_required(Case& c) {
  ibv_port_attr port{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), port), "ibv_query_port"));
  if (port.link_layer != IBV_LINK_LAYER_ETHERNET && (port.flags & IBV_QPF_GRH_REQUIRED) == 0) {
    return c.note("the port needs no GRH");
  }
  refused_with(c, [](ibv_ah_attr& attr) { attr.is_global = 0; }, "without GRH", {});
}

/// The peer's address with another host in it.
void nobody_there(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
  attr.grh.dgid.raw[15] ^= 0x5a;
  attr.grh.dgid.raw[14] ^= 0x01;
  const auto begun = std::chrono::steady_clock::now();
  const Object<ibv_ah> ah = loop.a().way->ah(loop.a().pd.raw(), attr);
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun).count();
  c.holds(took < 60, Seen::value, "ibv_create_ah took " + std::to_string(took) + " s");
  if (!ah) {
    c.holds(ah.error() > 0, Seen::value, "the refusal set no errno");
    return;
  }
  c.need(c.accepted(loop.receive(loop.b(), 2, 0, kGrhBytes + kBytes), "ibv_post_recv"));
  if (send_by(loop.a(), loop.b(), ah.raw()) == 0) next(c, loop.a().send_cq.raw());
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a datagram to an address that nobody has arrived");
}

void many_to_one(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  const ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
  std::vector<Object<ibv_ah>> handles;
  for (int count = 0; count < 24; ++count) {
    handles.push_back(c.made(loop.a().way->ah(loop.a().pd.raw(), attr),
                             "ibv_create_ah, number " + std::to_string(count + 1) + " to one peer"));
  }
  for (const Object<ibv_ah>& handle : handles) {
    arrives_by(c, loop, loop.a(), loop.b(), handle.raw(), "one of many address handles");
  }
}

void after_completion(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  for (int round = 0; round < 4; ++round) {
    Object<ibv_ah> ah =
        c.made(loop.a().way->ah(loop.a().pd.raw(), loop.path(loop.a(), loop.b()).address), "ibv_create_ah");
    arrives_by(c, loop, loop.a(), loop.b(), ah.raw(), "an address handle");
    c.accepted(ah.destroy(), "ibv_destroy_ah after its sends have completed");
  }
}

/// A datagram has arrived at the second end, whose completion and header are given to `answer`.
template <class Answer>
void answered(Case& c, Answer answer) {
  Loop loop(c, {.type = QpType::ud});
  c.need(c.accepted(loop.receive(loop.b(), 2, 0, kGrhBytes + kBytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 1, 0, kBytes), "ibv_post_send"));
  std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send"));
  c.equal(wc->src_qp, loop.a().qp->qp_num, "src_qp of the completion");
  ibv_grh grh{};
  std::memcpy(&grh, loop.b().data(), sizeof grh);
  const Object<ibv_ah> back = answer(loop, *wc, grh);
  arrives_by(c, loop, loop.b(), loop.a(), back.raw(), "an address handle made from a completion");
}

/// By the plain verb in both columns: Verbena makes none from completions.
void from_wc_answers(Case& c) {
  answered(c, [&](Loop& loop, ibv_wc& wc, ibv_grh& grh) {
    const verbena::Made<ibv_ah> ah = c.verbs().create_ah_from_wc(loop.b().pd.raw(), wc, &grh, loop.b().port);
    c.need(c.accepted(ah ? 0 : ah.error, "ibv_create_ah_from_wc"));
    return Object<ibv_ah>(ah.handle,
                          [verbs = c.ground().verbs, handle = ah.handle] { return verbs->destroy_ah(handle); });
  });
}

void attributes_suffice(Case& c) {
  answered(c, [&](Loop& loop, ibv_wc& wc, ibv_grh& grh) {
    ibv_ah_attr attr{};
    c.need(c.accepted(c.verbs().init_ah_from_wc(loop.b().device->raw(), loop.b().port, wc, &grh, attr),
                      "ibv_init_ah_from_wc"));
    return c.made(loop.b().way->ah(loop.b().pd.raw(), attr), "ibv_create_ah of the attributes");
  });
}

void ah_native(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Support handles = c.contract().feature(Feature::user_ah).support;
  const Object<ibv_ah> ah = c.way().ah(pd.raw(), to_peer(c));
  if (handles == Support::native) c.accepted(ah, "ibv_create_ah, native by the contract,");
  if (handles == Support::absent) c.refused(ah, "ibv_create_ah, absent by the contract,");
  const Support groups = c.contract().feature(Feature::multicast).support;
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  QpShape shape;
  shape.type = c.native(Feature::ud) ? QpType::ud : c.qp_types().front();
  shape.send_cq = cq.raw();
  const Object<ibv_qp> qp = c.made(c.way().qp(pd.raw(), shape), "ibv_create_qp");
  if (shape.type == QpType::ud) {
    const Move init = to_init(QpType::ud, c.port());
    c.need(c.accepted(c.way().modify(qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
  }
  ibv_gid group{};
  group.raw[0] = 0xff;
  group.raw[1] = 0x0e;
  group.raw[15] = 0x77;
  const int error = c.verbs().attach_mcast(qp.raw(), group, 0xc001);
  if (groups == Support::native && c.accepted(error, "ibv_attach_mcast, native by the contract,"))
    c.accepted(c.verbs().detach_mcast(qp.raw(), group, 0xc001), "ibv_detach_mcast");
  if (groups == Support::absent) c.refused(error, "ibv_attach_mcast, absent by the contract,");
}

}  // namespace

Bodies ah_bodies() {
  static constexpr Body kBodies[] = {
      {"ah.create.reaches_peer", reaches_peer},
      {"ah.create.port_zero_refused", port_zero},
      {"ah.create.port_above_refused", port_above},
      {"ah.create.gid_index_above_refused", gid_index_above},
      {"ah.create.grh_where_required", grh_where_required},
      {"ah.create.nobody_there", nobody_there},
      {"ah.create.many_to_one", many_to_one},
      {"ah.destroy.after_completion", after_completion},
      {"ah.from_wc.answers", from_wc_answers},
      {"ah.from_wc.attributes_suffice", attributes_suffice},
      {"ah.create.native", ah_native},
  };
  return kBodies;
}

}  // namespace conform
