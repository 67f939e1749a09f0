// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a browser makes of the pages is tested in tests/browser.
#include "report/html.hpp"

#include <gmock/gmock.h>

#include <string>

#include "report/page_files.hpp"
#include "sample_runs.hpp"
#include "small_run.hpp"

namespace conform {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

conform::Run emulated(const char* model) {
  conform::Run run = small_run();
  run.substrate = Substrate::emulated;
  run.device.model = model;
  return run;
}

TEST(RunPage, HoldsAllThatItNeeds) {
  const std::string page = run_to_html(small_run());
  EXPECT_THAT(page, AllOf(HasSubstr(page_file("page.css")), HasSubstr(page_file("shared.js")),
                          HasSubstr(page_file("run.js")), HasSubstr("rxe-local-error")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("src=")),
                          Not(HasSubstr("@import")), HasSubstr("default-src 'none'")));
}

TEST(RunPage, NoTextFromOutsideIsMarkup) {
  for (const auto& [name, run] : sample_runs(VERBENA_SOURCE_TREE)) {
    if (name != "hostile") continue;
    const std::string page = run_to_html(run);
    EXPECT_THAT(page, AllOf(Not(HasSubstr("alert(1)</script>")), Not(HasSubstr("<img")), Not(HasSubstr("<!--"))));
    EXPECT_THAT(page, AllOf(HasSubstr("\\u003cimg src=x"), HasSubstr("&lt;img src=x")));
    return;
  }
  FAIL() << "no such sample";
}

TEST(MatrixPage, RunsOnEmulatedNicsHaveAPageOfTheirOwn) {
  const MatrixPages pages = runs_to_matrix({small_run(), emulated("e810-roce")}, "all.html", "all.models.html");
  ASSERT_TRUE(pages.devices && pages.models);
  EXPECT_THAT(*pages.devices, AllOf(HasSubstr("rxe, kernel 6.12.117"), Not(HasSubstr("model of e810-roce")),
                                    HasSubstr("\"other\":\"all.models.html\"")));
  EXPECT_THAT(*pages.models, AllOf(HasSubstr("model of e810-roce"), Not(HasSubstr("rxe, kernel 6.12.117")),
                                   HasSubstr("\"other\":\"all.html\"")));
}

TEST(MatrixPage, OfOneKindHasNoOther) {
  const MatrixPages devices = runs_to_matrix({small_run()}, "all.html", "all.models.html");
  EXPECT_FALSE(devices.models);
  EXPECT_THAT(devices.devices.value(), HasSubstr("\"other\":null"));
  EXPECT_FALSE(runs_to_matrix({emulated("e810-roce")}, "all.html", "all.models.html").devices);
}

TEST(MatrixPage, SaysOnceWhatAllRunsSayAlikeOfACase) {
  conform::Run other = small_run();
  other.cases[0].says = "An older list said it so.";
  const std::string page = runs_to_matrix({small_run(), small_run(), other}, "a.html", "b.html").devices.value();
  const auto times = [&](const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = page.find(part); at != page.npos; at = page.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(times(small_run().cases[1].says), 1U);
  EXPECT_EQ(times(small_run().cases[0].says), 1U);
  EXPECT_EQ(times("An older list said it so."), 1U);
}

}  // namespace
}  // namespace conform
