// SPDX-License-Identifier: Apache-2.0 OR MIT
// Faults that the core has a remedy for: a caller of plain verbs who believes what the device says is bitten, and the
// same wish through Verbena is not.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "unit/shipped_nics.hpp"
#include "verbena/cq.hpp"
#include "verbena/library.hpp"
#include "verbena/pd.hpp"
#include "verbena/post.hpp"
#include "verbena/qp.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {
namespace {

/// One emulated NIC, for both callers.
struct Bench {
  explicit Bench(const std::string& model, const std::string& fault = {}) {
    EmulatedOptions nics;
    nics.models.push_back(shipped::model(model));
    if (!fault.empty()) nics.faults.push_back(*parse_fault(fault));
    verbs = emulated_verbs(std::move(nics));
    LibraryOptions options;
    options.verbs = verbs;
    options.settings.emplace();
    options.layers = default_layers({}, false);
    std::erase_if(options.layers, [](const LayerSource& layer) { return layer.kind != LayerKind::builtin; });
    library.emplace(*Library::create(std::move(options)));
    device.emplace(*library->open(model.substr(0, model.find('@'))));
    context = device->raw();
    verbs->query_device(context, declared);
  }

  /// A queue pair of plain verbs; false where it is refused.
  bool naive_qp(ibv_qp_cap& cap) {
    const auto pd = verbs->alloc_pd(context);
    const auto cq = verbs->create_cq(context, 16, nullptr, nullptr, 0);
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq.handle;
    attr.qp_type = IBV_QPT_RC;
    attr.cap = cap;
    const auto qp = verbs->create_qp(pd.handle, attr);
    cap = attr.cap;
    if (qp) verbs->destroy_qp(qp.handle);
    verbs->destroy_cq(cq.handle);
    verbs->dealloc_pd(pd.handle);
    return static_cast<bool>(qp);
  }
  /// The same wish through Verbena.
  Result<Qp> fitted_qp(const ibv_qp_cap& cap) {
    auto pd = Pd::alloc(*device);
    auto cq = Cq::create(*device, CqRequest{.cqe = {.want = 16}});
    QpRequest request;
    request.max_send_wr = {.want = cap.max_send_wr};
    request.max_recv_wr = {.want = cap.max_recv_wr};
    request.max_send_sge = {.want = cap.max_send_sge};
    request.max_recv_sge = {.want = cap.max_recv_sge};
    request.max_inline_data = {.want = cap.max_inline_data};
    return Qp::create(*pd, request, {.send_cq = &*cq});
  }

  std::shared_ptr<Verbs> verbs;
  std::optional<Library> library;
  std::optional<Device> device;
  ibv_context* context = nullptr;
  ibv_device_attr declared{};
};

TEST(NaiveCaller, IsRefusedTheDeclaredDepthAndThroughVerbenaGetsWhatIsThere) {
  for (const std::string& model : {std::string("bnxt-thor@kernel-6.1"), std::string("liar")}) {
    Bench bench(model);
    ibv_qp_cap cap{static_cast<std::uint32_t>(bench.declared.max_qp_wr), 16, 1, 1, 0};
    EXPECT_FALSE(bench.naive_qp(cap)) << model;
    const auto qp = bench.fitted_qp({static_cast<std::uint32_t>(bench.declared.max_qp_wr), 16, 1, 1, 0});
    ASSERT_TRUE(qp) << model << ": " << to_string(qp.error());
    EXPECT_LT(qp->grant().max_send_wr().granted, static_cast<std::uint64_t>(bench.declared.max_qp_wr));
  }
}

TEST(NaiveCaller, IsRefusedTheDeclaredCqAndThroughVerbenaGetsOneLess) {
  Bench bench("e810-roce@kernel-5.15");
  EXPECT_FALSE(bench.verbs->create_cq(bench.context, bench.declared.max_cqe, nullptr, nullptr, 0));
  const auto cq =
      Cq::create(*bench.device, CqRequest{.cqe = {.want = static_cast<std::uint32_t>(bench.declared.max_cqe)}});
  ASSERT_TRUE(cq) << to_string(cq.error());
}

TEST(NaiveCaller, IsGrantedInlineBytesThatAreLostAndThroughVerbenaThoseThatAreHeld) {
  Bench bench("liar");
  ibv_qp_cap cap{16, 16, 1, 1, 90};
  ASSERT_TRUE(bench.naive_qp(cap));
  EXPECT_GE(cap.max_inline_data, 90U);  // and zeros go in place of those behind the 32nd
  const auto qp = bench.fitted_qp({16, 16, 1, 1, 90});
  ASSERT_TRUE(qp) << to_string(qp.error());
  EXPECT_EQ(qp->grant().max_inline_data().granted, 32U);
}

TEST(NaiveCaller, BelievesInWindowsThatNobodyMakesAndVerbenaDoesNot) {
  for (const std::string& model : {std::string("bnxt-thor"), std::string("liar"), std::string("t6")}) {
    Bench bench(model);
    ASSERT_NE(bench.declared.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0U) << model;
    const auto pd = bench.verbs->alloc_pd(bench.context);
    EXPECT_FALSE(bench.verbs->alloc_mw(pd.handle, IBV_MW_TYPE_1)) << model;
    EXPECT_EQ(bench.verbs->dealloc_pd(pd.handle), 0);
    EXPECT_EQ((*bench.device->contract(1))->feature(Feature::memory_window_1).support, Support::absent) << model;
  }
}

TEST(NaiveCaller, TakesANegativeErrnoForSuccessAndVerbenaGivesAPositiveOne) {
  Bench bench("strict", "negative_errno");
  auto qp = bench.fitted_qp({16, 16, 1, 1, 0});
  ASSERT_TRUE(qp) << to_string(qp.error());
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  EXPECT_LT(bench.context->ops.post_send(qp->raw(), &wr, &bad), 0);  // in RESET
  EXPECT_GT(post_send(qp->raw(), &wr).error, 0);
}

TEST(FaultsFromOutside, StandInPlaceOfTheModelsOwnAndOtherModelsKeepTheirs) {
  Bench bench("strict", "max_qp_not_reached:made=1");
  ibv_qp_cap cap{1, 1, 1, 1, 0};
  EXPECT_TRUE(bench.naive_qp(cap));
  const auto pd = bench.verbs->alloc_pd(bench.context);
  const auto cq = bench.verbs->create_cq(bench.context, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = cq.handle;
  attr.qp_type = IBV_QPT_RC;
  attr.cap = cap;
  const auto first = bench.verbs->create_qp(pd.handle, attr);
  ASSERT_TRUE(first);
  const auto second = bench.verbs->create_qp(pd.handle, attr);
  EXPECT_FALSE(second);
  EXPECT_EQ(second.error, ENOMEM);
  EXPECT_EQ(bench.verbs->destroy_qp(first.handle), 0);
  EXPECT_EQ(bench.verbs->destroy_cq(cq.handle), 0);
  EXPECT_EQ(bench.verbs->dealloc_pd(pd.handle), 0);
}

}  // namespace
}  // namespace verbena::emulator
