// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every table in tests/data/broken_tables says in its second line where it is broken and what must be said of it:
// `# expect LINE:COLUMN words of the sentence`.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "table_texts.hpp"

namespace verbena::test {
namespace {

namespace fs = std::filesystem;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VERBENA_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VERBENA_SANITIZED
#endif
#if defined(VERBENA_SANITIZED) || defined(VERBENA_TEST_EMULATED)
constexpr double kMilliseconds = 5000.0;
#elif defined(__OPTIMIZE__)
constexpr double kMilliseconds = 100.0;
#else
constexpr double kMilliseconds = 500.0;
#endif

/// CPU time, so that a busy machine does not fail the test.
double milliseconds(const std::function<void()>& work) {
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  work();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  return static_cast<double>(after.tv_sec - before.tv_sec) * 1e3 +
         static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e6;
}

std::vector<Finding> refused(const LayerSource& source) {
  Result<std::shared_ptr<const QuirkSet>> set = tl::unexpected(Error{});
  // The best of three: what a text costs, not what else the machine does.
  double took = kMilliseconds + 1;
  for (int tries = 0; tries < 3 && took > kMilliseconds; ++tries)
    took = std::min(took, milliseconds([&] { set = load({source}); }));
  EXPECT_LE(took, kMilliseconds) << source.path;
  EXPECT_TRUE(set.has_value());
  if (!set) return {};
  const LayerReport& report = (*set)->layers().front();
  EXPECT_FALSE(report.loaded) << source.path;
  EXPECT_TRUE((*set)->rules().empty()) << source.path;
  return report.findings;
}

std::vector<Finding> refused(std::string text) {
  return refused(layer(LayerKind::etc, std::move(text)));
}

TEST(BrokenTables, AreRefusedAtTheirPlaceWithASentence) {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(BROKEN_TABLES)) {
    const std::string path = entry.path().string();
    std::ifstream stream(path);
    std::string spdx, expect;
    std::getline(stream, spdx);
    std::getline(stream, expect);
    std::istringstream words(expect);
    std::string hash, key;
    int line = 0, column = 0;
    char colon = 0;
    words >> hash >> key >> line >> colon >> column;
    ASSERT_EQ(key, "expect") << path;
    std::string sentence;
    std::getline(words >> std::ws, sentence);

    LayerSource source;
    source.kind = LayerKind::etc;
    source.path = path;
    const auto findings = refused(source);
    const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.level == FindingLevel::error && finding.file == path && finding.line == line &&
             finding.column == column && finding.text.find(sentence) != std::string::npos;
    });
    std::string said;
    for (const Finding& finding : findings) said += to_string(finding) + "\n";
    EXPECT_TRUE(found) << path << " expected at " << line << ":" << column << ": " << sentence << "\nsaid:\n" << said;
    ++seen;
  }
  EXPECT_GE(seen, 40U);
}

TEST(BrokenTables, AFileOfFiftyMegabytesIsNotReadIn) {
  const fs::path path = fs::path(testing::TempDir()) / "verbena_fifty_megabytes.yaml";
  {
    std::ofstream stream(path);
    stream << "schema: 1\n";
  }
  fs::resize_file(path, std::uintmax_t{50} << 20);
  LayerSource source;
  source.kind = LayerKind::etc;
  source.path = path.string();
  const auto findings = refused(source);
  fs::remove(path);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].text, testing::HasSubstr("52428800 bytes"));
}

TEST(BrokenTables, AFifoIsRefusedInsteadOfWaitedFor) {
  const fs::path path = fs::path(testing::TempDir()) / "verbena_fifo.yaml";
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  LayerSource source;
  source.kind = LayerKind::etc;
  source.path = path.string();
  const auto findings = refused(source);
  fs::remove(path);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].text, testing::HasSubstr("no regular file"));
}

TEST(BrokenTables, BytesThatAreNoTextAreToldByPlace) {
  using namespace std::string_literals;
  struct Case {
    std::string text;
    int line, column;
    std::string says;
  };
  const std::vector<Case> cases{
      {"schema: 1\ndriver: ir\0dma\n"s, 2, 11, "a NUL byte"},
      {"schema: 1\n# \x04 ends the stream for yaml-cpp\nrules: 3\n", 2, 3, "a control character (0x04)"},
      {"schema: 1\ndriver: \xff\xfe\n", 2, 9, "a byte that is not UTF-8"},
      {"schema: 1\ndriver: \xed\xa0\x80\n", 2, 9, "a byte that is not UTF-8"},
      {"schema: 1\ndriver: \xc0\xaf\n", 2, 9, "a byte that is not UTF-8"},
      {"schema: 1\ndriver: " + std::string(5000, 'x') + "\n", 2, 4097, "a line longer than 4096 characters"},
  };
  for (const Case& one : cases) {
    const auto findings = refused(one.text);
    ASSERT_EQ(findings.size(), 1U) << one.says;
    EXPECT_EQ(findings[0].line, one.line) << one.says;
    EXPECT_EQ(findings[0].column, one.column) << one.says;
    EXPECT_THAT(findings[0].text, testing::HasSubstr(one.says));
  }
}

/// A text of about the largest size that is read at all, so that what takes time beyond its length shows.
std::string large(const std::function<std::string(int)>& piece) {
  std::string text = "schema: 1\ndriver: irdma\n";
  for (int i = 0; text.size() < std::size_t{300} << 10; ++i) text += piece(i);
  return text;
}

TEST(BrokenTables, NoTextMakesLoadingSlow) {
  const std::vector<std::pair<std::string, std::string>> bombs{
      {"unknown keys at the top", large([](int i) { return "k" + std::to_string(i) + ": 1\n"; })},
      {"rules that are words",
       "schema: 1\nrules:\n" + large([](int i) { return "- w" + std::to_string(i) + "\n"; }).substr(24)},
      {"empty rules", "schema: 1\nrules:\n" + large([](int) { return "- {}\n"; }).substr(24)},
      {"rules of one unknown key",
       "schema: 1\nrules:\n" + large([](int i) { return "- {becaus" + std::to_string(i) + ": 1}\n"; }).substr(24)},
      {"one rule twice and twice",
       large([](int i) { return i == 0 ? std::string{"rules:\n"} : to_text({.id = "a"}); })},
      {"unknown match keys", "schema: 1\nrules:\n- id: a\n  match:\n" +
                                 large([](int i) { return "    part_i" + std::to_string(i) + ": 1\n"; }).substr(24)},
      {"words of a broken list",
       "schema: 1\nrules:\n- id: a\n  match:\n    transport:\n" + large([](int) { return "    - roce\n"; }).substr(24)},
      {"unknown rules turned off",
       "schema: 1\ndisable:\n" +
           large([](int i) { return "- {id: a" + std::to_string(i) + ", reason: r}\n"; }).substr(24) + "- 1\n"},
      {"one long sentence", "schema: 1\nrules: >\n" + large([](int) { return "  word word word word\n"; }).substr(24)},
      {"question marks", "schema: 1\n" + large([](int) { return "? "; }).substr(24, 4000) + "\n"},
      {"dashes", "schema: 1\nrules:\n " + large([](int) { return "- "; }).substr(24, 4000) + "\n"},
      {"colons", "schema: 1\nrules: " + large([](int) { return "a: "; }).substr(24, 3990) + "\n"},
      {"comments", large([](int) { return "# nothing here, and a good deal of it, line by line by line\n"; })},
      {"small values", "schema: 1\nrules: [" + large([](int i) { return i % 1000 == 999 ? "1,\n" : "1,"; }).substr(24)},
  };
  for (const auto& [what, text] : bombs) {
    SCOPED_TRACE(what);
    const auto findings = refused(text);
    EXPECT_FALSE(findings.empty());
    EXPECT_LE(findings.size(), 60U) << "an operator reads the first, not the thousandth";
  }
}

}  // namespace
}  // namespace verbena::test
