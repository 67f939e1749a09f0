// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>
#include <cerrno>

#include <gtest/gtest.h>

#include "verbena/post.hpp"

namespace verbena {
namespace {

// A provider whose post functions do what the test says.
struct Provider {
  ibv_context context{};
  ibv_qp qp{};
  ibv_srq srq{};
  ibv_cq cq{};

  static inline int returned = 0;
  enum class Bad { unset, null, second };
  static inline Bad bad = Bad::unset;

  template <class Wr>
  static int answer(Wr* list, Wr** refused) {
    if (bad == Bad::null) *refused = nullptr;
    if (bad == Bad::second) *refused = list->next;
    return returned;
  }
  Provider() {
    context.ops.post_send = [](ibv_qp*, ibv_send_wr* list, ibv_send_wr** refused) { return answer(list, refused); };
    context.ops.post_recv = [](ibv_qp*, ibv_recv_wr* list, ibv_recv_wr** refused) { return answer(list, refused); };
    context.ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr* list, ibv_recv_wr** refused) {
      return answer(list, refused);
    };
    context.ops.poll_cq = [](ibv_cq*, int count, ibv_wc* wc) {
      wc[0].wr_id = 77;
      return count == 4 ? 1 : -1;
    };
    qp.context = srq.context = cq.context = &context;
    returned = 0;
    bad = Bad::unset;
  }
};

struct TwoSends {
  ibv_send_wr first{}, second{};
  TwoSends() { first.next = &second; }
};

TEST(Post, ErrnoIsPositiveWhateverSignTheDriverReturns) {
  Provider provider;
  TwoSends sends;
  ibv_recv_wr recv{};
  for (const int sign : {1, -1}) {
    Provider::returned = sign * ENOMEM;
    EXPECT_EQ(post_send(&provider.qp, &sends.first).error, ENOMEM);
    EXPECT_EQ(post_recv(&provider.qp, &recv).error, ENOMEM);
    EXPECT_EQ(post_srq_recv(&provider.srq, &recv).error, ENOMEM);
  }
  Provider::returned = 0;
  EXPECT_TRUE(post_send(&provider.qp, &sends.first));
}

TEST(Post, BadIsTheHeadWhenTheDriverLeavesItUnset) {
  Provider provider;
  Provider::returned = -ENOMEM;
  ibv_recv_wr recv{};
  EXPECT_EQ(post_srq_recv(&provider.srq, &recv).bad, &recv);
  TwoSends sends;
  EXPECT_EQ(post_send(&provider.qp, &sends.first).bad, &sends.first);
}

TEST(Post, BadIsWhatTheDriverSaysWhenItSaysSo) {
  Provider provider;
  Provider::returned = EINVAL;
  Provider::bad = Provider::Bad::second;
  TwoSends sends;
  EXPECT_EQ(post_send(&provider.qp, &sends.first).bad, &sends.second);
}

TEST(Post, PollHandsOverWhatTheDriverGives) {
  Provider provider;
  std::array<ibv_wc, 4> completions{};
  EXPECT_EQ(poll(&provider.cq, 4, completions.data()), 1);
  EXPECT_EQ(completions[0].wr_id, 77U);
  EXPECT_LT(poll(&provider.cq, 1, completions.data()), 0);
}

QpGrant granted(std::uint32_t send_sge, std::uint32_t recv_sge, std::uint32_t inline_data) {
  QpGrant grant;
  grant.fields[2].granted = send_sge;
  grant.fields[3].granted = recv_sge;
  grant.fields[4].granted = inline_data;
  return grant;
}

TEST(PostFault, OutOfMemoryIsAFullQueueUnlessTheRequestItselfIsTooBig) {
  const QpGrant grant = granted(4, 2, 16);
  ibv_send_wr wr{};
  wr.num_sge = 4;
  EXPECT_EQ(post_fault(PostSendResult{ENOMEM, &wr}, grant), PostFault::queue_full);
  wr.num_sge = 5;
  EXPECT_EQ(post_fault(PostSendResult{ENOMEM, &wr}, grant), PostFault::too_many_sges);
  EXPECT_EQ(post_fault(PostSendResult{EINVAL, &wr}, grant), PostFault::too_many_sges);
  ibv_recv_wr recv{};
  recv.num_sge = 3;
  EXPECT_EQ(post_fault(PostRecvResult{ENOMEM, &recv}, grant), PostFault::too_many_sges);
  recv.num_sge = 2;
  EXPECT_EQ(post_fault(PostRecvResult{ENOMEM, &recv}, grant), PostFault::queue_full);
}

TEST(PostFault, InlineBytesAreSummedOverAllSges) {
  const QpGrant grant = granted(4, 1, 16);
  std::array<ibv_sge, 2> sges{};
  sges[0].length = 10;
  sges[1].length = 7;
  ibv_send_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = 2;
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(post_fault(PostSendResult{EINVAL, &wr}, grant), PostFault::inline_too_long);
  sges[1].length = 6;
  EXPECT_EQ(post_fault(PostSendResult{EINVAL, &wr}, grant), PostFault::invalid);
}

TEST(PostFault, ErrnosThatMeanOneThingAreOneFamily) {
  const QpGrant grant = granted(1, 1, 0);
  EXPECT_EQ(post_fault(PostSendResult{}, grant), PostFault::none);
  EXPECT_EQ(post_fault(PostSendResult{EOPNOTSUPP, nullptr}, grant), PostFault::unsupported);
  EXPECT_EQ(post_fault(PostSendResult{ENOSYS, nullptr}, grant), PostFault::unsupported);
  EXPECT_EQ(post_fault(PostSendResult{EIO, nullptr}, grant), PostFault::qp_failed);
  EXPECT_EQ(post_fault(PostSendResult{EPERM, nullptr}, grant), PostFault::other);
}

}  // namespace
}  // namespace verbena
