// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report/escape.hpp"

#include <gmock/gmock.h>

#include <string>

namespace conform {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kBad = "\xef\xbf\xbd";

TEST(EscapeMarkup, NothingLeavesItsPlace) {
  EXPECT_EQ(escape_markup("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape_markup("]]>"), "]]&gt;");
  EXPECT_EQ(escape_markup("two\nlines\tand a tab"), "two\nlines\tand a tab");
  EXPECT_EQ(escape_attribute("two\nlines\tand a \"tab\""), "two&#10;lines&#9;and a &quot;tab&quot;");
}

TEST(EscapeMarkup, WhatXmlForbidsIsReplaced) {
  EXPECT_EQ(escape_markup(std::string("\0", 1)), kBad);
  EXPECT_EQ(escape_markup("\x1b[31m"), kBad + "[31m");
  EXPECT_EQ(escape_markup("\xef\xbf\xbe\xef\xbf\xbf"), kBad + kBad);
}

TEST(EscapeMarkup, WhatIsUtf8StaysAndWhatIsNotIsReplaced) {
  for (const char* good : {"é", "€", "😀", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(escape_markup(good), good);
  }
  // A lone byte, a cut character, an overlong form, a surrogate, one past the last.
  EXPECT_EQ(escape_markup("\xff"), kBad);
  EXPECT_EQ(escape_markup("\xe2\x82"), kBad + kBad);
  EXPECT_EQ(escape_markup("\xc0\xbc"), kBad + kBad);
  EXPECT_EQ(escape_markup("\xe0\x80\xbc"), kBad + kBad + kBad);
  EXPECT_EQ(escape_markup("\xed\xa0\x80"), kBad + kBad + kBad);
  EXPECT_EQ(escape_markup("\xf4\x90\x80\x80"), kBad + kBad + kBad + kBad);
}

TEST(EscapeScriptJson, NoTextEndsTheScriptOrBeginsAComment) {
  const std::string out = escape_script_json("\"</script><!--<script>&\xe2\x80\xa8\xe2\x80\xa9\"");
  EXPECT_THAT(out, Not(HasSubstr("<")));
  EXPECT_EQ(out,
            "\"\\u003c/script\\u003e\\u003c!--\\u003cscript\\u003e\\u0026"
            "\\u2028\\u2029\"");
}

TEST(EscapeTerminal, NothingMovesTheCursor) {
  EXPECT_EQ(escape_terminal("a\x1b[2Jb\r\n"), "a?[2Jb??");
  EXPECT_EQ(escape_terminal("\xc2\x9b"
                            "31m"),
            "?31m");
  EXPECT_EQ(escape_terminal("é€"), "é€");
}

}  // namespace
}  // namespace conform
