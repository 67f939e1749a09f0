// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "fake/fake_verbs.hpp"
#include "unit/quirks/table_texts.hpp"
#include "verbena/cq.hpp"

namespace verbena {
namespace {

using test::layer;
using test::table;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// A rule of every device that irdma drives: at most so many entries in a completion queue.
std::string cq_at_most(std::uint32_t entries, const std::string& id = "site-cq") {
  return table({{.id = id, .rest = "on: cq, limit: {cqe: {max: " + std::to_string(entries) + "}}"}});
}

/// A fake host with one irdma device, and a layer in a file that a test may write anew.
class LibraryOverFake : public ::testing::Test {
protected:
  std::shared_ptr<fake::FakeVerbs> host = std::make_shared<fake::FakeVerbs>();
  std::vector<LogRecord> log;
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("verbena-library-" + std::to_string(::getpid()) + "-" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::path site = folder / "site.yaml";

  void SetUp() override {
    std::filesystem::create_directories(folder);
    fake::FakeDevice nic = fake::roce_device("irdma0", 1);
    nic.driver_id = 9;
    host->add(nic);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string& text) const { std::ofstream(site) << text; }
  LibraryOptions options() {
    LibraryOptions out;
    out.settings.emplace();
    out.verbs = host;
    out.layers = {layer(LayerKind::builtin, cq_at_most(1000, "base")),
                  LayerSource{.kind = LayerKind::etc, .path = site.string(), .texts = {}}};
    out.log = [this](const LogRecord& record) { log.push_back(record); };
    return out;
  }
  static std::uint32_t granted(const Device& device) {
    const auto cq = Cq::create(device, CqRequest{Wish{4000, 1}});
    EXPECT_TRUE(cq) << to_string(cq.error());
    return cq ? cq->grant().cqe.granted : 0;
  }
  unsigned logged(LogLevel level, const std::string& words) const {
    return static_cast<unsigned>(std::count_if(log.begin(), log.end(), [&](const LogRecord& record) {
      return record.level == level && record.text.find(words) != std::string::npos;
    }));
  }
};

TEST_F(LibraryOverFake, CreateReadsItsLayersAndOpensUnderThem) {
  write(cq_at_most(64));
  const auto library = Library::create(options());
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->quirks()->rules().size(), 2U);
  const auto device = library->open("irdma0");
  ASSERT_TRUE(device) << to_string(device.error());
  EXPECT_EQ(granted(*device), 64U);
  EXPECT_EQ((*device->contract())->quirks_hash(), library->quirks()->hash());
}

TEST_F(LibraryOverFake, ALayerThatIsNotThereIsNoFault) {
  const auto library = Library::create(options());
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->quirks()->rules().size(), 1U);
  EXPECT_FALSE(library->quirks()->layers()[1].present);
  EXPECT_TRUE(log.empty());
}

TEST_F(LibraryOverFake, ABrokenSiteLayerIsDroppedWithAWarningThatNamesThePlace) {
  write("schema: 1\ndriver: irdma\nruless: []\n");
  const auto library = Library::create(options());
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_EQ(library->quirks()->rules().size(), 1U);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].level, LogLevel::warn);
  EXPECT_THAT(log[0].text, AllOf(HasSubstr("left out whole"), HasSubstr("site.yaml:3:"), HasSubstr("'rules'")));
}

TEST_F(LibraryOverFake, StrictMakesThatAFailureToStart) {
  write("schema: 1\ndriver: irdma\nruless: []\n");
  LibraryOptions strict = options();
  strict.settings->values.strict_quirks = true;
  const auto library = Library::create(std::move(strict));
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::bad_table);
  EXPECT_EQ(library.error().by.file, site.string());
  EXPECT_EQ(library.error().by.line, 3);
}

TEST_F(LibraryOverFake, ABrokenBuiltInLayerIsAFailureToStart) {
  LibraryOptions broken = options();
  broken.layers[0] = layer(LayerKind::builtin, "schema: 1\nrules: 3\n");
  EXPECT_EQ(Library::create(std::move(broken)).error().kind, ErrorKind::bad_table);
}

TEST_F(LibraryOverFake, WithoutLayersItTakesThoseOfTheHostAndTheSettings) {
  write(cq_at_most(64));
  for (const bool privileged : {false, true}) {
    LibraryOptions plain = options();
    plain.layers.clear();
    plain.settings->values.quirks_path = site.string();
    plain.settings->privileged = privileged;
    const auto library = Library::create(std::move(plain));
    ASSERT_TRUE(library) << to_string(library.error());
    const auto layers = library->quirks()->layers();
    EXPECT_EQ(layers.front().kind, LayerKind::builtin);
    EXPECT_GT(layers.front().rules, 100U);
    const bool from_environment =
        std::any_of(layers.begin(), layers.end(), [&](const LayerReport& one) { return one.path == site.string(); });
    EXPECT_EQ(from_environment, !privileged) << "a privileged process reads no environment";
  }
}

TEST_F(LibraryOverFake, ReloadSwapsTheWholeSetAndLeavesObjectsAlone) {
  write(cq_at_most(64));
  auto library = Library::create(options());
  ASSERT_TRUE(library);
  const auto device = library->open("irdma0");
  ASSERT_TRUE(device);
  const auto old_rules = library->quirks();
  const auto old_contract = *device->contract();
  const auto cq = Cq::create(*device, CqRequest{Wish{4000, 1}});
  ASSERT_TRUE(cq);

  write(cq_at_most(32));
  const auto reloaded = library->reload();
  ASSERT_TRUE(reloaded) << to_string(reloaded.error());
  EXPECT_EQ(*reloaded, library->quirks());
  EXPECT_NE((*reloaded)->hash(), old_rules->hash());
  EXPECT_EQ(granted(*device), 32U) << "what is made from now on";
  EXPECT_EQ((*device->contract())->quirks_hash(), (*reloaded)->hash());
  EXPECT_EQ(cq->grant().cqe.granted, 64U) << "what exists keeps its contract";
  EXPECT_EQ(cq->grant().quirks_hash, old_rules->hash());
  EXPECT_EQ(cq->resize(Wish{4000, 1})->cqe.granted, 64U);
  EXPECT_EQ(old_contract->domain(Field::cqe).max, 64U);
  EXPECT_EQ(logged(LogLevel::info, "reloaded"), 1U);
}

TEST_F(LibraryOverFake, AReloadOfTheSameTablesKeepsTheHash) {
  write(cq_at_most(64));
  auto library = Library::create(options());
  ASSERT_TRUE(library);
  const std::uint64_t before = library->quirks()->hash();
  ASSERT_TRUE(library->reload());
  EXPECT_EQ(library->quirks()->hash(), before);
}

TEST_F(LibraryOverFake, AReloadThatBreaksALayerKeepsItsLastGoodRulesAndSaysSo) {
  write(cq_at_most(64));
  auto library = Library::create(options());
  ASSERT_TRUE(library);
  const auto device = library->open("irdma0");
  ASSERT_TRUE(device);
  const std::uint64_t before = library->quirks()->hash();
  write("rules: [\n");
  ASSERT_TRUE(library->reload());
  EXPECT_EQ(granted(*device), 64U);
  EXPECT_EQ(library->quirks()->hash(), before);
  EXPECT_EQ(logged(LogLevel::warn, "site.yaml:2:1: warning: not YAML"), 1U);
  EXPECT_EQ(logged(LogLevel::warn, "last good rules stay in force"), 1U);
  const auto left_out = layers_left_out(*library->quirks());
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].layer, LayerKind::etc);
  EXPECT_THAT(left_out[0].why, AllOf(HasSubstr("site.yaml:2:1"), HasSubstr("last good rules stay in force")));
  write(cq_at_most(16));
  ASSERT_TRUE(library->reload());
  EXPECT_TRUE(layers_left_out(*library->quirks()).empty());
  EXPECT_EQ(logged(LogLevel::warn, "last good rules stay in force"), 1U) << "and says nothing more";
  EXPECT_EQ(granted(*device), 16U) << "and is taken again once it is whole";
}

TEST_F(LibraryOverFake, AReloadWithoutATableThatWasNamedKeepsItsLastGoodRulesAndSaysSo) {
  write(cq_at_most(64));
  LibraryOptions named = options();
  named.layers.back().kind = LayerKind::env;
  auto library = Library::create(std::move(named));
  ASSERT_TRUE(library);
  const std::uint64_t before = library->quirks()->hash();
  std::filesystem::remove(site);
  ASSERT_TRUE(library->reload());
  EXPECT_EQ(library->quirks()->hash(), before);
  EXPECT_EQ(logged(LogLevel::warn, "there is no such file or directory (the layer's last good rules stay in force)"),
            1U);
  EXPECT_EQ(layers_left_out(*library->quirks()).size(), 1U);
}

TEST_F(LibraryOverFake, ATableWithAnotherSuffixIsToldAndAnEditorsFileIsNot) {
  for (const char* name : {"50.yml", "60.YAML", ".hidden.yaml"}) std::ofstream(folder / name) << "schema: 9\n";
  write(cq_at_most(64));
  LibraryOptions whole = options();
  whole.layers.back().path = folder.string();
  const auto library = Library::create(std::move(whole));
  ASSERT_TRUE(library) << to_string(library.error());
  const auto layers = library->quirks()->layers();
  std::vector<std::string> told;
  for (const Finding& finding : layers.back().findings) told.push_back(to_string(finding));
  EXPECT_TRUE(layers.back().loaded);
  EXPECT_THAT(told, UnorderedElementsAre(AllOf(HasSubstr("50.yml"), HasSubstr("is not read")),
                                         AllOf(HasSubstr("60.YAML"), HasSubstr("is not read"))));
}

TEST_F(LibraryOverFake, SettingsThatAreLeftOutAreThoseOfTheHost) {
  LibraryOptions bare = options();
  bare.settings.reset();
  setenv("VERBENA_FIT_BEYOND_DECLARED", "forbid", 1);
  const auto library = Library::create(bare);
  setenv("VERBENA_FIT_BEYOND_DECLARED", "sometimes", 1);
  const auto refused = Library::create(bare);
  unsetenv("VERBENA_FIT_BEYOND_DECLARED");
  ASSERT_TRUE(library) << to_string(library.error());
  EXPECT_FALSE(library->settings().beyond_declared);
  EXPECT_FALSE(refused);
}

TEST_F(LibraryOverFake, AStrictReloadThatFailsChangesNothing) {
  write(cq_at_most(64));
  LibraryOptions strict = options();
  strict.settings->values.strict_quirks = true;
  auto library = Library::create(std::move(strict));
  ASSERT_TRUE(library);
  const auto before = library->quirks();
  write("rules: [\n");
  EXPECT_EQ(library->reload().error().kind, ErrorKind::bad_table);
  EXPECT_EQ(library->quirks(), before);
}

TEST_F(LibraryOverFake, AReloadMayRunBesideEverythingElse) {
  write(cq_at_most(64));
  auto library = Library::create(options());
  ASSERT_TRUE(library);
  const auto device = library->open("irdma0");
  ASSERT_TRUE(device);
  std::atomic<bool> stop = false;
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto contract = *device->contract();
        const std::uint64_t most = contract->domain(Field::cqe).max;
        if (most != 64 && most != 32) ++wrong;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    write(cq_at_most(round % 2 == 0 ? 32 : 64));
    EXPECT_TRUE(library->reload());
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0U) << "never half of one set and half of another";
}

}  // namespace
}  // namespace verbena
