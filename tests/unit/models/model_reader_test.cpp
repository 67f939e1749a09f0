// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/stat.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "verbena/model.hpp"

namespace verbena {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kModel = R"(schema: 1
model: some-nic
title: Some NIC
source: a test
identity:
  driver: irdma
  pci_vendor: 0x8086
  part_id: 0x1592
  pci_revision: unknown
  kernel: "6.12.117"
  function: vf
  bond: unknown
  out_of_tree: false
caps:
  max_qp: unknown
  max_qp_wr: 4063
  max_cqe: {assumed: 1000}
ports:
  - {number: 1, transport: roce2, link_layer: ethernet, active_mtu: 1024, lid: unknown, gid_types: [roce_v1, roce_v2]}
  - {number: 2, transport: iwarp, link_layer: ethernet, active_mtu: 4096}
creation: {cq: {min: 1}}
variants:
  newer:
    identity: {kernel: "6.18.0", pci_revision: 2}
    caps: {max_qp_wr: unknown, max_cqe: 500, max_mw: 0}
    ports: [{number: 2, active_mtu: 2048}]
    creation: {cq: {min: 2}}
  plain: {caps: {max_qp: 7}}
)";

Model read(std::string_view variant = {}) {
  auto model = parse_model(kModel, "some.yaml", variant);
  if (!model) {
    ADD_FAILURE() << to_string(model.error());
    return {};
  }
  return std::move(*model);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kModel;
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "the model has no '" << from << "'";
    return text;
  }
  return text.replace(at, from.size(), to);
}

bool assumed(const Model& model, Cap cap) {
  return std::find(model.caps.assumed.begin(), model.caps.assumed.end(), cap) != model.caps.assumed.end();
}

TEST(Model, UnknownStaysUnknownAndIsNeverANumber) {
  const Model model = read();
  EXPECT_FALSE(model.caps[Cap::max_qp].has_value());
  EXPECT_FALSE(model.caps[Cap::max_srq].has_value()) << "a cap that is left out is unknown too";
  EXPECT_FALSE(model.device.pci_revision.has_value());
  EXPECT_FALSE(model.device.bond.has_value());
  EXPECT_FALSE((*model.caps.port(1))[PortCap::lid].has_value());
  EXPECT_EQ(model.device.out_of_tree, false);
}

TEST(Model, AnAssumedNumberIsANumberThatSaysSo) {
  const Model model = read();
  EXPECT_EQ(model.caps[Cap::max_cqe], 1000U);
  EXPECT_TRUE(assumed(model, Cap::max_cqe));
  EXPECT_FALSE(assumed(model, Cap::max_qp_wr));
}

TEST(Model, IdentityAndPortsAreThoseOfTheFile) {
  const Model model = read();
  EXPECT_EQ(model.name, "some-nic");
  EXPECT_EQ(model.device.model, "some-nic");
  EXPECT_EQ(model.device.driver_found_by, DriverFoundBy::model);
  EXPECT_EQ(model.device.driver, "irdma");
  EXPECT_EQ(model.device.part_id, 0x1592U);
  EXPECT_EQ(model.device.function, Function::vf);
  ASSERT_NE(model.device.port(1), nullptr);
  EXPECT_EQ(model.device.port(1)->transport, Transport::roce_v2);
  EXPECT_EQ(model.device.port(2)->transport, Transport::iwarp);
  ASSERT_EQ(model.caps.port(1)->gids.size(), 2U);
  EXPECT_EQ(model.caps.port(1)->gids[1].type, GidType::roce_v2);
  EXPECT_THAT(model.variants, testing::ElementsAre("newer", "plain"));
}

TEST(Model, AVariantOverlaysWhatItNamesAndNothingElse) {
  const Model model = read("newer");
  EXPECT_EQ(model.name, "some-nic@newer");
  EXPECT_EQ(model.device.kernel, "6.18.0");
  EXPECT_EQ(model.device.pci_revision, 2U);
  EXPECT_EQ(model.device.part_id, 0x1592U);
  EXPECT_FALSE(model.caps[Cap::max_qp_wr].has_value()) << "a variant can make a number unknown";
  EXPECT_EQ(model.caps[Cap::max_cqe], 500U);
  EXPECT_FALSE(assumed(model, Cap::max_cqe)) << "a variant that knows the number assumes it no longer";
  EXPECT_EQ(model.caps[Cap::max_mw], 0U);
  EXPECT_EQ((*model.caps.port(1))[PortCap::active_mtu], 1024U);
  EXPECT_EQ((*model.caps.port(2))[PortCap::active_mtu], 2048U);
  EXPECT_EQ(model.device.port(2)->transport, Transport::iwarp) << "ports are merged by number";
  EXPECT_NE(model.creation_yaml, read().creation_yaml);
  EXPECT_EQ(read("plain").caps[Cap::max_qp], 7U);
}

TEST(Model, AnUnknownVariantNamesTheNearest) {
  const auto model = parse_model(kModel, "some.yaml", "newr");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::no_device);
  EXPECT_THAT(model.error().text, AllOf(HasSubstr("no variant 'newr'"), HasSubstr("did you mean 'newer'?")));
}

struct BrokenText {
  std::string from, to;
  std::string place;
  std::string says;
  friend void PrintTo(const BrokenText& fault, std::ostream* out) { *out << fault.to; }
};

class BrokenModel : public testing::TestWithParam<BrokenText> {};

TEST_P(BrokenModel, IsRefusedAtItsPlaceWithASentence) {
  const BrokenText& fault = GetParam();
  const auto model = parse_model(with(fault.from, fault.to), "some.yaml");
  ASSERT_FALSE(model) << fault.to;
  EXPECT_EQ(model.error().kind, ErrorKind::bad_table);
  EXPECT_EQ(model.error().by.file, "some.yaml");
  EXPECT_THAT(model.error().text, AllOf(StartsWith("some.yaml:" + fault.place + ": error: "), HasSubstr(fault.says)));
}

INSTANTIATE_TEST_SUITE_P(
    Model, BrokenModel,
    testing::Values(
        BrokenText{"schema: 1", "schema: 2", "1:9", "'2'; this version reads schema 1"},
        BrokenText{"schema: 1", "schema: [1]", "1:9", "a list; this version reads schema 1"},
        BrokenText{"schema: 1\n", "", "1:1", "'schema: 1' is missing"},
        BrokenText{"model: some-nic\n", "", "1:1", "'model' is missing"},
        BrokenText{"title:", "titel:", "3:1", "did you mean 'title'?"},
        BrokenText{"part_id: 0x1592", "part_idd: 0x1592", "8:3", "did you mean 'part_id'?"},
        BrokenText{"part_id: 0x1592", "part_id: E810", "8:12", "found 'E810' for 'part_id'"},
        BrokenText{"part_id: 0x1592", "part_id: 0x100000000", "8:12", "0xffffffff"},
        BrokenText{"function: vf", "function: vff", "11:13", "did you mean 'vf'?"},
        BrokenText{"out_of_tree: false", "out_of_tree: no", "13:16", "true, false, unknown"},
        BrokenText{"max_qp_wr: 4063", "max_qp_vr: 4063", "16:3", "did you mean 'max_qp_wr'?"},
        BrokenText{"max_qp_wr: 4063", "max_qp_wr: -1", "16:14", "'unknown', or {assumed: N}"},
        BrokenText{"max_qp_wr: 4063", "max_qp_wr: 99999999999999999999", "16:14", "'unknown', or {assumed: N}"},
        BrokenText{"max_qp_wr: 4063", "max_qp_wr: 04063", "16:14", "'04063' begins with 0"},
        BrokenText{"part_id: 0x1592", "part_id: 05522", "8:12", "'05522' begins with 0"},
        BrokenText{"max_qp_wr: 4063", "max_qp_wr: {guessed: 1}", "16:14", "'unknown', or {assumed: N}"},
        BrokenText{"number: 2, transport: iwarp", "number: 0, transport: iwarp", "20:14", "counted from 1"},
        BrokenText{"number: 2, transport: iwarp", "number: 256, transport: iwarp", "20:14", "up to 0xff"},
        BrokenText{"transport: iwarp", "transport: iwrap", "20:28", "did you mean 'iwarp'?"},
        BrokenText{"active_mtu: 4096", "active_mtuu: 4096", "20:57", "did you mean 'active_mtu'?"},
        BrokenText{"ports:\n", "ports: []\nnotes:\n", "18:8", "the list is empty"},
        BrokenText{"active_mtu: 1024", "active_mtu: 2048, max_mtu: 1024", "19:5",
                   "active_mtu 2048 is above max_mtu 1024"},
        BrokenText{"active_mtu: 4096", "active_mtu: 4000", "20:69",
                   "4000 for 'active_mtu' is no MTU; allowed are 256, 512"},
        BrokenText{"active_mtu: 4096", "max_mtu: 0", "20:66", "0 for 'max_mtu' is no MTU"},
        BrokenText{"number: 2, active_mtu: 2048", "number: 2, max_mtu: 1024", "26:13",
                   "active_mtu 4096 is above max_mtu"},
        BrokenText{"gid_types: [roce_v1, roce_v2]", "gid_types: [roce_v3]", "19:101", "roce_v1"},
        BrokenText{"caps: {max_qp: 7}", "caps: {max_qq: 7}", "28:18", "did you mean"},
        BrokenText{"plain: {caps: {max_qp: 7}}", "plain: 7", "28:10", "variant 'plain'"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cqq: {min: 1}}", "21:12", "did you mean 'cq'?"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {mim: 1}}", "21:17", "did you mean 'min'?"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: 1}", "21:16", "'creation.cq'; allowed is a map"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: absent}", "21:16", "allowed is a map"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {srq: abset}", "21:17", "a map or 'absent'"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: [cq]", "21:11", "'creation'; allowed is a map"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {zero: EINVALL}}", "21:23", "did you mean 'EINVAL'?"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {over: clamped}}", "21:23", "an errno's name"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {max: max_cqee}}", "21:22", "did you mean 'max_cqe'?"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {ring: pow3(n)}}", "21:23", "did you mean 'pow2'?"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {ring: 'max(n)'}}", "21:23", "it takes 2"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {ring: 'n + '}}", "21:23", "(at character 5)"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {ring: 'n < max ? n : 1'}}", "21:23", "names 'max'"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {ring: wr}}", "21:23", "none of n, ring"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {cq: {ring: n ring}}", "21:23", "should end"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {qp: {types: [rc, rd]}}", "21:29", "'rd'"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {qp: {send: {returned: {wrr: wr}}}}", "21:35",
                   "did you mean 'wr'?"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {qp: {recv: {classes: [{sge: 1}]}}}", "21:34", "no 'size'"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: {post: {sign: minus}}", "21:25", "negative"},
        BrokenText{"creation: {cq: {min: 2}}", "creation: {cq: {mim: 2}}", "27:21", "did you mean 'min'?"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [flush_lots]", "21:10", "did you mean 'flush_lost'?"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: flush_lost", "21:9", "a list of names"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{flush_lots: {one_in: 2}}]", "21:11",
                   "did you mean 'flush_lost'?"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{flush_lost: {one_of: 2}}]", "21:24",
                   "it has one_in; did you mean 'one_in'?"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{flush_lost: {one_in: 0}}]", "21:32", "from 1 to 4294967295"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{flush_lost: {one_in: often}}]", "21:32", "'often'"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{flush_lost: 2}]", "21:23", "'flush_lost'; allowed is a map"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{reset_spoils: {one_in: 2}}]", "21:26", "it has none"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{unsupported_errno: {errno: ENOSYSS}}]", "21:38",
                   "did you mean 'ENOSYS'?"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [[flush_lost]]", "21:10",
                   "a name and {name: {parameter: value}}"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [{flush_lost: {}, reset_spoils: {}}]", "21:10", "a name and"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [flush_lost, {flush_lost: {one_in: 2}}]", "21:23", "twice"},
        BrokenText{"creation: {cq: {min: 1}}", "behaviours: {noop_rest: spoils}", "21:14",
                   "did you mean 'noop_reset'?"},
        BrokenText{"creation: {cq: {min: 1}}", "behaviours: {noop_reset: spoil}", "21:26", "did you mean 'spoils'?"},
        BrokenText{"creation: {cq: {min: 1}}", "behaviours: [noop_reset]", "21:13", "'behaviours'; allowed is a map"},
        BrokenText{"creation: {cq: {min: 1}}", "features: {cq_resise: absent}", "21:12", "did you mean 'cq_resize'?"},
        BrokenText{"creation: {cq: {min: 1}}", "features: {cq_resize: substituted}", "21:23", "absent"},
        BrokenText{"creation: {cq: {min: 1}}", "features: absent", "21:11", "'features'; allowed is a map"},
        BrokenText{"creation: {cq: {min: 1}}", "faults: [flush_lost, flush_lost]", "21:22", "twice"},
        BrokenText{"creation: {cq: {min: 1}}", "creation: &a {cq: {min: 1}}", "21:11", "anchor"}));

TEST(Model, WhatIsNoMapIsRefused) {
  for (const char* text : {"", "- 1\n", "word\n", "[", "identity: 3\nschema: 1\nmodel: a\n"}) {
    const auto model = parse_model(text, "some.yaml");
    ASSERT_FALSE(model) << text;
    EXPECT_EQ(model.error().kind, ErrorKind::bad_table) << text;
  }
}

TEST(Model, WithoutDriverOrPciVendorNoRuleCouldMatchAndTheErrorSaysSo) {
  const auto model = parse_model("schema: 1\nmodel: a\nidentity: {kernel: '6.12'}\n", "a.yaml");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().text, HasSubstr("'driver' is missing"));
}

TEST(LoadModel, KnowsEveryModelByItsFilesName) {
  const auto names = builtin_models();
  EXPECT_GE(names.size(), 21U);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const auto model = load_model(name);
    ASSERT_TRUE(model) << to_string(model.error());
    EXPECT_EQ(model->name, name) << "a model is named as its file is";
    EXPECT_FALSE(model->title.empty()) << name;
    EXPECT_FALSE(model->source.empty()) << name << ": a figure without a source is none";
    for (const std::string& variant : model->variants) {
      const auto other = load_model(name + "@" + variant);
      ASSERT_TRUE(other) << to_string(other.error());
      EXPECT_EQ(other->name, name + "@" + variant);
    }
  }
}

TEST(LoadModel, AnUnknownNameIsToldWithTheNearest) {
  const auto model = load_model("e810-roc");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::no_device);
  EXPECT_THAT(model.error().text, AllOf(HasSubstr("no model 'e810-roc'"), HasSubstr("did you mean 'e810-roce'?")));
}

TEST(LoadModel, AnAtWithoutAVariantIsNoName) {
  const auto model = load_model("e810-roce@");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::no_device);
  EXPECT_THAT(model.error().text, HasSubstr("no variant after '@'"));
}

TEST(LoadModel, ReadsAFileByItsPathWithAVariant) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "verbena_load_model.yaml";
  std::ofstream(path) << kModel;
  const auto model = load_model(path.string() + "@newer");
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->device.kernel, "6.18.0");
  std::filesystem::remove(path);
  const auto gone = load_model(path.string());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::io);
  EXPECT_THAT(gone.error().text, HasSubstr("No such file"));
}

TEST(LoadModel, AnAtInThePathOfAFileIsNoVariant) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "verbena_team@site";
  std::filesystem::create_directories(folder);
  const std::string plain = folder / "nic.yaml";
  const std::string marked = folder / "nic@rack12.yaml";
  for (const std::string& path : {plain, marked}) std::ofstream(path) << kModel;
  struct Row {
    std::string word, kernel;
  };
  for (const Row& row : {Row{plain, "6.12.117"}, Row{plain + "@newer", "6.18.0"}, Row{marked, "6.12.117"},
                         Row{marked + "@newer", "6.18.0"}}) {
    const auto model = load_model(row.word);
    ASSERT_TRUE(model) << row.word << ": " << to_string(model.error());
    EXPECT_EQ(model->device.kernel, row.kernel) << row.word;
  }
  EXPECT_THAT(load_model(plain + "@newr").error().text, HasSubstr("did you mean 'newer'?"));
  EXPECT_THAT(load_model((folder / "none.yaml").string()).error().text, HasSubstr("none.yaml: the model cannot be"));
  std::filesystem::remove_all(folder);
}

TEST(LoadModel, AFileThatIsTooLargeIsNotReadIn) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "verbena_large_model.yaml";
  std::ofstream(path) << "schema: 1\n";
  std::filesystem::resize_file(path, std::uintmax_t{50} << 20);
  const auto model = load_model(path.string());
  std::filesystem::remove(path);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().text, HasSubstr("52428800 bytes"));
}

TEST(LoadModel, AFifoIsRefusedInsteadOfWaitedFor) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "verbena_model_fifo.yaml";
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto model = load_model(path.string());
  std::filesystem::remove(path);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::io);
  EXPECT_THAT(to_string(model.error()),
              AllOf(HasSubstr("no regular file"), testing::Not(HasSubstr("the device's own"))));
}

TEST(LoadModel, ADirectoryIsRefused) {
  const auto model = load_model(testing::TempDir());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::io);
}

void expect_same(const Model& written, const Model& read) {
  EXPECT_EQ(read.caps.values, written.caps.values) << written.name;
  auto sorted = [](std::vector<Cap> caps) {
    std::sort(caps.begin(), caps.end());
    return caps;
  };
  EXPECT_EQ(sorted(read.caps.assumed), sorted(written.caps.assumed)) << written.name;
  ASSERT_EQ(read.caps.ports.size(), written.caps.ports.size()) << written.name;
  for (std::size_t i = 0; i < read.caps.ports.size(); ++i) {
    EXPECT_EQ(read.caps.ports[i].number, written.caps.ports[i].number) << written.name;
    EXPECT_EQ(read.caps.ports[i].values, written.caps.ports[i].values) << written.name;
  }
  EXPECT_EQ(read.device.ports, written.device.ports) << written.name;
  DeviceId device = read.device;
  device.name = written.device.name;
  device.model = written.device.model;
  EXPECT_EQ(device, written.device) << written.name;
}

TEST(WriteModel, WhatIsWrittenReadsAsWhatItWas) {
  for (const std::string& name : builtin_models()) {
    const auto model = load_model(name);
    ASSERT_TRUE(model) << to_string(model.error());
    const std::string text = write_model(model->device, model->caps, false);
    const auto read = parse_model(text, name);
    ASSERT_TRUE(read) << to_string(read.error()) << "\n" << text;
    expect_same(*model, *read);
  }
}

TEST(WriteModel, StringsOfADeviceCannotBreakTheFile) {
  Model model = read();
  model.device.name = "mlx5_0";
  model.device.board_id = "a \"quoted\" \\ board: [1] # no comment";
  model.device.firmware = "1.2\n- {id: x}";
  const auto again = parse_model(write_model(model.device, model.caps, false), "dump.yaml");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->device.board_id, model.device.board_id);
  EXPECT_EQ(again->device.firmware, model.device.firmware);
}

TEST(WriteModel, ANameThatYamlReadsOtherwiseStaysAName) {
  for (const char* name : {"null", "-", "~", "1"}) {
    Model model = read();
    model.device.model = name;
    const auto again = parse_model(write_model(model.device, model.caps, false), "dump.yaml");
    ASSERT_TRUE(again.has_value()) << name << ": " << to_string(again.error());
  }
}

TEST(WriteModel, RedactedHasNoGuid) {
  Model model = read();
  model.device.node_guid = 0x0002c903000e0b72;
  EXPECT_THAT(write_model(model.device, model.caps, false), HasSubstr("0002c903000e0b72"));
  EXPECT_THAT(write_model(model.device, model.caps, true), testing::Not(HasSubstr("0002c903000e0b72")));
}

}  // namespace
}  // namespace verbena
