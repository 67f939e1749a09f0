// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/srq/pool.hpp"

#include "verbena/errno_family.hpp"

namespace conform {

Pool::Pool(Case& c, ibv_srq_attr asked)
    : case_(c),
      pd_(c.made(c.other_way().pd(), "ibv_alloc_pd")),
      memory_(kSlots * kSlotBytes, c.verbs().page_size()),
      mr_(c.made(c.other_way().mr(pd_.raw(), {.address = memory_.data(), .length = memory_.size()}), "ibv_reg_mr")),
      srq_(c.made(c.other_way().srq(pd_.raw(), asked, &returned_), "ibv_create_srq")) {}

ibv_sge Pool::sge(std::size_t index, std::size_t length) const noexcept {
  return {memory_.address() + index % kSlots * kSlotBytes, static_cast<std::uint32_t>(length), mr_->lkey};
}

int Pool::post(ibv_recv_wr& list, ibv_recv_wr*& bad) const {
  return verbena::normalise_errno(srq_->context->ops.post_srq_recv(srq_.raw(), &list, &bad));
}

int Pool::receive(std::uint64_t wr_id) const {
  ibv_sge one = sge(wr_id);
  ibv_recv_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &one;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return post(wr, bad);
}

void Pool::fill(std::uint32_t count, std::uint64_t first) const {
  for (std::uint32_t index = 0; index < count; ++index) {
    case_.need(case_.accepted(receive(first + index), "ibv_post_srq_recv"));
  }
}

bool message(Case& c, Loop& loop, std::uint64_t wr_id) {
  return c.accepted(loop.send(loop.a(), wr_id, 0, kMessageBytes), "ibv_post_send") &&
         c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send");
}

void consume(Case& c, Loop& loop, std::uint32_t count) {
  for (std::uint32_t index = 0; index < count; ++index) {
    c.need(message(c, loop));
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  }
}

}  // namespace conform
