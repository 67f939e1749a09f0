// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fake_ground.hpp"
#include "report/file.hpp"
#include "report/run_json.hpp"
#include "runner/sha256.hpp"

namespace conform::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

struct Bundle : FakeGround {
  std::string folder = ::testing::TempDir() + "verbena-bundle-" + std::to_string(getpid());
  CaseList list;

  void TearDown() override { std::filesystem::remove_all(folder); }

  void make() {
    options.official = true;
    options.repeat = kOfficialRepeat;
    list = read(cases_of("pd", "  - id: pd.alloc.works\n")).list;
    auto made = ReportFolder::open(folder);
    ASSERT_TRUE(made) << to_string(made.error());
    const auto run = run_suite(list, ground, options, &*made);
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_FALSE(run->red);
    const auto written = write_bundle(folder, list, ground, *run);
    ASSERT_TRUE(written) << to_string(written.error());
  }
  std::vector<std::string> wrong() {
    auto found = verify_bundle(folder, list);
    EXPECT_TRUE(found) << to_string(found.error());
    return found ? *found : std::vector<std::string>();
  }
  /// Changes run.json as someone would who knows the sums too.
  template <class Change>
  void forge(Change change) {
    conform::Run run = *load_run(folder + "/run.json");
    change(run);
    ASSERT_TRUE(write_file(folder + "/run.json", run_to_json(run)));
    std::string sums = *read_file(folder + "/SHA256SUMS");
    const std::size_t at = sums.find("  run.json") - 64;
    sums.replace(at, 64, sha256(*read_file(folder + "/run.json")));
    ASSERT_TRUE(write_file(folder + "/SHA256SUMS", sums));
  }
};

TEST_F(Bundle, HoldsWhatItWasMadeOf) {
  make();
  for (const char* name : {"run.json", "cases.jsonl", "device.yaml", "dmesg.txt", "versions.txt"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
  EXPECT_THAT(wrong(), IsEmpty());
}

TEST_F(Bundle, AFileThatWasChangedAddedOrTakenOutIsFound) {
  make();
  ASSERT_TRUE(write_file(folder + "/dmesg.txt", "nothing happened\n"));
  ASSERT_TRUE(write_file(folder + "/more.txt", "more\n"));
  std::filesystem::remove(folder + "/versions.txt");
  EXPECT_THAT(wrong(), Contains("dmesg.txt was changed"));
  EXPECT_THAT(wrong(), Contains("more.txt was added"));
  EXPECT_THAT(wrong(), Contains("versions.txt is not there any more"));
}

TEST_F(Bundle, AVerdictThatItsFindingsDontGiveIsFound) {
  make();
  forge([](conform::Run& run) {
    run.cases[0].raw.findings.push_back({"pd.alloc.works", Seen::refused, "EIO", {}, {}, "it was refused"});
  });
  EXPECT_THAT(wrong(), Contains(HasSubstr("pd.alloc.works (raw): is conforms, and its findings make it violates")));
}

TEST_F(Bundle, ARunWhoseColourIsNotItsCasesIsFound) {
  make();
  forge([](conform::Run& run) { run.red = true; });
  EXPECT_THAT(wrong(), Contains(HasSubstr("the run says that it is red, and it is not red")));
  forge([](conform::Run& run) {
    run.red = false;
    run.cases.clear();
  });
  EXPECT_THAT(wrong(), Contains(HasSubstr("did not run")));
}

TEST_F(Bundle, OneOfAnotherListOrNoOfficialRunIsFound) {
  make();
  forge([](conform::Run& run) { run.official = false; });
  EXPECT_THAT(wrong(), Contains("run.json is of no official run"));
  list =
      read(cases_of("pd", "  - id: pd.alloc.works\n  - id: pd.x\n    says: It.\n    covers: [pd.alloc.works]\n")).list;
  EXPECT_THAT(wrong(), Contains(HasSubstr("this build has list 3 with 2")));
}

}  // namespace
}  // namespace conform::testing
