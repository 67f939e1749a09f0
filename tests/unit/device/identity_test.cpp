// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/identity.hpp"

#include <gtest/gtest.h>

#include "device/driver_names.hpp"
#include "fake/fake_verbs.hpp"

namespace verbena {
namespace {

using fake::FakeDevice;
using fake::FakeVerbs;

class Identity : public ::testing::Test {
protected:
  DeviceId of(const FakeDevice& device) {
    return identify(host, read_host_facts(host), device.name, device.index, device.node_guid);
  }
  FakeVerbs host;
};

TEST_F(Identity, NetlinkIsAskedForTheDriverFirst) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.driver_id = 12;
  nic.pci_vendor = 0x19e5;
  nic.pci_device = 0xa222;
  nic.driver_link = "something_else";
  const DeviceId id = of(host.add(nic));
  EXPECT_EQ(id.driver, "hns");
  EXPECT_EQ(id.driver_found_by, DriverFoundBy::netlink);
}

TEST_F(Identity, TheKernelsFirstDeviceHasIndexZero) {
  FakeDevice nic = fake::roce_device("rxe0", 0);
  nic.driver_id = 14;
  const DeviceId id = of(host.add(nic));
  EXPECT_EQ(id.index, 0U);
  EXPECT_EQ(id.driver_found_by, DriverFoundBy::netlink);
}

TEST_F(Identity, WithoutNetlinkTheParentDriverTells) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.pci_vendor = 0x8086;
  nic.pci_device = 0x1592;
  nic.driver_link = "ice";
  host.netlink_error = EPERM;
  const DeviceId id = of(host.add(nic));
  EXPECT_EQ(id.driver, "irdma");
  EXPECT_EQ(id.driver_found_by, DriverFoundBy::sysfs_driver_link);
}

TEST_F(Identity, TheProviderTellsTheDriverWhereNothingElseDoes) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.provider = "/usr/lib/libibverbs/libnewnic-rdmav34.so";
  FakeDevice& added = host.add(nic);
  DeviceId id = of(added);
  EXPECT_EQ(id.driver, "");
  int count = 0;
  const auto list = host.get_device_list(count);
  const auto context = host.open_device(list.handle[0]);
  identify_opened(host, context.handle, id);
  EXPECT_EQ(id.driver, "newnic");
  EXPECT_EQ(id.driver_found_by, DriverFoundBy::provider_library);
  EXPECT_EQ(id.provider, nic.provider);
  host.close_device(context.handle);
  host.free_device_list(list.handle);
}

TEST_F(Identity, PciNumbersComeFromSysfs) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.pci_vendor = 0x19e5;
  nic.pci_device = 0xa222;
  nic.pci_revision = 0x30;
  nic.subsystem_vendor = 0x1bd4;
  nic.subsystem_device = 0x00aa;
  const DeviceId id = of(host.add(nic));
  EXPECT_EQ(id.pci_vendor, 0x19e5U);
  EXPECT_EQ(id.part_id, 0xa222U);
  EXPECT_EQ(id.pci_revision, 0x30U);
  EXPECT_EQ(id.subsystem_vendor, 0x1bd4U);
  EXPECT_EQ(id.subsystem_device, 0x00aaU);
  EXPECT_EQ(id.function, Function::pf);
}

TEST_F(Identity, AVirtualFunctionIsTold) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.pci_vendor = 0x15b3;
  nic.pci_device = 0x101e;
  nic.virtual_function = true;
  EXPECT_EQ(of(host.add(nic)).function, Function::vf);
}

TEST_F(Identity, ASoftwareDeviceDoesNotTakeTheNumbersOfTheCardBeneath) {
  FakeDevice nic = fake::roce_device("rxe0", 1);
  nic.driver_id = 14;
  nic.pci_vendor = 0x19e5;
  nic.pci_device = 0x1822;
  const DeviceId id = of(host.add(nic));
  EXPECT_EQ(id.driver, "rxe");
  EXPECT_FALSE(id.pci_vendor);
  EXPECT_EQ(id.function, Function::unknown);
}

TEST_F(Identity, TransportComesFromNodeTypeAndLinkLayer) {
  const DeviceId roce = of(host.add(fake::roce_device("a", 1)));
  ASSERT_EQ(roce.ports.size(), 1U);
  EXPECT_EQ(roce.ports[0].transport, Transport::roce_v2);
  EXPECT_EQ(roce.ports[0].netdev, "eth1");
  EXPECT_EQ(of(host.add(fake::iwarp_device("b", 2))).ports[0].transport, Transport::iwarp);
  FakeDevice ib = fake::roce_device("c", 3);
  ib.ports[0].attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
  EXPECT_EQ(of(host.add(ib)).ports[0].transport, Transport::infiniband);
  FakeDevice other = fake::roce_device("d", 4);
  other.node_type = "7: unspecified";
  EXPECT_EQ(of(host.add(other)).ports[0].transport, Transport::unspecified);
}

TEST_F(Identity, AnOutOfTreeModuleIsTold) {
  FakeDevice nic = fake::roce_device("nic0", 1);
  nic.driver_id = 1;
  host.files["/sys/module/mlx5_ib/taint"] = "OE";
  host.files["/sys/module/mlx5_ib/version"] = "24.10-1.1.4";
  const FakeDevice& added = host.add(nic);
  EXPECT_EQ(of(added).out_of_tree, true);
  EXPECT_EQ(of(added).module_version, "24.10-1.1.4");
  host.files["/sys/module/mlx5_ib/taint"] = "";
  EXPECT_EQ(of(added).out_of_tree, false);
  host.files.erase("/sys/module/mlx5_ib/taint");
  EXPECT_FALSE(of(added).out_of_tree.has_value());
}

TEST_F(Identity, ABondedPortIsTold) {
  const FakeDevice& nic = host.add(fake::roce_device("nic0", 1));
  EXPECT_EQ(of(nic).bond, false);
  host.files["/sys/class/net/eth1/master/bonding/mode"] = "802.3ad 4";
  EXPECT_EQ(of(nic).bond, true);
}

TEST_F(Identity, TheHostIsPartOfIt) {
  host.page = 64U << 10;
  host.host = {"6.12.117+deb12-arm64", "aarch64"};
  const DeviceId id = of(host.add(fake::roce_device("nic0", 1)));
  EXPECT_EQ(id.page_size, 65536U);
  EXPECT_EQ(id.kernel, "6.12.117+deb12-arm64");
  EXPECT_EQ(id.arch, "aarch64");
  EXPECT_EQ(id.rdma_core, "44.0");
  EXPECT_EQ(id.hypervisor, "");
  EXPECT_EQ(id.uverbs_abi, 1U);
}

TEST_F(Identity, AHypervisorNeedsTheProcessorsWordOnX86) {
  host.files["/sys/class/dmi/id/sys_vendor"] = "Amazon EC2";
  host.files["/proc/cpuinfo"] = "processor\t: 0\nflags\t\t: fpu vme\n";
  EXPECT_EQ(read_host_facts(host).hypervisor, "") << "a bare-metal instance";
  host.files["/proc/cpuinfo"] = "processor\t: 0\nflags\t\t: fpu hypervisor\n";
  EXPECT_EQ(read_host_facts(host).hypervisor, "amazon");
  host.files["/sys/class/dmi/id/sys_vendor"] = "QEMU";
  EXPECT_EQ(read_host_facts(host).hypervisor, "qemu");
  host.files["/sys/class/dmi/id/sys_vendor"] = "Acme";
  EXPECT_EQ(read_host_facts(host).hypervisor, "other");
}

struct AbiRange {
  const char* driver;
  std::optional<std::uint32_t> oldest, newest;
  std::uint32_t kernel;  ///< what Linux 6.12 speaks: uverbs_abi_ver of its drivers
};

// rdma-core providers/*: match_min_abi_version and match_max_abi_version of versions 44 and 64; Linux 6.12
// include/uapi/rdma/*-abi.h.
TEST(DriverNames, AbiRangesAreThoseOfTheProviders) {
  const AbiRange ranges[] = {{"mlx5", 1, 1, 1},   {"mlx4", 2, 4, 4},       {"irdma", 0, 5, 5},   {"mana", 1, 1, 1},
                             {"ionic", 1, 1, 1},  {"bnxt_re", 1, 1, 1},    {"qedr", 8, 8, 8},    {"efa", 1, 1, 1},
                             {"erdma", 0, 1, 1},  {"siw", 1, 1, 1},        {"rxe", 1, 2, 2},     {"mthca", 0, 1, 1},
                             {"ocrdma", 2, 2, 2}, {"vmw_pvrdma", 3, 3, 3}, {"cxgb4", {}, {}, 3}, {"hns", {}, {}, 1}};
  for (const AbiRange& range : ranges) {
    const DriverNames* names = driver_by_name(range.driver);
    ASSERT_NE(names, nullptr) << range.driver;
    EXPECT_EQ(names->oldest_abi, range.oldest) << range.driver;
    EXPECT_EQ(names->newest_abi, range.newest) << range.driver;
    EXPECT_LE(names->oldest_abi.value_or(0), range.kernel) << range.driver;
    EXPECT_GE(names->newest_abi.value_or(~0U), range.kernel) << range.driver;
  }
}

TEST(DriverNames, ProvidersAreKnownByTheirFileName) {
  EXPECT_EQ(driver_of_provider("/usr/lib/x86_64-linux-gnu/libmlx5.so.1.24.44.0"), "mlx5");
  EXPECT_EQ(driver_of_provider("/usr/lib/libibverbs/librxe-rdmav34.so"), "rxe");
  EXPECT_EQ(driver_of_provider("/usr/lib/libibverbs.so.1"), "");
  EXPECT_EQ(driver_of_provider("strange"), "");
}

}  // namespace
}  // namespace verbena
