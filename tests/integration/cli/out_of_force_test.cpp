// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a rule that is not in force looks like: nowhere as if it were.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_command.hpp"

namespace {

using cli_test::Ran;
using cli_test::run;
using cli_test::words;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

std::string rule(const std::string& id, const std::string& more) {
  return "  - {id: " + id +
         ", on: qp, limit: {max_inline_data: {max: 60}}, because: A test., source: a test, evidence: measured, "
         "severity: correctness, until: open, proof: qp.create.inline_at_limit" +
         more + "}\n";
}

/// A layer with a rule for a later version, one that is off in its own table, one that is turned off, and one in force.
class OutOfForce : public testing::Test {
protected:
  Ran with_layer(const std::string& arguments) const { return run(words(arguments), {"VERBENA_QUIRKS=" + table_}); }
  Json json(const std::string& arguments) const { return Json::parse(with_layer(arguments + " -j").out); }

  const std::string table_ = cli_test::written(
      "out-of-force.yaml", "schema: 1\ndriver: irdma\nrules:\n" + rule("later", ", requires: [moonshine]") +
                               rule("own", ", enabled: false") + rule("stands", "") +
                               "disable:\n  - {id: irdma-gen2-inline, reason: a test, expires: 2100-01-01}\n");
};

struct Expected {
  const char* id;
  const char* state;
  const char* why;
};
constexpr Expected kExpected[] = {
    {"later", "skipped", "skipped: needs table operations that this version lacks: moonshine"},
    {"own", "off", "turned off in its own table"},
    {"irdma-gen2-inline", "off", "a test (until 2100-01-01)"},
};

TEST_F(OutOfForce, IsMarkedInTheListWithWhy) {
  const std::string text = with_layer("quirks list").out;
  const Json rules = json("quirks list").at("rules");
  const auto entry = [&](const std::string& id) {
    for (const Json& one : rules)
      if (one.at("id") == id) return one;
    return Json();
  };
  for (const Expected& expected : kExpected) {
    EXPECT_THAT(text, testing::ContainsRegex(std::string(expected.id) + " +irdma +qp +" + expected.state));
    EXPECT_THAT(text, testing::ContainsRegex("not in force: " + std::string(expected.id) + ": "));
    const Json one = entry(expected.id);
    EXPECT_EQ(one.at("in_force"), false) << expected.id;
    EXPECT_THAT(one.at("why_not").get<std::string>(), HasSubstr(expected.why));
  }
  EXPECT_EQ(entry("stands").at("in_force"), true);
  EXPECT_EQ(entry("stands").at("why_not"), "");
  EXPECT_THAT(text, Not(HasSubstr("not in force: stands")));
}

TEST_F(OutOfForce, IsMarkedWhereItIsShownWithWhy) {
  for (const Expected& expected : kExpected) {
    const std::string text = with_layer(std::string("quirks show ") + expected.id).out;
    EXPECT_THAT(text, HasSubstr(std::string(expected.id) + " (" + expected.state + ", not in force)"));
    EXPECT_THAT(text, HasSubstr(expected.why));
    EXPECT_EQ(json(std::string("quirks show ") + expected.id).at("rule").at("in_force"), false);
  }
  EXPECT_THAT(with_layer("quirks show stands").out, Not(HasSubstr("not in force")));
}

TEST_F(OutOfForce, IsCountedAndNamedInTheStatus) {
  const std::string text = with_layer("quirks status").out;
  const Json document = json("quirks status");
  for (const Expected& expected : kExpected) {
    EXPECT_THAT(text, HasSubstr(std::string("not in force: ") + expected.id + ": "));
    bool named = false;
    for (const Json& one : document.at("not_in_force")) named |= one.at("rule") == expected.id;
    EXPECT_TRUE(named) << expected.id;
  }
  EXPECT_THAT(text, testing::ContainsRegex("[0-9]+ of them, [0-9]+ in force"));
}

TEST_F(OutOfForce, ADriverWithoutARuleIsSaidToHaveNone) {
  const Ran ran = run(words("quirks list --driver irmda"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no rule is of a driver 'irmda'; did you mean 'irdma'?"));
  EXPECT_EQ(run(words("quirks list --driver mlx5")).code, 0);
}

TEST_F(OutOfForce, ADriverIsAWholeName) {
  const Ran part = run(words("quirks list --driver irdm"));
  EXPECT_EQ(part.code, 2);
  EXPECT_THAT(part.err, HasSubstr("no rule is of a driver 'irdm'; did you mean 'irdma'?"));
  EXPECT_EQ(part.out, "");
}

TEST_F(OutOfForce, ThatNoRuleAppliesIsSaid) {
  const Ran none = run(words("quirks list --nic e810-roce --driver hns"));
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "no rule of driver hns applies to e810-roce\n");
}

/// A layer with a fault: what it would have held, safety rules too, is in no contract.
class LeftOut : public testing::Test {
protected:
  Ran with_layer(const std::string& arguments, const char* strict = "no") const {
    return run(words(arguments), {"VERBENA_QUIRKS=" + table_, std::string("VERBENA_QUIRKS_STRICT=") + strict});
  }
  const std::string table_ =
      cli_test::written("left-out.yaml", "schema: 1\nrules:\n  - {enable: no-such-rule, reason: a test}\n");
};

TEST_F(LeftOut, StandsBesideTheHashOfTheRulesThatHold) {
  const auto quirks_of = [](const std::string& command, const Json& document) {
    if (command.starts_with("caps")) return document.at("devices").at(0).at("quirks");
    return command.starts_with("explain") ? document.at("quirks") : document;
  };
  for (const std::string command : {"explain --nic e810-roce --cq 1", "caps --nic e810-roce",
                                    "caps --raw --nic e810-roce", "quirks list", "quirks show irdma-gen2-inline"}) {
    const Json layers = quirks_of(command, Json::parse(with_layer(command + " -j").out)).at("layers_left_out");
    ASSERT_EQ(layers.size(), 1U) << command;
    EXPECT_EQ(layers.at(0).at("layer"), "env");
    EXPECT_EQ(layers.at(0).at("path"), table_);
    EXPECT_THAT(layers.at(0).at("why").get<std::string>(),
                testing::AllOf(HasSubstr("there is no rule 'no-such-rule'"), HasSubstr("safety rule")));
    if (command != "caps --raw --nic e810-roce") {
      EXPECT_THAT(with_layer(command).out, HasSubstr("warning: " + table_ + " is left out")) << command;
    }
    EXPECT_EQ(quirks_of(command, Json::parse(run(words(command + " -j")).out)).at("layers_left_out").size(), 0U);
  }
}

TEST_F(LeftOut, ATableThatIsNotReadIsOne) {
  const std::string folder = testing::TempDir() + "not-read.d";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/SITE.YAML") << "schema: 1\n";
  const Ran ran = run(words("explain --nic e810-roce --cq 1 -j"), {"VERBENA_QUIRKS=" + folder});
  const Json layers = Json::parse(ran.out).at("quirks").at("layers_left_out");
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers.at(0).at("path"), folder + "/SITE.YAML");
  std::filesystem::remove_all(folder);
}

/// What a site's rule lets stand in is granted to those who say that they take it.
TEST(Substitutes, AreAskedForOnTheCommandLine) {
  const std::string table = cli_test::written(
      "uc-by-rc.yaml",
      "schema: 1\ndriver: irdma\nrules:\n  - id: site-uc-by-rc\n    on: qp\n    replaces: irdma-no-uc-xrc-raw\n"
      "    feature: {uc: substitute}\n    because: The programs of this site take acknowledged messages\n"
      "    source: a test\n    evidence: measured\n    severity: correctness\n    until: open\n    proof: "
      "qp.create.type_uc\n");
  const auto explain = [&](const std::string& spec) {
    return run(words("explain --nic e810-roce --qp " + spec), {"VERBENA_QUIRKS=" + table});
  };
  const Ran refused = explain("uc");
  EXPECT_EQ(refused.code, 1) << refused.all();
  EXPECT_THAT(refused.out, HasSubstr("an rc one can stand in"));
  const Ran granted = explain("uc,substitutes=allow");
  EXPECT_EQ(granted.code, 0) << granted.all();
  EXPECT_THAT(granted.out, HasSubstr("substituted"));
}

TEST_F(LeftOut, IsShownAndComparedWhereTheSiteIsStrict) {
  for (const char* command : {"quirks list", "quirks show irdma-gen2-inline", "quirks status"}) {
    const Ran ran = with_layer(command, "yes");
    EXPECT_NE(ran.code, 2) << command << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("no-such-rule")) << command;
    EXPECT_THAT(ran.out, HasSubstr("with VERBENA_QUIRKS_STRICT no device opens until that is mended")) << command;
  }
  EXPECT_EQ(with_layer("quirks diff builtin builtin --nic e810-roce", "yes").code, 0);
  EXPECT_EQ(with_layer("explain --nic e810-roce --cq 1", "yes").code, 1);
}

/// Runs the command where /etc holds this table and nothing else, in a mount namespace of its own.
Ran with_etc(const std::string& table, const std::string& arguments) {
  const std::string out = cli_test::written("etc.out", "");
  const std::string line = "unshare -rm sh -c 'mount -t tmpfs none /etc && mkdir -p /etc/verbena/quirks.d && cp " +
                           table + " /etc/verbena/quirks.d/site.yaml && exec " + VERBENA_COMMAND + " " + arguments +
                           "' >" + out + " 2>&1";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, cli_test::read(out), ""};
}

TEST(SafetyOff, IsToldByExplainAndCapsWithoutBeingAskedFor) {
  if (std::system("unshare -rm sh -c 'mount -t tmpfs none /etc' 2>/dev/null") != 0)
    GTEST_SKIP() << "this machine makes no mount namespace for a user";
  const std::string table =
      cli_test::written("safety-off.yaml",
                        "schema: 1\ndriver: rxe\ndisable:\n"
                        "  - {id: rxe-post-before-rts, reason: patched here, expires: 2100-01-01}\n"
                        "  - {id: rxe-qp-sge, reason: no safety rule, expires: 2100-01-01}\n");
  for (const char* command : {"explain --nic rxe-6.12 --cq 1", "caps --nic rxe-6.12"}) {
    const Ran text = with_etc(table, command);
    EXPECT_EQ(text.code, 0) << text.out;
    EXPECT_THAT(text.out, HasSubstr("warning: the safety rule rxe-post-before-rts does not hold here: turned off by "
                                    "/etc/verbena/quirks.d/site.yaml:4: patched here (until 2100-01-01)"));
    EXPECT_THAT(text.out, HasSubstr("patched here (until 2100-01-01)"));
    EXPECT_THAT(text.out, Not(HasSubstr("no safety rule")));
    const Ran json = with_etc(table, std::string(command) + " -j");
    EXPECT_THAT(json.out, HasSubstr("\"safety_off\""));
  }
  // It would not have held on that device.
  EXPECT_THAT(with_etc(table, "explain --nic hip09 --cq 1").out, Not(HasSubstr("warning")));
}

}  // namespace
