// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/on_id.hpp"

namespace conform {

OnId::OnId(Case& c, rdma_cm_id* id, ibv_qp_type type, std::size_t bytes)
    : case_(c), memory_(bytes, c.verbs().page_size()), bytes_(bytes), id_(id) {
  const auto domain = c.verbs().alloc_pd(id->verbs);
  c.need(c.accepted(domain.error, "ibv_alloc_pd on the context of rdma_cm"));
  pd_ = Object<ibv_pd>(domain.handle, [&c, domain] { return c.verbs().dealloc_pd(domain.handle); });
  const auto queue = c.verbs().create_cq(id->verbs, 16, nullptr, nullptr, 0);
  c.need(c.accepted(queue.error, "ibv_create_cq on the context of rdma_cm"));
  cq_ = Object<ibv_cq>(queue.handle, [&c, queue] { return c.verbs().destroy_cq(queue.handle); });
  const auto region = c.verbs().reg_mr(pd_.raw(), memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
  c.need(c.accepted(region.error, "ibv_reg_mr on the context of rdma_cm"));
  mr_ = Object<ibv_mr>(region.handle, [&c, region] { return c.verbs().dereg_mr(region.handle); });
  ibv_qp_init_attr init{};
  init.send_cq = cq_.raw();
  init.recv_cq = cq_.raw();
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = type;
  c.need(c.accepted(c.verbs().cm_create_qp(id, pd_.raw(), init), "rdma_create_qp"));
}

OnId::~OnId() {
  if (id_->qp != nullptr) case_.verbs().cm_destroy_qp(id_);
}

int OnId::receive(std::uint64_t wr_id) {
  ibv_sge sge{memory_.address(), static_cast<std::uint32_t>(bytes_), mr_->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return case_.way().post_recv(id_->qp, wr, bad);
}

int OnId::send() {
  ibv_send_wr wr{};
  return post(wr, bytes_);
}

int OnId::send_to(ibv_ah* ah, std::uint32_t qp_num, std::uint32_t qkey, std::size_t length) {
  ibv_send_wr wr{};
  wr.wr.ud = {ah, qp_num, qkey};
  return post(wr, length);
}

int OnId::post(ibv_send_wr& wr, std::size_t length) {
  ibv_sge sge{memory_.address() + (bytes_ - length), static_cast<std::uint32_t>(length), mr_->lkey};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  return case_.way().post_send(id_->qp, wr, bad);
}

}  // namespace conform
