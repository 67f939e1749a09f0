// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every model in this build, as a live NIC.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "unit/shipped_nics.hpp"
#include "verbena/cq.hpp"
#include "verbena/library.hpp"
#include "verbena/pd.hpp"
#include "verbena/qp.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {
namespace {

Library library_of(const Model& model) {
  EmulatedOptions nics;
  nics.models.push_back(model);
  LibraryOptions options;
  options.verbs = emulated_verbs(std::move(nics));
  options.settings.emplace();
  options.layers = default_layers({}, false);
  std::erase_if(options.layers, [](const LayerSource& layer) { return layer.kind != LayerKind::builtin; });
  auto library = Library::create(std::move(options));
  if (!library) throw std::runtime_error(to_string(library.error()));
  return *std::move(library);
}

class EachModel : public ::testing::TestWithParam<std::string> {};

TEST_P(EachModel, IsWhoTheModelSays) {
  const Model model = shipped::model(GetParam());
  const Library library = library_of(model);
  const auto device = library.open(GetParam());
  ASSERT_TRUE(device) << to_string(device.error());
  const DeviceId& id = device->id();
  EXPECT_EQ(id.driver, model.device.driver);
  EXPECT_EQ(id.pci_vendor, model.device.pci_vendor);
  if (model.device.pci_vendor) {
    EXPECT_EQ(id.part_id, model.device.part_id);
  }
  EXPECT_EQ(id.pci_revision, model.device.pci_revision);
  EXPECT_EQ(id.kernel, model.device.kernel);
  EXPECT_EQ(id.rdma_core, model.device.rdma_core);
  ASSERT_EQ(id.ports.size(), model.device.ports.size());
  for (std::size_t port = 0; port < id.ports.size(); ++port) {
    EXPECT_EQ(id.ports[port].transport, model.device.ports[port].transport);
  }
  // What the model knows, the device says. Vendor queries need the vendor's library.
  for (const Cap cap : all_caps()) {
    if (cap >= Cap::max_send_wqebb || cap == Cap::max_inline_data || cap == Cap::max_send_sge ||
        cap == Cap::max_recv_sge || !model.caps[cap]) {
      continue;
    }
    const std::uint64_t known = *model.caps[cap];
    const std::uint64_t said = device->caps()[cap].value_or(0);
    EXPECT_TRUE(said == known || said == std::min<std::uint64_t>(known, INT32_MAX)) << name(cap) << " " << said;
  }
}

/// A queue pair of which nothing special is asked is made, and the device has what was granted of it.
TEST_P(EachModel, MakesWhatTheFitPromises) {
  const Library library = library_of(shipped::model(GetParam()));
  const auto device = library.open(GetParam());
  ASSERT_TRUE(device) << to_string(device.error());
  const auto contract = device->contract(1);
  ASSERT_TRUE(contract);
  if (shipped::makes_none(**contract) || !(*contract)->native(Feature::rc)) GTEST_SKIP() << "it has no RC queue pair";
  auto pd = Pd::alloc(*device);
  ASSERT_TRUE(pd) << to_string(pd.error());
  auto cq = Cq::create(*device, CqRequest{.cqe = {.want = 64}});
  ASSERT_TRUE(cq) << to_string(cq.error());
  for (const std::uint32_t depth : {1U, 100U, 1000U}) {
    QpRequest request;
    request.max_send_wr = {.want = depth};
    request.max_recv_wr = {.want = depth};
    request.max_send_sge = {.want = 3};
    auto qp = Qp::create(*pd, request, {.send_cq = &*cq});
    ASSERT_TRUE(qp) << to_string(qp.error());
    const auto now = qp->query();
    ASSERT_TRUE(now) << to_string(now.error());
    EXPECT_GE(now->init.cap.max_send_wr, qp->grant().max_send_wr().granted);
    EXPECT_GE(now->init.cap.max_recv_wr, qp->grant().max_recv_wr().granted);
    EXPECT_GE(now->init.cap.max_send_sge, qp->grant().max_send_sge().granted);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, EachModel, ::testing::ValuesIn(builtin_models()), [](const auto& one) {
  std::string name = one.param;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
});

}  // namespace
}  // namespace verbena::emulator
