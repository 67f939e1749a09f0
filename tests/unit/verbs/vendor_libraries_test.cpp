// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/vendor_libraries.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace verbena {
namespace {

int opened = 0, looked_up = 0;
bool there = true;
int library = 0, machine_code = 0;

VendorLibraries counting() {
  opened = looked_up = 0;
  there = true;
  return VendorLibraries({.open = [](const char*) noexcept -> void* {
                            ++opened;
                            return there ? &library : nullptr;
                          },
                          .find = [](void*, const char* function) noexcept -> void* {
                            ++looked_up;
                            return std::strcmp(function, "missing") == 0 ? nullptr : &machine_code;
                          }});
}

TEST(VendorLibraries, AFunctionIsLookedUpOnceWhetherItIsThereOrNot) {
  VendorLibraries libraries = counting();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(libraries.function("libvendor.so.1", "create"), &machine_code);
    EXPECT_EQ(libraries.function("libvendor.so.1", "missing"), nullptr);
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(looked_up, 2);
}

TEST(VendorLibraries, ALibraryThatIsNotLoadedIsAskedForAgain) {
  VendorLibraries libraries = counting();
  there = false;
  EXPECT_EQ(libraries.function("libvendor.so.1", "create"), nullptr);
  there = true;
  EXPECT_EQ(libraries.function("libvendor.so.1", "create"), &machine_code);
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(looked_up, 1);
}

}  // namespace
}  // namespace verbena
