// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>

#include "quirks/firmware.hpp"
#include "quirks/version.hpp"
#include "table_texts.hpp"

namespace verbena::test {
namespace {

/// Whether a rule with this `match` (and what else it has) applies; `why` says why not.
bool applies(const std::string& match, const DeviceId& device = e810(), std::string* why = nullptr) {
  const auto set = load(
      {layer(LayerKind::etc, table({{.id = "a", .rest = "on: qp, limit: {max_inline_data: {max: 7}}, " + match}}))});
  EXPECT_TRUE(set && (*set)->layers()[0].loaded) << match;
  const Contract made = contract(**set, device);
  if (made.trace().empty()) return false;
  if (why) *why = made.trace()[0].why_not;
  return made.trace()[0].applied;
}

RuleText inline_rule() {
  return {.id = "a", .rest = "on: qp, limit: {max_inline_data: {max: 7}}, match: {firmware: '>=1 <2'}"};
}

DeviceId on_kernel(std::string kernel) {
  DeviceId device = e810();
  device.kernel = std::move(kernel);
  return device;
}

TEST(Match, EveryKeyMustHoldAndAListHoldsAlternatives) {
  EXPECT_TRUE(applies("match: {part_id: [0x1591-0x1593, 0x1599], transport: [roce2, iwarp], function: pf}"));
  EXPECT_FALSE(applies("match: {part_id: [0x1591-0x1593, 0x1599], transport: iwarp}"));
  EXPECT_FALSE(applies("match: {part_id: 0x1593-0x1599}"));
}

TEST(Match, SaysWhichKeyFailed) {
  std::string why;
  EXPECT_FALSE(applies("match: {kernel: '<6.2'}", e810(), &why));
  EXPECT_EQ(why, "kernel is 6.12.117+deb12-amd64, not <6.2");
}

TEST(Match, ComparesVersionsByNumberAndUpToTheBoundsOwnPrecision) {
  EXPECT_TRUE(applies("match: {kernel: '>=6.2'}"));
  EXPECT_TRUE(applies("match: {kernel: '>=6.1 <6.13'}"));
  EXPECT_TRUE(applies("match: {kernel: '6.12'}"));
  EXPECT_TRUE(applies("match: {kernel: '<=6.12'}"));
  EXPECT_FALSE(applies("match: {kernel: '>6.12'}"));
  EXPECT_FALSE(applies("match: {kernel: '<6.12'}"));
  EXPECT_TRUE(applies("match: {kernel: ['<5', '>=6.12.100']}"));
  EXPECT_TRUE(applies("match: {kernel: '<6.2'}", on_kernel("5.19.0-50-generic")));
}

TEST(Match, KnowsTheLineageOfDebianUbuntuAndMainlineKernels) {
  using quirks::read_host_version;
  using quirks::VersionKey;
  for (const char* known : {"6.12.117+deb12-amd64", "6.1.0-44-cloud-amd64", "5.15.0-91-generic", "6.18.0", "6.8.0-rc3+",
                            "6.11.4-301.fc41.x86_64"})
    EXPECT_TRUE(read_host_version(VersionKey::kernel, known)) << known;
  for (const char* vendor : {"5.14.0-427.el9.x86_64", "4.18.0-553.el8_10.x86_64", "5.15.0-205.149.5.1.el8uek.x86_64",
                             "5.14.21-150500.55.7-default", "4.19.90-2112.8.0.0131.oe1.aarch64", "", "custom"})
    EXPECT_FALSE(read_host_version(VersionKey::kernel, vendor)) << vendor;
}

TEST(Match, WhereTheLineageIsUnknownTighteningRulesHoldAndLooseningOnesDoNot) {
  DeviceId out_of_tree = e810();
  out_of_tree.out_of_tree = true;
  DeviceId no_firmware = e810();
  no_firmware.firmware = "beta";
  for (const DeviceId& device : {on_kernel("5.14.0-427.el9.x86_64"), out_of_tree}) {
    EXPECT_TRUE(applies("match: {kernel: '<5'}", device));
    std::string why;
    EXPECT_FALSE(applies("match: {kernel: '<9'}, replaces: declared", device, &why));
    EXPECT_THAT(why, testing::HasSubstr("loosens"));
  }
  EXPECT_TRUE(applies("match: {firmware: '>=99'}", no_firmware));
  EXPECT_FALSE(applies("match: {firmware: '>=1'}, replaces: declared", no_firmware));
  EXPECT_TRUE(applies("match: {kernel: '<9'}, replaces: declared"));
}

TEST(Match, EachDriverWritesItsFirmwareInItsOwnWay) {
  using quirks::read_firmware;
  using quirks::Version;
  struct Written {
    const char* driver;
    const char* text;
    std::vector<std::uint64_t> numbers;  ///< none: not a version of that driver
  };
  for (const Written& firmware :
       {Written{"mlx5", "16.35.1012", {16, 35, 1012}}, Written{"mlx5", "16.35.1012 (MT_0000000008)", {16, 35, 1012}},
        Written{"mlx5", "16.35.0012", {16, 35, 12}}, Written{"mlx5", "16.35", {}},
        Written{"mlx5", "16.35.1012-beta", {}}, Written{"hns", "1.20.013", {1, 20, 13}},
        Written{"bnxt_re", "231.0.154.0", {231, 0, 154, 0}},
        Written{"bnxt_re", "231.0.154.0/pkg 231.1.162.1", {231, 0, 154, 0}}, Written{"bnxt_re", "231.0.154", {}},
        Written{"irdma", "1.68", {1, 68}}, Written{"irdma", "4.40 0x8001c7d5 1.3534.0", {}},
        Written{"qedr", "8.37.7.0", {8, 37, 7, 0}}, Written{"rxe", "0.0.0", {}}, Written{"siw", "1.0", {}},
        Written{"mlx5", "0.0.0000", {}}, Written{"mlx5", "", {}}, Written{"somebody", "3.7", {3, 7}},
        Written{"somebody", "3.7-rc1", {}}}) {
    const auto read = read_firmware(firmware.driver, firmware.text);
    EXPECT_EQ(read.has_value(), !firmware.numbers.empty()) << firmware.driver << " " << firmware.text;
    EXPECT_EQ(read.value_or(Version{}).parts, firmware.numbers) << firmware.driver << " " << firmware.text;
  }
  DeviceId device = e810();
  device.firmware = "1.9";
  EXPECT_TRUE(applies("match: {firmware: '<1.74'}", device)) << "9 is less than 74, whatever the letters say";
}

TEST(Match, AFirmwareThatCannotBeReadLiesInNoBoundUnseen) {
  DeviceId device = e810();
  device.firmware = "4.40 0x8001c7d5";
  const auto set = load({layer(LayerKind::etc, table({{.id = "a",
                                                       .rest = "on: qp, limit: {max_inline_data: {max: 7}}, "
                                                               "match: {firmware: '<1'}"}}))});
  ASSERT_TRUE(set);
  const Contract made = contract(**set, device);
  const Provenance& by = made.provenance(made.domain(Field::max_inline_data).max_by);
  EXPECT_EQ(by.rule, "a") << "a rule that only tightens holds";
  EXPECT_THAT(by.reason, testing::HasSubstr("since firmware '4.40 0x8001c7d5' cannot be compared")) << "and says why";
  EXPECT_FALSE(applies("match: {firmware: '>=1'}, replaces: declared", device)) << "one that loosens does not";
  const Contract known = contract(**load({layer(LayerKind::etc, table({inline_rule()}))}), e810());
  EXPECT_THAT(known.provenance(known.domain(Field::max_inline_data).max_by).reason,
              testing::Not(testing::HasSubstr("held to be so")));
}

TEST(Match, NotKnowingWhichCardItIsDoesNotMakeItThisCard) {
  DeviceId device = e810();
  device.part_id.reset();
  device.function = Function::unknown;
  device.ports[0].transport = Transport::unknown;
  EXPECT_FALSE(applies("match: {part_id: 0x1592}", device));
  EXPECT_FALSE(applies("match: {function: vf}", device));
  EXPECT_FALSE(applies("match: {transport: roce2}", device));
  device.pci_revision.reset();
  EXPECT_TRUE(applies("match: {pci_revision: 0x10}", device));
}

TEST(Match, WhereThereIsNoPciParentTheVerbsPartIdStandsIn) {
  DeviceId device = e810();
  device.part_id.reset();
  device.verbs_part_id = 0x1592;
  EXPECT_TRUE(applies("match: {part_id: 0x1592}", device));
}

TEST(Match, WhenTestsWhatTheDeviceSaysAndAnUnknownCapIsNoMatch) {
  EXPECT_TRUE(applies("when: {max_qp_wr: 4063, max_sge: 1-13}"));
  EXPECT_FALSE(applies("when: {max_qp_wr: [4064, 8192-32768]}"));
  EXPECT_FALSE(applies("when: {max_srq: 0-4294967295}"));
}

// F21: a limit of one hypervisor, whatever the device says of itself.
TEST(Match, AHypervisorIsAKeyOfItsOwn) {
  DeviceId device = e810();
  EXPECT_FALSE(applies("match: {hypervisor: hyperv}", device));
  device.hypervisor = "hyperv";
  EXPECT_TRUE(applies("match: {hypervisor: hyperv}", device));
}

TEST(Match, ARuleWithoutADriverMatchesByPciAlone) {
  const auto set = load(
      {layer(LayerKind::etc, "schema: 1\nrules:\n" + to_text({.id = "a",
                                                              .rest = "match: {pci_vendor: 0x8086, part_id: 0x1592}, "
                                                                      "on: qp, limit: {max_inline_data: {max: 7}}"}))});
  ASSERT_TRUE(set && (*set)->layers()[0].loaded);
  DeviceId device = e810();
  device.driver = "whatever";
  EXPECT_EQ(contract(**set, device).domain(Field::max_inline_data).max, 7U);
}

}  // namespace
}  // namespace verbena::test
