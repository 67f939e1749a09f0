// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/opening.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/device_state.hpp"
#include "fake/fake_rules.hpp"

namespace verbena {
namespace {

using fake::FakeDevice;
using fake::FakeVerbs;
using ::testing::HasSubstr;

class Opening : public ::testing::Test {
protected:
  std::shared_ptr<FakeVerbs> host = std::make_shared<FakeVerbs>();
  std::vector<LogRecord> log;
  std::shared_ptr<Library::State> library =
      fake::library_over(host, {}, [this](const LogRecord& record) { log.push_back(record); });
};

TEST_F(Opening, ProbesADeviceAndClosesItWithItsLastHandle) {
  FakeDevice& nic = host->add(fake::roce_device("nic0", 3));
  {
    const auto device = open_device(library, "nic0");
    ASSERT_TRUE(device) << to_string(device.error());
    EXPECT_EQ(nic.contexts, 1U);
    EXPECT_EQ(device->caps()[Cap::max_qp_wr], 32768U);
    EXPECT_EQ(device->caps()[Cap::max_mr_size], std::uint64_t{1} << 40);
    ASSERT_EQ(device->caps().ports.size(), 1U);
    EXPECT_EQ(device->caps().ports[0][PortCap::active_mtu], 1024U);
    EXPECT_EQ(device->caps().ports[0].gids.size(), 3U);
    EXPECT_EQ(device->caps().ports[0].gids[2].type, GidType::roce_v2);
    EXPECT_EQ(device->caps().ports[0].gids[2].netdev, "eth1");
    const auto copy = *device;
    EXPECT_EQ(copy.raw(), device->raw());
  }
  EXPECT_EQ(host->live_objects(), 0U);
}

TEST_F(Opening, AnUnknownNameIsRefusedWithTheNearest) {
  host->add(fake::roce_device("mlx_0", 1));
  host->add(fake::roce_device("rxe0", 2));
  const auto device = open_device(library, "mlx_1");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::no_device);
  EXPECT_THAT(device.error().text, HasSubstr("mlx_0, rxe0"));
  EXPECT_THAT(device.error().text, HasSubstr("did you mean 'mlx_0'"));
}

TEST_F(Opening, AHostWithoutDevicesSaysSo) {
  const auto device = open_device(library, "mlx5_0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::no_device);
  EXPECT_THAT(device.error().text, HasSubstr("no RDMA device"));
  const auto list = list_host(library);
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->empty());
}

TEST_F(Opening, WithoutIbUverbsTheListIsEmptyAndNotAnError) {
  host->device_list_error = ENOSYS;
  const auto list = list_host(library);
  ASSERT_TRUE(list) << to_string(list.error());
  EXPECT_TRUE(list->empty());
}

// F127: different causes, like messages; the first broken link of the chain is named.
TEST_F(Opening, MissingDeviceNodesAreNamed) {
  FakeDevice& nic = host->add(fake::roce_device("nic0", 1));
  nic.claimed = false;
  host->files.erase("/dev/infiniband/uverbs1");
  const auto device = open_device(library, "nic0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::no_device);
  EXPECT_THAT(device.error().text, HasSubstr("/dev/infiniband"));
  const auto list = list_host(library);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_FALSE((*list)[0].openable);
  EXPECT_THAT((*list)[0].why_not, HasSubstr("/dev/infiniband"));
}

TEST_F(Opening, PermissionDeniedNamesTheNode) {
  FakeDevice& nic = host->add(fake::roce_device("nic0", 1));
  nic.open_error = EACCES;
  host->denied["/dev/infiniband/uverbs1"] = EACCES;
  const auto device = open_device(library, "nic0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::permission);
  EXPECT_EQ(device.error().errno_value, EACCES);
  EXPECT_THAT(device.error().text, HasSubstr("/dev/infiniband/uverbs1"));
}

// F116: the vendor's kernel module speaks ABI 6, the distribution's provider 1 to 1.
TEST_F(Opening, AnAbiThatNoProviderSpeaksIsNamedWithBothNumbers) {
  FakeDevice nic = fake::roce_device("bnxt_re0", 1);
  nic.driver_id = 6;
  nic.uverbs_abi = 6;
  nic.claimed = false;
  host->add(nic);
  const auto device = open_device(library, "bnxt_re0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::no_device);
  EXPECT_THAT(device.error().text, HasSubstr("ABI 6"));
  EXPECT_THAT(device.error().text, HasSubstr("1..1"));
}

// F116's kind, the other way round: irdma's provider takes every ABI up to 5, so an old module is not at fault.
TEST_F(Opening, AnAbiThatTheProviderSpeaksIsNotBlamed) {
  FakeDevice nic = fake::roce_device("irdma0", 1);
  nic.driver_id = 9;
  nic.uverbs_abi = 3;
  nic.claimed = false;
  host->add(nic);
  const auto device = open_device(library, "irdma0");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().text, ::testing::Not(HasSubstr("ABI 3")));
  EXPECT_THAT(device.error().text, HasSubstr("ibverbs-providers"));
}

// F119: container images without ibverbs-providers.
TEST_F(Opening, AMissingProviderNamesThePackage) {
  FakeDevice nic = fake::roce_device("mlx5_0", 1);
  nic.driver_id = 1;
  nic.claimed = false;
  host->add(nic);
  const auto list = list_host(library);
  ASSERT_TRUE(list);
  EXPECT_THAT((*list)[0].why_not, HasSubstr("ibverbs-providers"));
  host->files["/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so"] = "";
  const auto again = list_host(library);
  ASSERT_TRUE(again);
  EXPECT_THAT((*again)[0].why_not, HasSubstr("mlx5.driver"));
}

TEST_F(Opening, APortThatIsDownIsRemarkedAndOpens) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.ports[0].attr.state = IBV_PORT_DOWN;
  host->add(nic);
  ASSERT_TRUE(open_device(library, "nic0"));
  ASSERT_FALSE(log.empty());
  EXPECT_THAT(log.back().text, HasSubstr("port 1 is DOWN"));
  EXPECT_EQ(log.back().level, LogLevel::info);
}

TEST_F(Opening, TheSecondOpenNeitherListsNorReadsNorAsks) {
  host->add(fake::roce_device("nic0", 1));
  const auto first = open_device(library, "nic0");
  ASSERT_TRUE(first);
  host->forget_calls();
  const auto second = open_device(library, "nic0");
  ASSERT_TRUE(second);
  EXPECT_EQ(host->total_calls(), 2U) << "one look at the entry's stamp and one open";
  EXPECT_EQ(host->count("entry_stamp"), 1U);
  EXPECT_EQ(host->count("open_device"), 1U);
  EXPECT_NE(second->raw(), first->raw());
  EXPECT_EQ(&second->caps(), &first->caps());
  EXPECT_EQ(second->counters().probe_cache_hits, 1U);
  EXPECT_EQ(first->counters().probes, 1U);
}

TEST_F(Opening, ADeviceThatWasRegisteredAnewIsProbedAnew) {
  FakeDevice& nic = host->add(fake::roce_device("nic0", 1));
  ASSERT_TRUE(open_device(library, "nic0"));
  host->register_again(nic, 9);
  nic.attr.orig_attr.max_qp_wr = 64;
  const auto device = open_device(library, "nic0");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->caps()[Cap::max_qp_wr], 64U);
  EXPECT_EQ(device->id().index, 9U);
}

// F39: "unsupported" has many errnos.
TEST_F(Opening, TheOldQueryIsTakenOnAnyErrnoOfUnsupported) {
  for (const int error : {ENOSYS, EOPNOTSUPP, EPROTONOSUPPORT, EINVAL}) {
    FakeDevice nic = fake::roce_device("nic" + std::to_string(error), static_cast<std::uint32_t>(error));
    nic.query_device_ex_error = error;
    host->add(nic);
    const auto device = open_device(library, nic.name);
    ASSERT_TRUE(device) << error;
    EXPECT_EQ(device->caps()[Cap::max_qp_wr], 32768U);
    EXPECT_FALSE(device->caps()[Cap::max_cq_count]) << "what the old query does not tell stays unknown";
  }
}

TEST_F(Opening, WithoutAGidTableEachIndexIsAsked) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.query_gid_table_error = EOPNOTSUPP;
  host->add(nic);
  const auto device = open_device(library, "nic0");
  ASSERT_TRUE(device);
  ASSERT_EQ(device->caps().ports[0].gids.size(), 3U);
  EXPECT_EQ(device->caps().ports[0].gids[2].index, 3U);
}

TEST_F(Opening, ADeviceThatGoesAwayWhileProbedIsClosedAgain) {
  FakeDevice& nic = host->add(fake::roce_device("nic0", 1));
  nic.next_errors["query_port"] = {EIO};
  const auto device = open_device(library, "nic0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::device_gone);
  EXPECT_EQ(nic.contexts, 0U);
}

TEST_F(Opening, AnAdoptedContextIsNeverClosed) {
  FakeDevice& nic = host->add(fake::roce_device("nic0", 1));
  int count = 0;
  const auto list = host->get_device_list(count);
  const auto context = host->open_device(list.handle[0]);
  host->free_device_list(list.handle);
  {
    const auto device = adopt_context(library, context.handle);
    ASSERT_TRUE(device) << to_string(device.error());
    EXPECT_EQ(device->raw(), context.handle);
    EXPECT_EQ(device->id().name, "nic0");
  }
  EXPECT_EQ(nic.contexts, 1U);
  host->close_device(context.handle);
  EXPECT_FALSE(adopt_context(library, nullptr));
}

TEST_F(Opening, TwoLibrariesKnowNothingOfEachOther) {
  host->add(fake::roce_device("nic0", 1));
  ASSERT_TRUE(open_device(library, "nic0"));
  const auto other = fake::library_over(host);
  const auto device = open_device(other, "nic0");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->counters().probes, 1U);
}

TEST_F(Opening, ADeviceOutlivesItsLibrary) {
  host->add(fake::roce_device("nic0", 1));
  auto device = open_device(library, "nic0");
  ASSERT_TRUE(device);
  library.reset();
  EXPECT_TRUE(device->contract(1));
}

}  // namespace
}  // namespace verbena
