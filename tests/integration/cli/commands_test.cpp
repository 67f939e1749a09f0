// SPDX-License-Identifier: Apache-2.0 OR MIT
// Exit codes and what is said, command by command; bad input gets a clear error.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>

#include "run_command.hpp"

namespace {

using cli_test::run;
using cli_test::words;

struct Case {
  const char* name;
  std::string arguments;
  int code;
  std::vector<std::string> fragments;  ///< each is somewhere in what is printed
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

class Commands : public testing::TestWithParam<Case> {};

TEST_P(Commands, SayWhatTheyShould) {
  const cli_test::Ran ran = run(words(GetParam().arguments));
  EXPECT_EQ(ran.code, GetParam().code) << ran.all();
  for (const std::string& fragment : GetParam().fragments) {
    EXPECT_NE(ran.all().find(fragment), std::string::npos) << "'" << fragment << "' is not in:\n" << ran.all();
  }
  EXPECT_EQ(ran.all().find('\x1b'), std::string::npos) << "no colour outside a terminal";
}

const Case kCommands[] = {
    {"NoSubcommand", "", 2, {"subcommand"}},
    {"Help", "--help", 0, {"explain", "quirks", "ping", "Exit codes"}},
    {"Version", "--version", 0, {"0."}},
    {"UnknownSubcommand", "expain", 2, {"'expain' is no subcommand", "did you mean 'explain'"}},
    {"UnknownQuirksSubcommand", "quirks lnit", 2, {"did you mean 'lint'"}},
    {"UnknownOption", "explain --nicc e810-roce", 2, {"--nicc"}},
    {"ExplainHelp", "explain --help", 0, {"Example:", "--policy"}},
    {"PingHelp", "ping --help", 0, {"Example:", "--gid-index"}},
    {"DiffHelp", "quirks diff --help", 0, {"Example:", "OLD", "NEW"}},
    {"DumpHelp", "dump --help", 0, {"Example:", "--trial"}},

    {"NothingAsked", "explain --nic e810-roce", 2, {"nothing is asked for"}},
    {"UnknownModel", "explain --nic e810-roc --cq 1", 2, {"e810-roc", "did you mean 'e810-roce'"}},
    {"UnknownVariant", "explain --nic connectx5@kernel-9 --cq 1", 2, {"kernel-9"}},
    {"AtWithoutAVariant", "explain --nic connectx5@ --cq 1", 2, {"no variant after '@'"}},
    {"ModelFileThatIsNotThere", "explain --nic ./none.yaml --cq 1", 2, {"none.yaml", "No such file"}},
    {"RingBelowItsLeastSges", "explain --nic connectx5 --qp rc,send_wr=9000..16384,send_sge=0..1", 1, {"holds 8192"}},
    {"NeededReceivesBesideAnSrq",
     "explain --nic connectx5 --qp rc,srq,recv_wr=2..8",
     1,
     {"max_recv_wr: asked 8, allowed 0", "shared receive queue"}},
    {"RequiredReceiveBesideAnSrq", "explain --nic connectx5 --qp rc,srq,recv_wr=1,policy=require", 1, {"max_recv_wr"}},
    {"UnknownWordForSubstitutes",
     "explain --nic connectx5 --qp uc,substitutes=maybe",
     2,
     {"substitutes", "'maybe' is none of require, prefer, allow"}},
    {"ReceivesBesideAnSrq", "explain --nic connectx5 --qp rc,srq,recv_wr=1", 0, {"asked 1, granted 0 (reduced)"}},
    {"NoReceivesBesideAnSrq", "explain --nic connectx5 --policy require --qp rc,srq,send_wr=8", 0, {"granted"}},
    {"CapsThatAreAssumed", "caps --nic hip09", 0, {"32768 assumed"}},
    {"CapsThatAreAssumedJson", "caps --nic hip09 -j", 0, {R"("assumed": true)", R"("assumed": false)"}},
    {"NoBoundIsKnown", "explain --nic erdma --cq 4000000", 0, {"no bound is known of cqe"}},
    {"NoBoundIsKnownJson", "explain --nic erdma --cq 4000000 -j", 0, {R"("no_bound_known")"}},
    {"DumpOfAModel", "dump --nic hip09", 0, {R"(source: "copy of the model hip09, no device")"}},
    {"CapsOfADeviceWithoutAnSrq", "caps --nic e810-roce", 0, {"srq.max_wr ", "absent  absent"}},
    {"TableThatIsNotThere", "quirks lint ./none.yaml", 2, {"'./none.yaml' cannot be read: No such file"}},
    {"LimitWithAFloor", "explain --nic rxe-6.12 --srq wr=9,limit=1..2", 2, {"a limit has no floor"}},
    {"ErrorAsJson", "explain --nic none --cq 1 -j", 2, {"\"schema\": 1", "\"kind\": \"no_device\""}},
    {"PortZero", "explain --nic e810-roce --cq 1 -i 0", 2, {"port"}},
    {"PortThatIsNotThere", "explain --nic e810-roce --cq 1 -i 7", 2, {"no port 7"}},
    {"UnknownKey", "explain --nic e810-roce --qp rc,send_rw=4", 2, {"send_rw", "did you mean 'send_wr'"}},
    {"UnknownType", "explain --nic e810-roce --qp rd", 2, {"rd"}},
    {"TwoTypes", "explain --nic e810-roce --qp rc,ud", 2, {"second type"}},
    {"SameKeyTwice", "explain --nic e810-roce --qp rc,inline=1,inline=2", 2, {"given twice"}},
    {"OneNumberInItsTwoSpellings", "explain --nic e810-roce --qp rc,send_wr=1,max_send_wr=2", 2, {"given twice"}},
    {"KeyWithoutItsValue", "explain --nic e810-roce --qp rc,ops", 2, {"'ops' needs a value"}},
    {"FlagWithAValue", "explain --nic e810-roce --qp rc,srq=0", 2, {"'srq' takes no value"}},
    {"AccessWithAValue", "explain --nic e810-roce --mr 4K,local_write=0", 2, {"'local_write' takes no value"}},
    {"EmptyPart", "explain --nic e810-roce --qp rc,,inline=1", 2, {"empty part"}},
    {"UnknownOpcode", "explain --nic e810-roce --qp rc,ops=send+wirte", 2, {"wirte", "fetch_add"}},
    {"Negative", "explain --nic e810-roce --qp rc,send_wr=-5", 2, {"max_send_wr", "-5", "negative"}},
    {"Overflow", "explain --nic e810-roce --qp rc,send_wr=4294967296", 2, {"max_send_wr", "too large", "4294967295"}},
    {"HugeOverflow", "explain --nic e810-roce --cq 99999999999999999999", 2, {"too large"}},
    {"NoNumber", "explain --nic e810-roce --qp rc,send_wr=many", 2, {"'many' is not a number"}},
    {"NumberWithTail", "explain --nic e810-roce --cq 12x", 2, {"'12x' is not a number"}},
    {"MissingNumber", "explain --nic e810-roce --qp rc,send_wr=", 2, {"is missing"}},
    {"FloorAboveWish", "explain --nic e810-roce --qp rc,send_wr=9..8", 2, {"floor 9 is above the wish 8"}},
    {"BadPolicy", "explain --nic e810-roce --cq 1 --policy must", 2, {"require, prefer, allow"}},
    {"UnknownUnit", "explain --nic e810-roce --mr 4X", 2, {"'X' is not a unit", "KiB"}},
    {"BytesOverflow", "explain --nic e810-roce --mr 99999999T", 2, {"too large"}},
    {"UnknownAccess",
     "explain --nic e810-roce --mr 4K,remote_wirte",
     2,
     {"remote_wirte", "did you mean 'remote_write'"}},
    {"ZeroLength", "explain --nic e810-roce --mr 0", 1, {"length"}},
    {"LargestNumber", "explain --nic e810-roce --qp rc,send_wr=1..4294967295", 0, {"max_send_wr"}},
    {"Require",
     "explain --nic e810-roce --qp rc,inline=256 --policy require",
     1,
     {"refused", "max_inline_data", "101"}},
#ifdef VERBENA_EMULATOR
    {"CreateOnAnEmulatedNic",
     "explain --nic connectx5 --qp rc,send_wr=1000,recv_wr=100,send_sge=3 --cq 1000 --create",
     0,
     {"returned", "1023"}},
    {"LiveDevice", "devices --nic hip09 --live", 0, {"hip09", "hns", "openable"}},
    {"LiveCaps", "caps --nic e810-roce --live", 0, {"max_send_sge", "13"}},
    {"PingBetweenVendors", "ping --nic connectx5,e810-roce", 0, {"connectx5", "e810-roce", "WRITE_WITH_IMM"}},
    {"PingWithinOne", "ping --nic rxe-6.12", 0, {"UD SEND"}},
    {"PingOfThreeNics", "ping --nic rxe-6.12,rxe-6.12,rxe-6.12", 2, {"one or two devices"}},
#endif
    {"Rules", "explain --nic e810-roce --rules", 0, {"rules looked at", "irdma-gen2-inline"}},
    {"Srq", "explain --nic rxe-6.12 --srq wr=16,sge=40", 0, {"max_sge", "27"}},

    {"EmptyNameAlone", "explain --nic , --cq 1", 2, {"--nic: ',' has an empty name", "NAME,NAME"}},
    {"EmptyNameAtTheEnd", "explain --nic e810-roce, --cq 1", 2, {"'e810-roce,' has an empty name"}},
    {"EmptyNameOfADevice", "caps -d a,,b", 2, {"'a,,b' has an empty name"}},
    {"EmptyNameOfADiff", "quirks diff builtin builtin --nic ,e810-roce", 2, {"has an empty name"}},
    {"NamesOfLists", "caps --nic e810-roce,hip09 --nic rxe-6.12", 0, {"e810-roce: ", "hip09: ", "rxe-6.12: "}},
    {"UnknownDevice", "explain -d mlx5_99 --cq 1", 2, {"mlx5_99"}},
    {"UnknownDevicePositional", "caps mlx5_99", 2, {"mlx5_99"}},
    {"PingOfThree", "ping -d a,b,c", 2, {"one or two devices"}},
#ifdef VERBENA_EMULATOR
    {"TrialOfAnEmulatedNic", "dump --nic e810-roce --trial", 0, {"max_send_wr at 13 SGE 4063"}},
#endif

    {"ModelAsADevice", "explain e810-roce --cq 1", 2, {"there is a model of that name: --nic e810-roce"}},
    {"ModelBegun", "caps --nic connectx6", 2, {"did you mean 'connectx6"}},
    {"ModelsOtherPort", "caps --nic hip09 -i 9", 2, {"has no port 9; -i takes 1"}},
    {"HelpOfPolicyAndSuffixes", "explain --help", 0, {"policy=require|prefer|allow", "64K"}},
    {"HelpOfOpcodes", "explain --help", 0, {"send_inv", "atomic_write", "local_inv"}},
    {"SiteFileIsNamed", "config", 0, {"site file /etc/verbena/site.yaml"}},
    {"LintOfTheShippedTablesAsASite", "quirks lint " VERBENA_SOURCE_DIR "/quirks", 0, {"--as builtin"}},

    {"Caps", "caps --nic e810-roce", 0, {"qp.max_inline_data", "101", "irdma-gen2-inline"}},
    {"RawCaps", "caps --raw --nic e810-roce", 0, {"max_qp_wr", "4063", "unknown"}},
    {"Models", "devices --models", 0, {"e810-roce", "connectx5", "siw-6.12"}},
    {"Config", "config", 0, {"fit.beyond_declared", "VERBENA_FIT_BEYOND_DECLARED", "default"}},
    {"Dump", "dump --nic rxe-6.12", 0, {"schema: 1", "driver: \"rxe\""}},
    {"DumpOfTwo", "dump --nic rxe-6.12,hip09", 2, {"one device"}},

    {"Lint", "quirks lint", 0, {"0 findings"}},
    {"LintOfNothing", "quirks lint /no/such/file.yaml", 2, {"/no/such/file.yaml"}},
    {"LintAsNothing", "quirks lint --as site /dev/null", 2, {"builtin, installed, etc, run, env"}},
    {"LintOfNoTable", "quirks lint " VERBENA_SOURCE_DIR "/tools", 2, {"nothing was read", "/tools'", ".yaml"}},
    {"LintOfNoTableBesideOne",
     "quirks lint " VERBENA_SOURCE_DIR "/quirks/examples " VERBENA_SOURCE_DIR "/tools",
     2,
     {"no table in '" VERBENA_SOURCE_DIR "/tools'"}},
    {"DiffOfNoTable", "quirks diff builtin " VERBENA_SOURCE_DIR "/tools", 2, {"nothing was read"}},
    {"DiffFromNoTable", "quirks diff --alone " VERBENA_SOURCE_DIR "/tools builtin", 2, {"nothing was read"}},
    {"List", "quirks list --nic hip09", 0, {"hns-cq-one-less"}},
    {"Show", "quirks show irdma-gen2-inline --nic e810-roce,hip09", 0, {"because", "101", "to e810-roce: yes"}},
    {"ShowUnknown", "quirks show irdma-gen2-inlin", 2, {"did you mean 'irdma-gen2-inline'"}},
    {"Status", "quirks status", 0, {"builtin", "/etc/verbena/quirks.d", "/run/verbena/quirks.d"}},
    {"Formulas", "quirks formulas", 0, {"mlx5_wqe_blocks", "irdma_quanta", "hidden"}},
    {"Flags", "quirks flags", 0, {"rts_driven_by", "rdma_cm"}},
    {"DiffOfTheSame", "quirks diff builtin builtin", 0, {"0 of"}},
    {"DiffOfNothing", "quirks diff builtin /no/such", 2, {"/no/such"}},
    {"DiffUnknownModel", "quirks diff builtin builtin --nic e810-roc", 2, {"did you mean"}},
};

std::string name_of(const testing::TestParamInfo<Case>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(Each, Commands, testing::ValuesIn(kCommands), name_of);

TEST(QuirksDiff, ShowsWhichContractsAChangeAlters) {
  const std::string layer = cli_test::source_file("quirks/examples/e810-cq-power-of-two.yaml");
  const cli_test::Ran ran = run({"quirks", "diff", "builtin", layer, "--nic", "e810-roce,hip09", "-j"});
  EXPECT_EQ(ran.code, 1) << ran.all();
  const auto document = nlohmann::ordered_json::parse(ran.out, nullptr, false);
  ASSERT_EQ(document.at("devices").size(), 1U) << ran.out;
  EXPECT_EQ(document.at("devices").at(0).at("device"), "e810-roce");
  EXPECT_EQ(document.at("devices").at(0).at("changes").at(0).at("what"), "cq.cqe");
}

TEST(QuirksLint, SaysWhereAndExitsWithOne) {
  const std::string table = cli_test::written("typo.yaml", "schema: 1\nrules:\n  - id: x\n    on: qp\n    limt: {}\n");
  const cli_test::Ran ran = run({"quirks", "lint", table});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find(table + ":5:"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("limit"), std::string::npos) << ran.out;
}

TEST(QuirksStatus, ABrokenLayerIsShownAndNothingElseIsLost) {
  const std::string table = cli_test::written("broken.yaml", "schema: 1\nrules: [\n");
  const cli_test::Ran status = run({"quirks", "status"}, {"VERBENA_QUIRKS=" + table});
  EXPECT_EQ(status.code, 1) << status.all();
  EXPECT_NE(status.out.find("left out"), std::string::npos) << status.out;
  const cli_test::Ran explained =
      run({"explain", "--nic", "e810-roce", "--qp", "rc,inline=256"}, {"VERBENA_QUIRKS=" + table});
  EXPECT_EQ(explained.code, 0) << explained.all();
  EXPECT_NE(explained.out.find("101"), std::string::npos);
  EXPECT_NE(explained.err.find(table), std::string::npos) << explained.err;
  const cli_test::Ran strict = run({"explain", "--nic", "e810-roce", "--qp", "rc,inline=256"},
                                   {"VERBENA_QUIRKS=" + table, "VERBENA_QUIRKS_STRICT=yes"});
  EXPECT_EQ(strict.code, 1) << strict.all();
}

TEST(QuirksStatus, ANamedFolderWithoutATableIsToldAsSuch) {
  const std::vector<std::string> empty{"VERBENA_QUIRKS=" VERBENA_SOURCE_DIR "/tools"};
  const cli_test::Ran status = run({"quirks", "status"}, empty);
  EXPECT_EQ(status.code, 1) << "as `quirks lint` says";
  EXPECT_NE(status.out.find("no table in it"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("holds no table: names that end in .yaml are read"), std::string::npos) << status.out;
  const auto document = nlohmann::ordered_json::parse(run({"quirks", "status", "-j"}, empty).out);
  for (const auto& layer : document.at("layers"))
    EXPECT_EQ(layer.at("holds_a_table"), layer.at("layer") == "builtin") << layer;
}

TEST(QuirksStatus, ALayerThatIsNamedAndNotThereIsToldByEachCommand) {
  const std::vector<std::string> mistyped{"VERBENA_QUIRKS=./no_such_table.yaml"};
  const cli_test::Ran status = run({"quirks", "status"}, mistyped);
  EXPECT_EQ(status.code, 1) << status.all();
  EXPECT_NE(run({"caps", "--nic", "e810-roce"}, mistyped).err.find("no_such_table.yaml"), std::string::npos);
}

TEST(EverySubcommand, FailsWhereItsOutputCannotBeWritten) {
  for (const char* arguments : {"config", "config -j", "devices --models", "dump --nic hip09", "--help", "quirks list",
                                "explain --nic hip09 --cq 1"}) {
    for (const char* where : {">/dev/full", ">&-"}) {
      const std::string line = std::string(VERBENA_COMMAND) + " " + arguments + " 2>/dev/null " + where;
      EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 1) << line;
    }
  }
}

TEST(EverySubcommand, EndsWithItsCodeWhereItsErrorCannotBeWritten) {
  for (const char* where : {"2>/dev/full", "2>&-", ">/dev/full 2>&-"}) {
    const std::string line = std::string(VERBENA_COMMAND) + " explain --nic bogus --cq 1 " + where;
    const int status = std::system(line.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << line << " ended with " << status;
  }
}

TEST(EverySubcommand, PrintsNoControlCharacterOfATableOrAModel) {
  const std::string table = cli_test::written(
      "escapes.yaml",
      "schema: 1\ndriver: rxe\nrules:\n  - {id: site, on: qp, limit: {max_inline_data: {max: 3}}, because: \"red "
      "\\e[31m\\x07 text\", source: \"\\e]0;title\", evidence: measured, severity: correctness, until: open, proof: "
      "qp.create.inline_at_limit}\n");
  const std::string broken = cli_test::written("escapes-broken.yaml", "schema: 1\n\"\\e[2J\": 1\n");
  for (const char* arguments : {"quirks show site", "quirks list", "explain --nic rxe-6.12 --qp rc,inline=40",
                                "caps --nic rxe-6.12", "quirks lint", "quirks status"}) {
    for (const std::string& layer : {table, broken}) {
      const cli_test::Ran ran = run(words(arguments), {"VERBENA_QUIRKS=" + layer});
      for (const char bad : {'\x1b', '\x07'})
        EXPECT_EQ(ran.all().find(bad), std::string::npos) << arguments << '\n' << ran.all();
    }
  }
  EXPECT_NE(run({"quirks", "show", "site"}, {"VERBENA_QUIRKS=" + table}).out.find("red [31m text"), std::string::npos);
}

TEST(Config, WarnsOfAnUnknownVariableWithItsNearest) {
  const cli_test::Ran ran = run({"config"}, {"VERBENA_QUIRK=x"});
  EXPECT_NE(ran.err.find("VERBENA_QUIRKS"), std::string::npos) << ran.err;
}

TEST(Dump, WhatItWritesCanBeReadAgain) {
  const cli_test::Ran dumped = run({"dump", "--nic", "rxe-6.12"});
  ASSERT_EQ(dumped.code, 0) << dumped.all();
  const std::string model = cli_test::written("again.yaml", dumped.out);
  const cli_test::Ran caps = run({"caps", "--raw", "--nic", model, "-j"});
  const cli_test::Ran known = run({"caps", "--raw", "--nic", "rxe-6.12", "-j"});
  ASSERT_EQ(caps.code, 0) << caps.all();
  const auto read = nlohmann::ordered_json::parse(caps.out, nullptr, false);
  const auto original = nlohmann::ordered_json::parse(known.out, nullptr, false);
  for (const auto& [cap, value] : original.at("devices").at(0).at("caps").items()) {
    if (!value.is_number()) continue;
    EXPECT_EQ(read.at("devices").at(0).at("caps").at(cap), value) << cap;
  }
}

TEST(EverySubcommand, PrintsJsonWithTheSchemaFirst) {
  for (const char* arguments :
       {"devices -j", "devices --models -j", "caps --nic hip09 -j", "caps --raw --nic hip09 -j",
        "explain --nic hip09 --cq 1 -j", "quirks lint -j", "quirks list -j", "quirks show irdma-gen2-inline -j",
        "quirks status -j", "quirks diff builtin builtin --nic hip09 -j", "quirks formulas -j", "quirks flags -j",
        "dump --nic hip09 -j", "config -j"}) {
    const cli_test::Ran ran = run(words(arguments));
    EXPECT_EQ(ran.code, 0) << arguments << '\n' << ran.err;
    const auto document = nlohmann::ordered_json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << arguments << '\n' << ran.out;
    EXPECT_EQ(document.begin().key(), "schema") << arguments;
    EXPECT_EQ(document.begin().value(), 1) << arguments;
  }
}

/// Only where this machine has no device at all, as most builders do.
TEST(WithoutDevices, NothingCanBeTested) {
  const auto listed = nlohmann::ordered_json::parse(run({"devices", "-j"}).out, nullptr, false);
  if (!listed.at("devices").empty()) GTEST_SKIP() << "this machine has RDMA devices";
  for (const char* arguments : {"ping", "caps", "explain --cq 1", "dump"}) {
    const cli_test::Ran ran = run(words(arguments));
    EXPECT_EQ(ran.code, 77) << arguments << '\n' << ran.all();
    EXPECT_NE(ran.err.find("no RDMA device"), std::string::npos) << ran.err;
  }
}

}  // namespace
