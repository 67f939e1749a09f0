// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/direct_verbs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "backends/backend.hpp"
#include "backends/mlx5/mlx5.hpp"
#include "fake/fake_verbs.hpp"

#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>

namespace verbena {
namespace {

using testing::HasSubstr;
using testing::Not;

fake::FakeVerbs* the_host = nullptr;
std::uint64_t asked_flags = 0, asked_ops = 0;
int create_error = 0;
bool is_mlx5 = true;

bool is_supported(ibv_device*) {
  return is_mlx5;
}

/// A libmlx5 that knows no bonds: it clears that bit.
int query_device(ibv_context*, mlx5dv_context* told) {
  told->comp_mask &= ~static_cast<std::uint64_t>(MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS);
  told->cqe_comp_caps.max_num = 64;
  told->max_dynamic_bfregs = 512;
  told->num_lag_ports = 9;
  return 0;
}

ibv_qp* create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, mlx5dv_qp_init_attr* vendor) {
  asked_flags = (vendor->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) != 0 ? vendor->create_flags : 0;
  asked_ops = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 ? attr->send_ops_flags : 0;
  if (create_error != 0) {
    errno = create_error;
    return nullptr;
  }
  return the_host->create_qp_ex(context, *attr).handle;
}

class DirectVerbs : public ::testing::Test {
protected:
  void SetUp() override {
    the_host = &host;
    asked_flags = asked_ops = 0;
    create_error = 0;
    is_mlx5 = true;
    host.add(fake::roce_device("mlx5_0", 1));
    int count = 0;
    const auto list = host.get_device_list(count);
    context = host.open_device(list.handle[0]).handle;
    host.free_device_list(list.handle);
    pd = host.alloc_pd(context).handle;
    cq = host.create_cq(context, 16, nullptr, nullptr, 0).handle;
    for (FieldGrant& field : fit.grant.fields) field.passed = 1;
  }
  void TearDown() override {
    host.destroy_cq(cq);
    host.dealloc_pd(pd);
    host.close_device(context);
  }
  void bring(const char* function, void* code) {
    host.vendor_functions[std::string("libmlx5.so.1:") + function] = code;
  }
  void bring_library() {
    bring("mlx5dv_is_supported", reinterpret_cast<void*>(&is_supported));
    bring("mlx5dv_query_device", reinterpret_cast<void*>(&query_device));
    bring("mlx5dv_create_qp", reinterpret_cast<void*>(&create_qp));
  }
  ibv_qp* create(int& error) {
    ibv_qp_cap cap{};
    return mlx5::backend().create_qp(host, {.context = context, .pd = pd, .send_cq = cq, .recv_cq = cq}, fit, cap,
                                     error);
  }
  fake::FakeVerbs host;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  Caps caps;
  QpFit fit;
};

TEST_F(DirectVerbs, TheQueryAddsWhatItAnswersAndNothingElse) {
  bring_library();
  const std::string remark = mlx5::probe_direct_verbs(host, context, caps);
  EXPECT_EQ(caps[Cap::cqe_comp_max_num], 64U);
  EXPECT_EQ(caps[Cap::max_dynamic_bfregs], 512U);
  EXPECT_FALSE(caps[Cap::num_lag_ports]) << "the library cleared the bit";
  EXPECT_EQ(caps[Cap::vendor_create_qp], 1U);
  EXPECT_THAT(remark, HasSubstr("mlx5dv_create_qp is there"));
  EXPECT_THAT(remark, HasSubstr("DevX ENOSYS"));
  EXPECT_THAT(remark, Not(HasSubstr("in_place_data")));
}

TEST_F(DirectVerbs, WithoutTheLibraryNothingIsKnownAndWhatIsLostIsSaid) {
  const std::string remark = mlx5::probe_direct_verbs(host, context, caps);
  EXPECT_EQ(caps, Caps{});
  EXPECT_THAT(remark, HasSubstr("mlx5dv is not used"));
  EXPECT_THAT(remark, HasSubstr("in_place_data"));
  EXPECT_THAT(remark, HasSubstr("max_qp_wr"));
}

TEST_F(DirectVerbs, ACopyThatDoesNotServeTheDeviceIsNotAsked) {
  bring_library();
  is_mlx5 = false;
  EXPECT_THAT(mlx5::probe_direct_verbs(host, context, caps), HasSubstr("does not serve the device"));
  EXPECT_EQ(caps, Caps{});
  fit.in_place = true;
  int error = 0;
  EXPECT_EQ(create(error), nullptr);
  EXPECT_EQ(error, EOPNOTSUPP);
}

TEST_F(DirectVerbs, AnOldLibraryWithoutTheCreationIsUsedForWhatItHas) {
  bring_library();
  host.vendor_functions.erase("libmlx5.so.1:mlx5dv_create_qp");
  EXPECT_THAT(mlx5::probe_direct_verbs(host, context, caps), HasSubstr("no in_place_data"));
  EXPECT_EQ(caps[Cap::cqe_comp_max_num], 64U);
  EXPECT_FALSE(caps[Cap::vendor_create_qp]);
}

TEST_F(DirectVerbs, AQueuePairWithItsDataInPlaceIsMadeByTheVendorsOwnCall) {
  bring_library();
  fit.in_place = true;
  int error = 0;
  ibv_qp* const qp = create(error);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(asked_flags, std::uint64_t{MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE});
  EXPECT_EQ(asked_ops, 0U);
  host.destroy_qp(qp);

  fit.declare_ops = true;
  fit.grant.ops.bits = SendOps::kSend;
  ibv_qp* const named = create(error);
  ASSERT_NE(named, nullptr);
  EXPECT_EQ(asked_ops, SendOps::kSend) << "operations are declared as by plain verbs";
  host.destroy_qp(named);
}

TEST_F(DirectVerbs, OthersAndDatagramsAreMadeByPlainVerbs) {
  bring_library();
  int error = 0;
  ibv_qp* qp = create(error);
  ASSERT_NE(qp, nullptr);
  host.destroy_qp(qp);
  fit.in_place = true;
  fit.grant.type = QpType::ud;
  qp = create(error);
  ASSERT_NE(qp, nullptr);
  host.destroy_qp(qp);
  EXPECT_EQ(asked_flags, 0U);
}

TEST_F(DirectVerbs, ARefusalKeepsTheLibrarysErrnoAndNothingElseIsTried) {
  bring_library();
  fit.in_place = true;
  create_error = ENOMEM;
  int error = 0;
  EXPECT_EQ(create(error), nullptr);
  EXPECT_EQ(error, ENOMEM);
  EXPECT_EQ(host.count("create_qp") + host.count("create_qp_ex"), 0U);
}

TEST_F(DirectVerbs, WithoutTheLibraryNoQueuePairStandsInThatWouldDoOtherwise) {
  fit.in_place = true;
  int error = 0;
  EXPECT_EQ(create(error), nullptr);
  EXPECT_EQ(error, EOPNOTSUPP);
  EXPECT_TRUE(host.live_qps().empty());
}

}  // namespace
}  // namespace verbena
#endif
