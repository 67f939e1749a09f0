// SPDX-License-Identifier: Apache-2.0 OR MIT
// What explain must show of known NICs, through the command and its JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "run_command.hpp"

namespace {

using cli_test::run;
using cli_test::words;
using Json = nlohmann::ordered_json;

Json explain(const std::string& arguments, const std::vector<std::string>& environment = {}, int code = 0) {
  std::vector<std::string> all = words("explain " + arguments);
  all.emplace_back("-j");
  const cli_test::Ran ran = run(all, environment);
  EXPECT_EQ(ran.code, code) << ran.all();
  return Json::parse(ran.out, nullptr, false);
}

/// The adjustment of a field and kind; null when there is none.
Json adjustment(const Json& object, const std::string& field, const std::string& kind) {
  for (const Json& entry : object.at("adjustments")) {
    if (entry.at("field") == field && entry.at("kind") == kind) return entry;
  }
  return nullptr;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

TEST(MustShow, E810GivesEachNumberWithItsRuleAndSource) {
  const Json document = explain("--nic e810-roce --qp rc,send_wr=4096,recv_wr=4096,send_sge=16,recv_sge=16,inline=256");
  const Json& qp = document.at("objects").at(0);
  EXPECT_EQ(qp.at("granted").at("max_send_sge"), 13);
  EXPECT_EQ(qp.at("granted").at("max_recv_sge"), 13);
  EXPECT_EQ(qp.at("granted").at("max_inline_data"), 101);
  EXPECT_EQ(qp.at("granted").at("max_send_wr"), 4063);
  EXPECT_EQ(qp.at("granted").at("max_recv_wr"), 4095);
  for (const char* field : {"max_send_sge", "max_recv_sge", "max_inline_data", "max_send_wr", "max_recv_wr"}) {
    const Json change = adjustment(qp, field, "reduced");
    ASSERT_TRUE(change.is_object()) << field;
    EXPECT_NE(change.at("rule"), "") << field;
    EXPECT_NE(change.at("source"), "") << field;
    EXPECT_NE(change.at("file"), "") << field;
    EXPECT_GT(change.at("line"), 0) << field;
  }
}

TEST(MustShow, TheJsonHasItsKeysInOrder) {
  const Json document = explain("--nic e810-roce --qp rc,inline=256");
  EXPECT_EQ(keys(document), (std::vector<std::string>{"schema", "device", "quirks", "objects"}));
  EXPECT_EQ(document.at("schema"), 1);
  EXPECT_EQ(document.at("quirks").at("hash").get<std::string>().size(), 16U);
  const Json& qp = document.at("objects").at(0);
  EXPECT_EQ(keys(qp),
            (std::vector<std::string>{"kind", "asked", "granted", "passed", "returned", "adjustments", "error"}));
  EXPECT_TRUE(qp.at("returned").is_null());
  EXPECT_TRUE(qp.at("error").is_null());
  EXPECT_EQ(keys(qp.at("adjustments").at(0)), (std::vector<std::string>{"field", "asked", "granted", "kind", "set_by",
                                                                        "rule", "reason", "source", "file", "line"}));
}

TEST(MustShow, SeveralDevicesAreOneDocument) {
  const Json document = explain("--nic e810-roce,hip09 --cq 64");
  EXPECT_EQ(keys(document), (std::vector<std::string>{"schema", "devices"}));
  EXPECT_EQ(document.at("devices").size(), 2U);
}

TEST(MustShow, MoreThanE810DeclaresUnlessTheSiteForbidsIt) {
  const std::string request = "--nic e810-roce --qp rc,send_wr=16000,recv_wr=64,send_sge=2,recv_sge=1,inline=0";
  const Json allowed = explain(request);
  EXPECT_EQ(allowed.at("objects").at(0).at("granted").at("max_send_wr"), 16000);
  const Json change = adjustment(allowed.at("objects").at(0), "max_send_wr", "beyond_declared");
  ASSERT_TRUE(change.is_object());
  EXPECT_NE(change.at("reason").get<std::string>().find("4063"), std::string::npos);

  const Json forbidden = explain(request, {"VERBENA_FIT_BEYOND_DECLARED=forbid"});
  EXPECT_EQ(forbidden.at("objects").at(0).at("granted").at("max_send_wr"), 4063);
}

TEST(MustShow, ConnectX5CountsBytesAndTheOpcodesCount) {
  const Json all = explain("--nic connectx5 --qp rc,send_wr=32768,recv_wr=64,send_sge=4,recv_sge=1,inline=60");
  EXPECT_EQ(all.at("objects").at(0).at("granted").at("max_send_wr"), 8192);
  const Json change = adjustment(all.at("objects").at(0), "max_send_wr", "reduced");
  ASSERT_TRUE(change.is_object());
  EXPECT_NE(change.at("reason").get<std::string>().find("256"), std::string::npos) << change;

  const Json few =
      explain("--nic connectx5 --qp rc,send_wr=32768,recv_wr=64,send_sge=4,recv_sge=1,inline=60,ops=send+write+read");
  EXPECT_EQ(few.at("objects").at(0).at("granted").at("max_send_wr"), 16384);
}

TEST(MustShow, Hip09PassesOneMore) {
  const Json document = explain("--nic hip09 --cq 64");
  const Json& cq = document.at("objects").at(0);
  EXPECT_EQ(cq.at("granted").at("cqe"), 64);
  EXPECT_EQ(cq.at("passed").at("cqe"), 65);
}

TEST(MustShow, TheClaimAboutE810HoldsOnlyWhereASiteTurnsItOn) {
  const Json plain = explain("--nic e810-roce --cq 1000");
  EXPECT_EQ(plain.at("objects").at(0).at("granted").at("cqe"), 1000);
  EXPECT_EQ(plain.at("objects").at(0).at("passed").at("cqe"), 1000);

  const std::string layer = cli_test::source_file("quirks/examples/e810-cq-power-of-two.yaml");
  const Json turned_on = explain("--nic e810-roce --cq 1000", {"VERBENA_QUIRKS=" + layer});
  const Json& cq = turned_on.at("objects").at(0);
  EXPECT_EQ(cq.at("granted").at("cqe"), 1000);
  EXPECT_EQ(cq.at("passed").at("cqe"), 1024);
  const Json& why = cq.at("passed_by").at(0);
  EXPECT_EQ(why.at("layer"), "env");
  EXPECT_EQ(why.at("file"), layer);
  EXPECT_GT(why.at("line"), 0);
}

TEST(MustShow, RxeHoldsFewCompletions) {
  EXPECT_EQ(explain("--nic rxe-6.12 --cq 65536").at("objects").at(0).at("granted").at("cqe"), 32767);
}

TEST(MustShow, Hip09RaisesAnEmptySendQueue) {
  const Json document = explain("--nic hip09 --qp rc,send_wr=0,recv_wr=64");
  const Json& qp = document.at("objects").at(0);
  EXPECT_TRUE(qp.at("error").is_null());
  EXPECT_TRUE(adjustment(qp, "max_send_wr", "raised").is_object());
}

TEST(MustShow, ARefusedObjectNamesItsAttribute) {
  const Json document = explain("--nic e810-roce --qp rc,inline=200..256", {}, 1);
  const Json& qp = document.at("objects").at(0);
  EXPECT_TRUE(qp.at("granted").is_null());
  EXPECT_EQ(qp.at("error").at("field"), "max_inline_data");
  EXPECT_EQ(qp.at("error").at("allowed"), 101);
}

}  // namespace
