// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "verbena/device_id.hpp"
#include "verbena/grant.hpp"
#include "verbena/result.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

Provenance inline_rule() {
  Provenance by;
  by.set_by = SetBy::rule;
  by.rule = "irdma-gen2-inline-101";
  by.reason = "E810 takes at most 101 bytes inline";
  by.source = "kernel hw/irdma/icrdma_hw.c";
  by.layer = "builtin";
  by.file = "builtin:irdma.yaml";
  by.line = 12;
  return by;
}

TEST(Text, AnAdjustmentNamesFieldNumbersRulePlaceReasonAndSource) {
  Adjustment adjustment;
  adjustment.field = "max_inline_data";
  adjustment.asked = 256;
  adjustment.granted = 101;
  adjustment.kind = AdjustmentKind::reduced;
  adjustment.by = inline_rule();
  EXPECT_EQ(to_string(adjustment),
            "max_inline_data: asked 256, granted 101 (reduced) by rule irdma-gen2-inline-101 [builtin:irdma.yaml:12]: "
            "E810 takes at most 101 bytes inline — kernel hw/irdma/icrdma_hw.c");
}

TEST(Text, ASettingOfASiteStandsOverTheRuleThatItKeepsFromLoosening) {
  Provenance by = inline_rule();
  by.set_by = SetBy::site;
  EXPECT_THAT(to_string(by), testing::StartsWith("a setting of this site over rule irdma-gen2-inline-101 [builtin:"));
}

TEST(Text, ARefusalNamesTheAttributeAndNotOnlyItsErrno) {
  Error error;
  error.kind = ErrorKind::limit;
  error.field = "max_inline_data";
  error.asked = 256;
  error.allowed = 101;
  error.by = inline_rule();
  error.errno_value = EINVAL;
  error.text = "ask for at most 101 bytes";
  const std::string line = to_string(error);
  EXPECT_THAT(line, HasSubstr("limit: max_inline_data: asked 256, allowed 101: ask for at most 101 bytes"));
  EXPECT_THAT(line, HasSubstr("[EINVAL 22]"));
  EXPECT_THAT(line, HasSubstr("irdma-gen2-inline-101 [builtin:irdma.yaml:12]"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Text, AnErrorWithoutNumbersShowsNone) {
  Error error;
  error.kind = ErrorKind::no_device;
  error.text = "no RDMA device on this host";
  EXPECT_EQ(to_string(error), "no_device: no RDMA device on this host");
}

TEST(Text, ADeviceIsOneLine) {
  DeviceId id;
  id.driver = "irdma";
  id.pci_vendor = 0x8086;
  id.part_id = 0x1592;
  id.pci_revision = 2;
  id.firmware = "1.74";
  id.kernel = "6.12.117+deb12-amd64";
  id.name = "rocep1s0";
  EXPECT_EQ(to_string(id), "irdma 0x8086:0x1592 rev 0x02 fw 1.74 kernel 6.12.117+deb12-amd64 as rocep1s0");
  EXPECT_EQ(to_string(DeviceId{}), "unknown driver");
}

}  // namespace
}  // namespace verbena
