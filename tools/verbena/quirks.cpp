// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks.hpp"

namespace cli {

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
