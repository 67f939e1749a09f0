// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/real_verbs.hpp"
#include "verbs/verb_outcome.hpp"

namespace verbena {

Made<ibv_pd> RealVerbs::alloc_pd(ibv_context* context) {
  return made([&] { return ibv_alloc_pd(context); });
}

int RealVerbs::dealloc_pd(ibv_pd* pd) {
  return outcome([&] { return ibv_dealloc_pd(pd); });
}

Made<ibv_pd> RealVerbs::alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) {
  return made([&] { return ibv_alloc_parent_domain(context, &attr); });
}

Made<ibv_td> RealVerbs::alloc_td(ibv_context* context, ibv_td_init_attr& attr) {
  return made([&] { return ibv_alloc_td(context, &attr); });
}

int RealVerbs::dealloc_td(ibv_td* td) {
  return outcome([&] { return ibv_dealloc_td(td); });
}

// ibv_reg_mr and ibv_reg_mr_iova are macros: with optional access flags they take ibv_reg_mr_iova2, which strips those
// flags for kernels that don't know them.
Made<ibv_mr> RealVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) {
  return made([&] { return ibv_reg_mr(pd, address, length, access); });
}

Made<ibv_mr> RealVerbs::reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                    unsigned access) {
  return made([&] { return ibv_reg_mr_iova(pd, address, length, iova, access); });
}

Made<ibv_mr> RealVerbs::reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                                      unsigned access) {
  return made([&] { return ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, static_cast<int>(access)); });
}

Made<ibv_mr> RealVerbs::alloc_null_mr(ibv_pd* pd) {
  return made([&] { return ibv_alloc_null_mr(pd); });
}

int RealVerbs::rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
                        int& code) {
  errno = 0;
  code = ibv_rereg_mr(mr, flags, pd, address, length, static_cast<int>(access));
  const int error = errno;
  if (code == 0) return 0;
  return error != 0 ? error : EINVAL;
}

int RealVerbs::dereg_mr(ibv_mr* mr) {
  return outcome([&] { return ibv_dereg_mr(mr); });
}

int RealVerbs::advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                         std::uint32_t count) {
  return outcome([&] { return ibv_advise_mr(pd, advice, flags, list, count); });
}

Made<ibv_mw> RealVerbs::alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  return made([&] { return ibv_alloc_mw(pd, type); });
}

int RealVerbs::dealloc_mw(ibv_mw* mw) {
  return outcome([&] { return ibv_dealloc_mw(mw); });
}

Made<ibv_comp_channel> RealVerbs::create_comp_channel(ibv_context* context) {
  return made([&] { return ibv_create_comp_channel(context); });
}

int RealVerbs::destroy_comp_channel(ibv_comp_channel* channel) {
  return outcome([&] { return ibv_destroy_comp_channel(channel); });
}

Made<ibv_cq> RealVerbs::create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                  int comp_vector) {
  return made([&] { return ibv_create_cq(context, cqe, cq_context, channel, comp_vector); });
}

Made<ibv_cq_ex> RealVerbs::create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) {
  return made([&] { return ibv_create_cq_ex(context, &attr); });
}

int RealVerbs::resize_cq(ibv_cq* cq, int cqe) {
  return outcome([&] { return ibv_resize_cq(cq, cqe); });
}

int RealVerbs::modify_cq(ibv_cq* cq, ibv_modify_cq_attr& attr) {
  return outcome([&] { return ibv_modify_cq(cq, &attr); });
}

int RealVerbs::destroy_cq(ibv_cq* cq) {
  return outcome([&] { return ibv_destroy_cq(cq); });
}

int RealVerbs::get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  return outcome([&] { return ibv_get_cq_event(channel, cq, cq_context); });
}

void RealVerbs::ack_cq_events(ibv_cq* cq, unsigned count) {
  ibv_ack_cq_events(cq, count);
}

Made<ibv_srq> RealVerbs::create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) {
  return made([&] { return ibv_create_srq(pd, &attr); });
}

Made<ibv_srq> RealVerbs::create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) {
  return made([&] { return ibv_create_srq_ex(context, &attr); });
}

int RealVerbs::modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) {
  return outcome([&] { return ibv_modify_srq(srq, &attr, mask); });
}

int RealVerbs::query_srq(ibv_srq* srq, ibv_srq_attr& attr) {
  return outcome([&] { return ibv_query_srq(srq, &attr); });
}

int RealVerbs::destroy_srq(ibv_srq* srq) {
  return outcome([&] { return ibv_destroy_srq(srq); });
}

Made<ibv_qp> RealVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  return made([&] { return ibv_create_qp(pd, &attr); });
}

Made<ibv_qp> RealVerbs::create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) {
  return made([&] { return ibv_create_qp_ex(context, &attr); });
}

int RealVerbs::modify_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask) {
  return outcome([&] { return ibv_modify_qp(qp, &attr, mask); });
}

int RealVerbs::query_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) {
  return outcome([&] { return ibv_query_qp(qp, &attr, mask, &init); });
}

int RealVerbs::query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  return ibv_query_qp_data_in_order(qp, opcode, flags);
}

int RealVerbs::destroy_qp(ibv_qp* qp) {
  return outcome([&] { return ibv_destroy_qp(qp); });
}

int RealVerbs::query_ece(ibv_qp* qp, ibv_ece& ece) {
  return outcome([&] { return ibv_query_ece(qp, &ece); });
}

int RealVerbs::set_ece(ibv_qp* qp, ibv_ece& ece) {
  return outcome([&] { return ibv_set_ece(qp, &ece); });
}

int RealVerbs::attach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) {
  return outcome([&] { return ibv_attach_mcast(qp, &gid, lid); });
}

int RealVerbs::detach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) {
  return outcome([&] { return ibv_detach_mcast(qp, &gid, lid); });
}

Made<ibv_ah> RealVerbs::create_ah(ibv_pd* pd, ibv_ah_attr& attr) {
  return made([&] { return ibv_create_ah(pd, &attr); });
}

Made<ibv_ah> RealVerbs::create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) {
  return made([&] { return ibv_create_ah_from_wc(pd, &wc, grh, port); });
}

int RealVerbs::init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh, ibv_ah_attr& attr) {
  return outcome([&] { return ibv_init_ah_from_wc(context, port, &wc, grh, &attr); });
}

int RealVerbs::destroy_ah(ibv_ah* ah) {
  return outcome([&] { return ibv_destroy_ah(ah); });
}

int RealVerbs::resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                                       std::uint16_t* vlan) {
  return outcome([&] { return ibv_resolve_eth_l2_from_gid(context, &attr, mac, vlan); });
}

}  // namespace verbena
