// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report_verify.hpp"

#include <fmt/format.h>

#include "conform_list.hpp"
#include "exit_code.hpp"
#include "runner/bundle.hpp"
#include "say.hpp"

namespace cli {

void add_report_verify(CLI::App& report, Run& run) {
  CLI::App* command = report.add_subcommand("verify", "Judge the bundle of an official run anew, from its own files");
  auto folder = std::make_shared<std::string>();
  command->add_option("BUNDLE", *folder, "The folder that `verbena conform --official --report` left")->required();
  command->footer("Example: verbena report verify out");
  command->callback([folder, &run] {
    run = [folder]() -> int {
      const verbena::Result<conform::CaseList> list = read_case_list({});
      if (!list) return fail(list.error());
      const auto wrong = conform::verify_bundle(*folder, *list);
      if (!wrong) return fail(wrong.error(), kUsage);
      for (const std::string& one : *wrong) say("{}\n", one);
      if (wrong->empty()) say("{} holds\n", *folder);
      return wrong->empty() ? kOk : kFinding;
    };
  });
}

}  // namespace cli
