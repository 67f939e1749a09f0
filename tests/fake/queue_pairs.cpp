// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fake/fake_objects.hpp"

namespace verbena::fake {
namespace {

/// Takes over what a modify names, as ibv_query_qp later shows it.
void take_over(ibv_qp_attr& to, const ibv_qp_attr& from, int mask) {
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to.qp_access_flags = from.qp_access_flags;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) to.pkey_index = from.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) to.port_num = from.port_num;
  if ((mask & IBV_QP_QKEY) != 0) to.qkey = from.qkey;
  if ((mask & IBV_QP_AV) != 0) to.ah_attr = from.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) to.path_mtu = from.path_mtu;
  if ((mask & IBV_QP_TIMEOUT) != 0) to.timeout = from.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) to.retry_cnt = from.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) to.rnr_retry = from.rnr_retry;
  if ((mask & IBV_QP_RQ_PSN) != 0) to.rq_psn = from.rq_psn;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) to.max_rd_atomic = from.max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) to.min_rnr_timer = from.min_rnr_timer;
  if ((mask & IBV_QP_SQ_PSN) != 0) to.sq_psn = from.sq_psn;
  if ((mask & IBV_QP_DEST_QPN) != 0) to.dest_qp_num = from.dest_qp_num;
}

}  // namespace

Made<ibv_qp> FakeVerbs::create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) {
  const Lock lock = enter("create_qp_ex");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "create_qp"); error != 0) return refused<ibv_qp>(error);
  const ibv_qp_cap& cap = attr.cap;
  for (const auto& [field, asked] : {std::pair<const char*, std::uint32_t>{"max_send_wr", cap.max_send_wr},
                                     {"max_recv_wr", cap.max_recv_wr},
                                     {"max_send_sge", cap.max_send_sge},
                                     {"max_recv_sge", cap.max_recv_sge},
                                     {"max_inline_data", cap.max_inline_data}}) {
    if (const int error = over_threshold(device, field, asked); error != 0) return refused<ibv_qp>(error);
  }
  if (device.judge_qp) {
    if (const int error = device.judge_qp(attr); error != 0) return refused<ibv_qp>(error);
  }
  if (device.qp_write_back) device.qp_write_back(attr.cap);
  auto* fake = new FakeQp;
  fake->qp.context = context;
  fake->qp.qp_context = attr.qp_context;
  fake->qp.pd = attr.pd;
  fake->qp.send_cq = attr.send_cq;
  fake->qp.recv_cq = attr.recv_cq;
  fake->qp.srq = attr.srq;
  fake->qp.qp_num = next_qp_num_++;
  fake->qp.state = IBV_QPS_RESET;
  fake->qp.qp_type = attr.qp_type;
  fake->cap = attr.cap;
  fake->sq_sig_all = attr.sq_sig_all != 0;
  if (attr.send_cq != nullptr) ++FakeCq::of(attr.send_cq).users;
  if (attr.recv_cq != nullptr) ++FakeCq::of(attr.recv_cq).users;
  ++device.qps;
  qps_.insert(&fake->qp);
  Made<ibv_qp> result;
  result.handle = &fake->qp;
  return result;
}

Made<ibv_qp> FakeVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  const Lock lock = enter("create_qp");
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = attr.qp_context;
  extended.send_cq = attr.send_cq;
  extended.recv_cq = attr.recv_cq;
  extended.srq = attr.srq;
  extended.cap = attr.cap;
  extended.qp_type = attr.qp_type;
  extended.sq_sig_all = attr.sq_sig_all;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd;
  const Made<ibv_qp> made = create_qp_ex(pd->context, extended);
  --calls_["create_qp_ex"];
  attr.cap = extended.cap;
  return made;
}

int FakeVerbs::modify_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask) {
  const Lock lock = enter("modify_qp");
  FakeDevice& device = device_of(qp->context);
  modifies_.push_back({qp, attr, mask});
  if (const int error = scripted(device, "modify_qp"); error != 0) return error;
  if (device.judge_modify) {
    if (const int error = device.judge_modify(*qp, attr, mask); error != 0) return error;
  }
  FakeQp& fake = FakeQp::of(qp);
  take_over(fake.attr, attr, mask);
  if ((mask & IBV_QP_STATE) != 0) qp->state = attr.qp_state;
  if (qp->state == IBV_QPS_RESET) fake.receives.clear();
  return 0;
}

int FakeVerbs::query_qp(ibv_qp* qp, ibv_qp_attr& attr, int, ibv_qp_init_attr& init) {
  const Lock lock = enter("query_qp");
  FakeDevice& device = device_of(qp->context);
  if (const int error = scripted(device, "query_qp"); error != 0) return error;
  const FakeQp& fake = FakeQp::of(qp);
  attr = fake.attr;
  attr.qp_state = qp->state;
  attr.cur_qp_state = qp->state;
  attr.cap = fake.cap;
  init = ibv_qp_init_attr{};
  init.qp_context = qp->qp_context;
  init.send_cq = qp->send_cq;
  init.recv_cq = qp->recv_cq;
  init.srq = qp->srq;
  init.cap = fake.cap;
  init.qp_type = qp->qp_type;
  init.sq_sig_all = fake.sq_sig_all ? 1 : 0;
  return 0;
}

int FakeVerbs::query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
  return 0;
}

int FakeVerbs::destroy_qp(ibv_qp* qp) {
  const Lock lock = enter("destroy_qp");
  FakeDevice& device = device_of(qp->context);
  const int error = scripted(device, "destroy_qp");
  if (error != 0 && !device.gone) return error;
  if (qp->send_cq != nullptr) --FakeCq::of(qp->send_cq).users;
  if (qp->recv_cq != nullptr) --FakeCq::of(qp->recv_cq).users;
  --device.qps;
  qps_.erase(qp);
  delete &FakeQp::of(qp);
  return error;
}

int FakeVerbs::query_ece(ibv_qp*, ibv_ece&) {
  return EOPNOTSUPP;
}
int FakeVerbs::set_ece(ibv_qp*, ibv_ece&) {
  return EOPNOTSUPP;
}

int FakeVerbs::attach_mcast(ibv_qp* qp, const ibv_gid&, std::uint16_t) {
  const Lock lock = enter("attach_mcast");
  return scripted(device_of(qp->context), "attach_mcast");
}

int FakeVerbs::detach_mcast(ibv_qp* qp, const ibv_gid&, std::uint16_t) {
  const Lock lock = enter("detach_mcast");
  return scripted(device_of(qp->context), "detach_mcast");
}

}  // namespace verbena::fake
