// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <unistd.h>

#include "fake/fake_objects.hpp"

namespace verbena::fake {
namespace {

ibv_wc_opcode completion_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  FakeDevice& device = FakeContext::of(qp->context).entry->device;
  FakeQp& fake = FakeQp::of(qp);
  for (; wr != nullptr; wr = wr->next) {
    if (device.post_error != 0) {
      if (device.post_sets_bad_wr) *bad_wr = wr;
      return device.post_error;
    }
    if (!device.complete_sends || (!fake.sq_sig_all && (wr->send_flags & IBV_SEND_SIGNALED) == 0)) continue;
    ibv_wc wc{};
    wc.wr_id = wr->wr_id;
    wc.status = IBV_WC_SUCCESS;
    wc.opcode = completion_of(wr->opcode);
    wc.qp_num = qp->qp_num;
    FakeCq::of(qp->send_cq).completions.push_back(wc);
  }
  return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  FakeDevice& device = FakeContext::of(qp->context).entry->device;
  FakeQp& fake = FakeQp::of(qp);
  for (; wr != nullptr; wr = wr->next) {
    const int error = device.post_error != 0                         ? device.post_error
                      : fake.receives.size() >= fake.cap.max_recv_wr ? ENOMEM
                                                                     : 0;
    if (error != 0) {
      if (device.post_sets_bad_wr) *bad_wr = wr;
      return error;
    }
    fake.receives.push_back(wr->wr_id);
  }
  return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  FakeDevice& device = FakeContext::of(srq->context).entry->device;
  FakeSrq& fake = FakeSrq::of(srq);
  for (; wr != nullptr; wr = wr->next) {
    const int error = device.post_error != 0 ? device.post_error : fake.posted >= fake.attr.max_wr ? ENOMEM : 0;
    if (error != 0) {
      if (device.post_sets_bad_wr) *bad_wr = wr;
      return error;
    }
    ++fake.posted;
  }
  return 0;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  FakeCq& fake = FakeCq::of(cq);
  int given = 0;
  for (; given < count && !fake.completions.empty(); ++given) {
    wc[given] = fake.completions.front();
    fake.completions.pop_front();
  }
  return given;
}

int req_notify_cq(ibv_cq* cq, int) {
  return FakeContext::of(cq->context).entry->device.gone ? EIO : 0;
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  auto* mw = new ibv_mw{};
  mw->context = pd->context;
  mw->pd = pd;
  mw->type = type;
  mw->rkey = 0x77;
  return mw;
}

int bind_mw(ibv_qp*, ibv_mw* mw, ibv_mw_bind*) {
  ++mw->rkey;
  return 0;
}

int dealloc_mw(ibv_mw* mw) {
  delete mw;
  return 0;
}

}  // namespace

void ring(int descriptor) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

void silence(int descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(descriptor, &count, sizeof count);
}

void set_data_path(ibv_context_ops& ops) {
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
}

}  // namespace verbena::fake
