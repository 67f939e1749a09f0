// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "builtin/embedded.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "verbena/version.h"

namespace {

using verbena::builtin::EmbeddedTable;

TEST(Version, IsTheHeaders) {
  const std::string expected = std::to_string(VERBENA_VERSION_MAJOR) + "." + std::to_string(VERBENA_VERSION_MINOR) +
                               "." + std::to_string(VERBENA_VERSION_PATCH);
  EXPECT_EQ(verbena_version(), expected);
}

TEST(Embedded, TablesComeWholeAndInNameOrder) {
  for (const auto tables :
       {verbena::builtin::quirk_tables(), verbena::builtin::models(), verbena::builtin::conformance_tables()}) {
    EXPECT_TRUE(std::is_sorted(tables.begin(), tables.end(),
                               [](const EmbeddedTable& a, const EmbeddedTable& b) { return a.name < b.name; }));
    for (const EmbeddedTable& table : tables) {
      EXPECT_TRUE(table.name.ends_with(".yaml")) << table.name;
      EXPECT_FALSE(table.text.empty()) << table.name;
      EXPECT_EQ(table.text.find('\0'), std::string_view::npos) << table.name;
    }
  }
}

}  // namespace
