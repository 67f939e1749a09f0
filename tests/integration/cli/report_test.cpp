// SPDX-License-Identifier: Apache-2.0 OR MIT
// `verbena report`: what it writes, its exit codes, and what it says of a run that it cannot read.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/run_json.hpp"
#include "run_command.hpp"
#include "small_run.hpp"

namespace {

namespace fs = std::filesystem;
using cli_test::Ran;
using cli_test::run;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Report : public testing::Test {
protected:
  Report() { fs::create_directories(folder_ / "kept"); }
  ~Report() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string write(const std::string& name, const conform::Run& what) const {
    return write(name, conform::run_to_json(what));
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }
  static conform::Run emulated() {
    conform::Run run = conform::small_run();
    run.substrate = conform::Substrate::emulated;
    run.device.model = "e810-roce";
    return run;
  }
  const fs::path folder_ = fs::path(testing::TempDir()) / ("verbena_report_" + std::to_string(getpid()));
};

TEST_F(Report, EverySubcommandHasHelpWithAnExample) {
  for (const char* one : {"show", "html", "junit", "matrix", "diff"}) {
    const Ran ran = run({"report", one, "--help"});
    EXPECT_EQ(ran.code, 0) << one;
    EXPECT_THAT(ran.out, HasSubstr(std::string("Example: verbena report ") + one));
  }
}

TEST_F(Report, ShowsARunOfAFileAndOfTheFolderThatHoldsIt) {
  write("run.json", conform::small_run());
  for (const std::string& from : {path("run.json"), folder_.string()}) {
    const Ran ran = run({"report", "show", from});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("rxe, kernel 6.12.117"), HasSubstr("RED, 1 reason")));
  }
}

TEST_F(Report, CutsNoLineThatATerminalDoesNotHaveToHold) {
  conform::Run long_reason = conform::small_run();
  long_reason.why_red = {std::string(300, 'x') + " end"};
  const Ran ran = run({"report", "show", write("run.json", long_reason)});
  EXPECT_THAT(ran.out, AllOf(HasSubstr(std::string(300, 'x') + " end"), Not(HasSubstr("\xe2\x80\xa6"))));
}

TEST_F(Report, WritesPageAndJunitToAFileOrToStandardOutput) {
  const std::string from = write("run.json", conform::small_run());
  EXPECT_EQ(run({"report", "html", from, "-o", path("run.html")}).code, 0);
  EXPECT_THAT(read("run.html"), HasSubstr("<!doctype html>"));
  EXPECT_EQ(run({"report", "junit", from, "-o", path("run.xml")}).code, 0);
  EXPECT_THAT(read("run.xml"), HasSubstr("<testsuites "));
  EXPECT_EQ(run({"report", "junit", from, "-o", "-"}).out, read("run.xml"));
}

TEST_F(Report, WhatCannotBeWrittenIsAnErrorWithTheNameAndLeavesWhatWasThere) {
  const std::string from = write("run.json", conform::small_run());
  const Ran nowhere = run({"report", "html", from, "-o", path("none/run.html")});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, AllOf(HasSubstr(path("none/run.html")), HasSubstr("No such file")));
  const Ran folder = run({"report", "html", from, "-o", path("kept")});
  EXPECT_EQ(folder.code, 1);
  EXPECT_THAT(folder.err, HasSubstr("Is a directory"));
  if (access("/dev/full", W_OK) == 0) {
    const Ran full = run({"report", "junit", from, "-o", "/dev/full"});
    EXPECT_EQ(full.code, 1);
    EXPECT_THAT(full.err, HasSubstr("No space left"));
  }
}

TEST_F(Report, ARunThatCannotBeReadIsNoFinding) {
  const std::string good = write("run.json", conform::small_run());
  std::string newer = conform::run_to_json(conform::small_run());
  newer.replace(newer.find("\"schema\": 1"), 11, "\"schema\": 9");
  const std::string bad = write("bad.json", newer);
  const std::string cut = write("cut.json", newer.substr(0, 300));
  for (const char* one : {"show", "html", "junit", "matrix", "diff"}) {
    std::vector<std::string> arguments{"report", one, bad};
    const std::string name = one;
    if (name == "diff") arguments.push_back(good);
    if (name != "diff" && name != "show") arguments.insert(arguments.end(), {"-o", path("out")});
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << one;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(bad), HasSubstr("schema is 9"), HasSubstr("schema 1"))) << one;
    EXPECT_FALSE(fs::exists(path("out"))) << one;
  }
  EXPECT_THAT(run({"report", "show", cut}).err, HasSubstr("is no JSON"));
  EXPECT_THAT(run({"report", "diff", good, path("none.json")}).err, HasSubstr(path("none.json")));
  EXPECT_THAT(run({"report", "show", path("kept")}).err, HasSubstr("kept/run.json"));
}

TEST_F(Report, DiffTellsAScriptWhetherAResultDiffers) {
  const std::string a = write("a.json", conform::small_run());
  conform::Run other = conform::small_run();
  other.device.kernel = "6.1.170";
  const std::string same = write("same.json", other);
  other.cases[0].raw.verdict = conform::Verdict::deviates;
  const std::string b = write("b.json", other);
  EXPECT_EQ(run({"report", "diff", a, a}).code, 0);
  EXPECT_EQ(run({"report", "diff", a, same}).code, 0);
  const Ran ran = run({"report", "diff", a, b});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("verdict: conforms -> deviates"), HasSubstr("device.kernel")));
  const Ran json = run({"report", "diff", a, b, "-j"});
  EXPECT_EQ(json.code, 1);
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["same"], false);
  EXPECT_EQ(document["cases"][0]["id"], "cq.create.depth_at_limit");
}

TEST_F(Report, AMatrixPutsModelsOnAPageOfTheirOwn) {
  const std::string device = write("device.json", conform::small_run());
  const std::string model = write("model.json", emulated());
  const Ran both = run({"report", "matrix", device, model, "-o", path("matrix.html")});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr(path("matrix.models.html")));
  EXPECT_THAT(read("matrix.html"), Not(HasSubstr("e810-roce")));
  EXPECT_THAT(read("matrix.models.html"), HasSubstr("model of e810-roce"));
  EXPECT_EQ(run({"report", "matrix", model, "-o", path("only.html")}).code, 0);
  EXPECT_THAT(read("only.html"), HasSubstr("model of e810-roce"));
  EXPECT_FALSE(fs::exists(path("only.models.html")));
  EXPECT_EQ(run({"report", "matrix", device, model, "-o", "-"}).code, 2);
}

}  // namespace
