// SPDX-License-Identifier: Apache-2.0 OR MIT
// With -j a command that cannot do what it was asked prints one JSON document all the same, whatever is wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "run_command.hpp"

namespace {

using cli_test::Ran;
using cli_test::run;
using cli_test::words;

struct Complaint {
  const char* arguments;
  int code;
  const char* kind;
  const char* says;
  friend std::ostream& operator<<(std::ostream& out, const Complaint& c) { return out << c.arguments; }
};

void expect_error(const std::vector<std::string>& arguments, const Complaint& expected) {
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, expected.code) << ran.all();
  const auto document = nlohmann::ordered_json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << "standard output is no JSON document: '" << ran.out << "'\n" << ran.err;
  EXPECT_EQ(document.begin().key(), "schema");
  EXPECT_EQ(document.begin().value(), 1);
  EXPECT_EQ(document.size(), 2U) << ran.out;
  const auto& error = document.at("error");
  EXPECT_EQ(error.at("kind"), expected.kind);
  const std::string text = error.at("text");
  EXPECT_NE(text.find(expected.says), std::string::npos) << text;
  EXPECT_NE(ran.err.find(expected.says), std::string::npos) << "not told on standard error: " << ran.err;
}

class ErrorsAsJson : public testing::TestWithParam<Complaint> {};

TEST_P(ErrorsAsJson, AreOneDocument) {
  std::vector<std::string> arguments = words(GetParam().arguments);
  arguments.emplace_back("-j");
  expect_error(arguments, GetParam());
}

const Complaint kCases[] = {
    {"", 2, "invalid_request", "subcommand is required"},
    {"expain", 2, "invalid_request", "'expain' is no subcommand"},
    {"devices -d nothere0", 2, "no_device", "nothere0"},
    {"devices --nic nothere", 2, "no_device", "nothere"},
    {"caps -d nothere0", 2, "no_device", "nothere0"},
    {"caps --nic hip09 -i 9", 2, "invalid_request", "no port 9"},
    {"explain --nic hip09", 2, "invalid_request", "nothing is asked for"},
    {"explain --nic hip09 --qp rd", 2, "invalid_request", "rd"},
    {"quirks", 2, "invalid_request", "subcommand is required"},
    {"quirks lnit", 2, "invalid_request", "'lnit' is no subcommand"},
    {"quirks lint --as moon", 2, "invalid_request", "moon"},
    {"quirks lint ./nothere.yaml", 2, "invalid_request", "nothere.yaml"},
    {"quirks list --nic nothere", 2, "no_device", "nothere"},
    {"quirks show nothere", 2, "invalid_request", "nothere"},
    {"quirks show", 2, "invalid_request", "RULE"},
    {"quirks diff builtin ./nothere", 2, "invalid_request", "nothere"},
    {"ping --nic hip09 -d rxe0", 2, "invalid_request", "no wire leads from a device of this host"},
    {"dump -d nothere0", 2, "no_device", "nothere0"},
    {"ping -d a,b,c", 2, "invalid_request", "one or two devices"},
    {"config extra", 2, "invalid_request", "extra"},
    {"report", 2, "invalid_request", "subcommand is required"},
    {"report diff x", 2, "invalid_request", "B"},
    {"report diff nothere0 nothere1", 2, "io", "nothere0"},
    {"report show x", 2, "invalid_request", "-j"},
};
INSTANTIATE_TEST_SUITE_P(Each, ErrorsAsJson, testing::ValuesIn(kCases));

#ifdef VERBENA_CONFORMANCE
const Complaint kConformCases[] = {
    {"conform", 2, "invalid_request", "name a device with -d"},
    {"conform --nic e810-roc", 2, "invalid_request", "-j prints what --list does"},
    {"conform -d a,a", 2, "invalid_request", "a is named twice"},
    {"conform -d nothere0", 2, "invalid_request", "-j prints what --list does"},
    {"conform -d a --official", 2, "invalid_request", "--official needs --report"},
    {"conform --list --case nothere", 2, "invalid_request", "no case is called 'nothere'"},
    {"conform --list --suite /nothere", 2, "io", "/nothere"},
    {"conform --serve=bad", 2, "invalid_request", "-j prints what --list does"},
    {"conform --list --jobs 0", 2, "invalid_request", "--jobs"},
};
INSTANTIATE_TEST_SUITE_P(Conform, ErrorsAsJson, testing::ValuesIn(kConformCases));

TEST(ErrorsAsJsonOfAList, NameThePlaceOfItsFirstFault) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "verbena_broken_list";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy(cli_test::source_file("conformance/cases"), folder / "cases");
  fs::copy(cli_test::source_file("conformance/expectations"), folder / "expectations");
  fs::copy(cli_test::source_file("conformance/requirements.yaml"), folder);
  fs::copy_file(cli_test::written("nonsense.yaml", "schema: 1\nnonsense: yes\n"), folder / "cases" / "nonsense.yaml");
  expect_error({"conform", "--list", "--suite", folder, "-j"}, {"", 1, "bad_table", "nonsense"});
  fs::remove_all(folder);
}
#endif

TEST(EverySubcommandWithJson, SaysInJsonThatAnOptionIsUnknownWhereverTheJIs) {
  const Complaint unknown{"", 2, "invalid_request", "--nothere"};
  for (const char* command :
       {"devices", "caps", "explain", "quirks lint", "quirks list", "quirks show x", "quirks status", "quirks diff a b",
        "quirks formulas", "quirks flags", "dump", "ping", "config", "report diff a b"}) {
    SCOPED_TRACE(command);
    for (const char* json : {"-j", "--json"}) {
      std::vector<std::string> behind = words(command);
      behind.insert(behind.end(), {"--nothere", json});
      expect_error(behind, unknown);
      std::vector<std::string> before = words(command);
      before.insert(before.end(), {json, "--nothere"});
      expect_error(before, unknown);
    }
  }
}

TEST(EverySubcommandWithJson, KnowsAShortOptionThatOthersFollow) {
  expect_error({"caps", "-ji", "9", "--nic", "hip09"}, {"", 2, "invalid_request", "no port 9"});
}

}  // namespace
