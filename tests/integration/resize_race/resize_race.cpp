// SPDX-License-Identifier: Apache-2.0 OR MIT
// resize_race -d DEVICE: is a completion queue that holds more than the wish refused to shrink? Two ways of asking: at
// once after the sends were posted, as test_resize_cq of pyverbs did before rdma-core 197d1a40a5e6, and when their
// completions have had time to come. Only the second one says something of the device: what was posted may not have
// completed yet: rxe of Linux 6.12 works in a kernel thread, that of 6.1 within the post (sw/rxe/rxe_task.c). Exit
// codes: 0 the second way is refused each time, 1 it isn't, 2 usage, 77 the device can't be asked.
#include <infiniband/verbs.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

constexpr int kRounds = 40;
constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kBytes = 16;

template <class T>
T* must(T* made, const char* what) {
  if (made != nullptr) return made;
  std::printf("FAILED %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void must(int error, const char* what) {
  if (error == 0) return;
  std::printf("FAILED %s: %s\n", what, std::strerror(error));
  std::exit(1);
}

ibv_context* open(std::string_view name) {
  int count = 0;
  ibv_device** list = must(ibv_get_device_list(&count), "ibv_get_device_list");
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i) {
    if (name == ibv_get_device_name(list[i])) context = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  return must(context, "ibv_open_device");
}

void to_rts(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = kQkey;
  must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "INIT");
  attr.qp_state = IBV_QPS_RTR;
  must(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
  attr.qp_state = IBV_QPS_RTS;
  must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

/// One queue, all but one of its entries on the way or in it, and the errno of a shrinking to one entry.
int shrink_errno(ibv_context* context, ibv_pd* pd, const ibv_mr* mr, ibv_ah* ah, bool wait) {
  ibv_cq* cq = must(ibv_create_cq(context, 3, nullptr, nullptr, 0), "ibv_create_cq");
  must(ibv_resize_cq(cq, 7), "ibv_resize_cq to 7");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {64, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_UD;
  init.sq_sig_all = 1;
  ibv_qp* qp = must(ibv_create_qp(pd, &init), "ibv_create_qp");
  to_rts(qp);
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(mr->addr), kBytes, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {ah, 1, kQkey};
  for (int i = 0; i < cq->cqe - 1; ++i) {
    ibv_send_wr* bad = nullptr;
    must(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
  }
  if (wait) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int error = ibv_resize_cq(cq, 1);
  if (!wait) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // what is on the way is destroyed with it
  must(ibv_destroy_qp(qp), "ibv_destroy_qp");
  must(ibv_destroy_cq(cq), "ibv_destroy_cq");
  return error;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "-d") {
    std::fprintf(stderr, "usage: resize_race -d DEVICE\n");
    return 2;
  }
  ibv_context* context = open(argv[2]);
  ibv_pd* pd = must(ibv_alloc_pd(context), "ibv_alloc_pd");
  alignas(64) static unsigned char bytes[64];
  const int access = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* mr = must(ibv_reg_mr(pd, bytes, sizeof bytes, access), "ibv_reg_mr");
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.hop_limit = 64;
  must(ibv_query_gid(context, 1, 0, &address.grh.dgid) != 0 ? errno : 0, "ibv_query_gid");
  ibv_ah* ah = ibv_create_ah(pd, &address);
  if (ah == nullptr) {
    std::printf("skipped: %s has no address handles, so no datagrams\n", argv[2]);
    return 77;
  }
  int taken_at_once = 0;
  int taken_later = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (shrink_errno(context, pd, mr, ah, false) == 0) ++taken_at_once;
    if (const int error = shrink_errno(context, pd, mr, ah, true); error != EINVAL) ++taken_later;
  }
  std::printf("%s: asked at once, %d of %d shrinkings were taken; after the completions had come, %d of %d\n", argv[2],
              taken_at_once, kRounds, taken_later, kRounds);
  ibv_destroy_ah(ah);
  ibv_dereg_mr(mr);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  return taken_later == 0 ? 0 : 1;
}
