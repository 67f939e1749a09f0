// SPDX-License-Identifier: Apache-2.0 OR MIT
// `verbena conform` without a device: what it lists, and what it says of bad input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_command.hpp"

namespace {

using cli_test::Ran;
using cli_test::run;
using cli_test::words;

void says(const std::string& arguments, int code, const std::string& fragment) {
  const Ran ran = run(words(arguments));
  EXPECT_EQ(ran.code, code) << ran.all();
  EXPECT_NE(ran.all().find(fragment), std::string::npos) << "'" << fragment << "' is not in:\n" << ran.all();
}

TEST(ConformCommand, NamesWhatIsWrongWithItsWords) {
  says("conform", 2, "name a device with -d");
  says("conform -d nothere0", 2, "nothere0");
  says("conform -d a0 -d a0", 2, "a0 is named twice");
  says("conform -d a0,a0", 2, "a0 is named twice");
  says("conform -d a0 --other a0", 2, "a0 is named as its own other end");
  says("conform -d a0 --case no.such.case", 2, "no case is called 'no.such.case'");
  says("conform -d a0 --jobs 0", 2, "--jobs");
  says("conform -d a0 --timeout 0", 2, "--timeout");
  says("conform -d a0 --substrate moon", 2, "--substrate");
  says("conform -d a0 --loss 0.01", 2, "--loss is for emulated NICs");
  says("conform -d a0 --official", 2, "--official needs --report");
  says("conform -d a0 --official --report x --case cq.*", 2, "--official runs the whole list");
  says("conform -d a0 -j", 2, "-j prints what --list does");
  says("conform --serve -j", 2, "-j prints what --list does");
  says("conform --help", 0, "Example: verbena conform");
}

TEST(ConformCommand, RunsOnAnEmulatedNic) {
#ifdef VERBENA_EMULATOR
  says("conform --nic strict --case cq.create.at_least_asked", 0, "not red");
  says("conform --nic strict --loss 0.01 --case cq.create.at_least_asked", 0, "not red");
  const Ran without = run(words("conform --nic strict --case cq.create.at_least_asked"),
                          {"VERBENA_QUIRKS=" + cli_test::written("broken.yaml", "schema: [\n")});
  EXPECT_NE(without.all().find("warning: a layer is left out: "), std::string::npos) << without.all();
  says("conform --nic e810-roc --case cq.create.at_least_asked", 2, "e810-roce");
#else
  says("conform --nic strict", 77, "no emulated NICs");
#endif
}

/// A program of Verbena's under `verbena run` has the driver's tables, and its report doesn't take the NIC for a real
/// one.
TEST(RunCommand, ShowsVerbenaTheNicOfItsDriver) {
#ifndef VERBENA_EMULATOR
  GTEST_SKIP() << "this build has no emulated NICs";
#elif defined(VERBENA_SANITIZED)
  GTEST_SKIP() << "a library with a sanitizer can't be put in front of others";
#else
  const std::string command = VERBENA_COMMAND;
  says("run --nic e810-roce -- " + command + " devices", 0, "irdma 0x8086:0x1592");
  says("run --nic e810-roce -- " + command + " explain -d e810-roce --qp rc,send_sge=16", 0, "irdma-gen2-sge");
  const std::string folder = ::testing::TempDir() + "under_run";
  for (const char* const net : {"shm", "udp", "inproc"}) {
    const std::string address = net == std::string("udp") ? " --address 127.0.0.200" : "";
    says("run --nic hip09 --net " + std::string(net) + address + " -- " + command +
             " conform -d hip09 --jobs 1 --case cq.create.at_least_asked --case data.write.* --report " + folder,
         0, "not red");
    const auto report = nlohmann::json::parse(cli_test::read(folder + "/run.json"));
    EXPECT_EQ(report.at("substrate"), "emulated") << net;
    EXPECT_EQ(report.at("device").at("driver"), "hns") << net;
  }
#endif
}

TEST(ConformCommand, ListsCasesAsTextAndAsJson) {
  const Ran text = run(words("conform --list --case cq.create.*"));
  ASSERT_EQ(text.code, 0) << text.all();
  EXPECT_NE(text.out.find("cq.create.at_least_asked"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("pd.alloc"), std::string::npos);
  const Ran json = run(words("conform --list -j"));
  ASSERT_EQ(json.code, 0) << json.all();
  const auto list = nlohmann::json::parse(json.out);
  EXPECT_EQ(list.at("schema"), 1);
  for (const auto& one : list.at("cases")) {
    for (const char* key : {"id", "says", "area", "covers", "impact", "needs", "qp_types", "setup", "source"})
      EXPECT_TRUE(one.contains(key)) << one;
  }
}

TEST(ConformCommand, AListThatIsNotThereIsAWrongWord) {
  says("conform --list --suite /nowhere/at/all", 2, "/nowhere/at/all");
}

}  // namespace
