// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/settings.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace verbena {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SettingsTest : public testing::Test {
protected:
  SettingsTest()
      : path_(testing::TempDir() + "verbena_site_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
              "_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml") {}
  ~SettingsTest() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  void site(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  Result<LoadedSettings> load(std::vector<std::string> environment = {}, bool privileged = false) {
    return load_settings(path_, environment, privileged);
  }
  static SettingInfo info(const LoadedSettings& loaded, std::string_view key) {
    for (const SettingInfo& one : loaded.info)
      if (one.key == key) return one;
    ADD_FAILURE() << "no setting " << key;
    return {};
  }
  const std::string path_;
};

TEST_F(SettingsTest, WithoutFileAndEnvironmentTheDefaultsHoldAndSaySo) {
  const auto loaded = load();
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_TRUE(loaded->values.beyond_declared);
  EXPECT_FALSE(loaded->values.strict_quirks);
  EXPECT_EQ(loaded->values.ladder_tries, 8U);
  EXPECT_TRUE(loaded->values.quirks_path.empty());
  EXPECT_EQ(loaded->info.size(), 4U);
  for (const SettingInfo& one : loaded->info) {
    EXPECT_EQ(one.from, "default") << one.key;
    EXPECT_FALSE(one.help.empty()) << one.key;
    EXPECT_THAT(one.variable, testing::StartsWith("VERBENA_"));
  }
  EXPECT_TRUE(loaded->findings.empty());
}

TEST_F(SettingsTest, TheSiteFileSetsEachAndIsNamedWithItsLine) {
  site("schema: 1\nfit: {beyond_declared: forbid}\nquirks:\n  strict: yes\n  path: /opt/quirks\ncreate: {tries: 3}\n");
  const auto loaded = load();
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_FALSE(loaded->values.beyond_declared);
  EXPECT_TRUE(loaded->values.strict_quirks);
  EXPECT_EQ(loaded->values.ladder_tries, 3U);
  EXPECT_EQ(loaded->values.quirks_path, "/opt/quirks");
  EXPECT_EQ(info(*loaded, "fit.beyond_declared").from, path_ + ":2");
  EXPECT_EQ(info(*loaded, "quirks.strict").from, path_ + ":4");
  EXPECT_EQ(info(*loaded, "create.tries").value, "3");
}

TEST_F(SettingsTest, TheEnvironmentStandsOverTheSiteFile) {
  site("fit: {beyond_declared: forbid}\ncreate: {tries: 3}\n");
  const auto loaded = load({"VERBENA_FIT_BEYOND_DECLARED=allow", "VERBENA_QUIRKS_STRICT=yes", "VERBENA_QUIRKS=a:b",
                            "HOME=/root", "VERBENA_CREATE_TRIES=64"});
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_TRUE(loaded->values.beyond_declared);
  EXPECT_TRUE(loaded->values.strict_quirks);
  EXPECT_EQ(loaded->values.ladder_tries, 64U);
  EXPECT_EQ(loaded->values.quirks_path, "a:b");
  for (const SettingInfo& one : loaded->info) EXPECT_EQ(one.from, "environment") << one.key;
}

TEST_F(SettingsTest, APrivilegedProcessReadsNoEnvironment) {
  site("create: {tries: 3}\n");
  const auto loaded =
      load({"VERBENA_FIT_BEYOND_DECLARED=forbid", "VERBENA_CREATE_TRIES=broken", "VERBENA_QUIRKS=/tmp"}, true);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_TRUE(loaded->privileged);
  EXPECT_TRUE(loaded->values.beyond_declared);
  EXPECT_TRUE(loaded->values.quirks_path.empty());
  EXPECT_EQ(loaded->values.ladder_tries, 3U) << "the site file is root's and is read";
}

TEST_F(SettingsTest, AnUnknownVariableIsAWarningWithTheNearest) {
  const auto loaded = load({"VERBENA_QUIRKS_STRIKT=yes", "VERBENA_VM_CACHE=/tmp", "VERBENANOT=1"});
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  ASSERT_EQ(loaded->findings.size(), 1U);
  EXPECT_EQ(loaded->findings[0].level, FindingLevel::warning);
  EXPECT_THAT(loaded->findings[0].text,
              AllOf(HasSubstr("'VERBENA_QUIRKS_STRIKT'"), HasSubstr("did you mean 'VERBENA_QUIRKS_STRICT'?")));
  EXPECT_FALSE(loaded->values.strict_quirks);
}

TEST_F(SettingsTest, ABadValueInTheEnvironmentIsAnErrorThatNamesWhatIsAllowed) {
  for (const char* entry :
       {"VERBENA_CREATE_TRIES=0", "VERBENA_CREATE_TRIES=65", "VERBENA_CREATE_TRIES=-1",
        "VERBENA_CREATE_TRIES=", "VERBENA_CREATE_TRIES=18446744073709551616", "VERBENA_CREATE_TRIES=8x",
        "VERBENA_FIT_BEYOND_DECLARED=yes", "VERBENA_QUIRKS_STRICT=true"}) {
    const auto loaded = load({entry});
    ASSERT_FALSE(loaded) << entry;
    const std::string text = entry;
    EXPECT_THAT(loaded.error().text, AllOf(HasSubstr(text.substr(0, text.find('='))), HasSubstr("allowed are")));
    EXPECT_EQ(loaded.error().by.set_by, SetBy::site);
  }
}

TEST_F(SettingsTest, FaultsOfTheSiteFileAreToldWithTheirPlace) {
  struct Case {
    std::string text, place, says;
    int line;
  };
  const std::vector<Case> cases{
      {"fit:\n  beyond_declare: allow\n", ":2:3: ", "did you mean 'fit.beyond_declared'?", 2},
      {"fit: {beyond_declared: maybe}\n", ":1:24: ", "allow | forbid", 1},
      {"create:\n  tries: 65\n", ":2:10: ", "1..64", 2},
      {"create:\n  tries: [8]\n", ":2:10: ", "1..64", 2},
      {"fit: allow\n", ":1:6: ", "section 'fit'", 1},
      {"fit: {beyond_declared: allow}\nfit: {}\n", ":2:1: ", "a second time", 2},
      {"schema: 7\n", ":1:9: ", "schema 1", 1},
      {"- fit\n", ":1:1: ", "a map of sections", 1},
      {"fit: [\n", ":2:1: ", "not YAML", 2},
      {"fit: &a {}\n", ":1:6: ", "an anchor", 1},
  };
  for (const Case& one : cases) {
    site(one.text);
    const auto loaded = load();
    ASSERT_FALSE(loaded) << one.text;
    EXPECT_EQ(loaded.error().kind, ErrorKind::bad_table);
    EXPECT_EQ(loaded.error().by.file, path_);
    EXPECT_EQ(loaded.error().by.line, one.line) << one.text << loaded.error().text;
    EXPECT_THAT(loaded.error().text, AllOf(HasSubstr(path_ + one.place), HasSubstr(one.says)));
  }
}

TEST_F(SettingsTest, AnEmptySiteFileSaysNothing) {
  site("# nothing yet\n");
  EXPECT_TRUE(load().has_value());
  site("");
  EXPECT_TRUE(load().has_value());
}

TEST_F(SettingsTest, ASiteFileThatIsTooLargeIsRefused) {
  site("# large\n");
  std::filesystem::resize_file(path_, std::uintmax_t{50} << 20);
  const auto loaded = load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().text, HasSubstr("52428800 bytes"));
}

TEST_F(SettingsTest, ASiteFileThatCannotBeLookedAtIsNotOneThatIsNotThere) {
  std::filesystem::create_symlink(path_, path_);
  const auto loaded = load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().text, HasSubstr("cannot be looked at"));
}

TEST_F(SettingsTest, ADirectoryInPlaceOfTheSiteFileIsAnError) {
  std::filesystem::create_directory(path_);
  const auto loaded = load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().text, AllOf(HasSubstr(path_), HasSubstr("cannot be read")));
}

TEST(SiteFile, SaysWhatItFoundOfAListAndOfAnotherSchema) {
  const auto said = [](const std::string& text) {
    const std::string path = testing::TempDir() + "/verbena_site_said.yaml";
    std::ofstream(path) << text;
    const auto loaded = load_settings(path, {}, false);
    return loaded ? std::string() : loaded.error().text;
  };
  EXPECT_THAT(said("schema: 3\n"), testing::HasSubstr("schema '3'; this version reads schema 1"));
  EXPECT_THAT(said("schema: 1\nquirks: {path: [/a, /b]}\n"),
              testing::AllOf(testing::HasSubstr("quirks.path; one value is allowed"), testing::HasSubstr("':'")));
}

}  // namespace
}  // namespace verbena
