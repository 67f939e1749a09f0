// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "numbers.hpp"

namespace cli {

bool holds_a_table(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return true;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.ends_with(".yaml") && !file.starts_with('.')) return true;
  }
  // One that cannot be listed has a finding of its own.
  return static_cast<bool>(error);
}

verbena::Error no_table(const std::string& path) {
  return bad_argument("path", fmt::format("nothing was read: there is no table in '{}'; files whose names end in .yaml "
                                          "are read, and none in folders below",
                                          path));
}

void add_quirks(CLI::App& app, Run& run) {
  CLI::App* quirks = app.add_subcommand("quirks", "Check, show and compare quirk tables");
  quirks->require_subcommand(1);
  quirks->footer("Example: verbena quirks show irdma-gen2-inline");
  add_quirks_lint(*quirks, run);
  add_quirks_list(*quirks, run);
  add_quirks_show(*quirks, run);
  add_quirks_status(*quirks, run);
  add_quirks_diff(*quirks, run);
  add_quirks_words(*quirks, run);
}

}  // namespace cli
