// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "commands.hpp"
#include "exit_code.hpp"
#include "say.hpp"
#include "verbs/environment.hpp"

namespace cli {
namespace {

using namespace verbena::emulator;

/// Which variable an option sets; what an option doesn't say may come from the environment already.
struct Wishes {
  std::vector<std::string> nics, faults, addresses;
  std::string net, fabric, loss, seed;
  std::vector<std::string> command;
};

/// What a variable is called by whoever gave the option that sets it.
std::string option_of(const std::string& variable) {
  static const std::map<std::string, const char*> kOptions{
      {kNicsVariable, "--nic"},          {kNetVariable, "--net"},      {kFabricVariable, "--fabric"},
      {kAddressesVariable, "--address"}, {kFaultsVariable, "--fault"}, {kLossVariable, "--loss"},
      {kSeedVariable, "--seed"}};
  const auto found = kOptions.find(variable);
  return found != kOptions.end() ? found->second : variable;
}

/// Beside this command, in a build or where it is installed.
std::optional<std::string> preloaded_library() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  for (const char* const folder : {"../lib", VERBENA_LIBDIR_FROM_BIN}) {
    const std::filesystem::path library = own.parent_path() / folder / "libverbena-emulated.so";
    if (std::filesystem::exists(library, error)) return library.lexically_normal().string();
  }
  return std::nullopt;
}

int run_under(const Wishes& wishes) {
  std::map<std::string, std::string> set;
  const auto wish = [&set](const char* variable, const std::string& value) {
    if (!value.empty()) set[variable] = value;
  };
  wish(kNicsVariable, fmt::format("{}", fmt::join(wishes.nics, ",")));
  wish(kNetVariable, wishes.net);
  wish(kFabricVariable, wishes.fabric);
  wish(kAddressesVariable, fmt::format("{}", fmt::join(wishes.addresses, ",")));
  wish(kFaultsVariable, fmt::format("{}", fmt::join(wishes.faults, ",")));
  wish(kLossVariable, wishes.loss);
  wish(kSeedVariable, wishes.seed);
  const auto value = [&set](const char* name) -> std::optional<std::string> {
    if (const auto found = set.find(name); found != set.end()) return found->second;
    const char* const text = std::getenv(name);
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  };
  const auto called = [&set](const char* variable) {
    return set.contains(variable) ? option_of(variable) : std::string(variable);
  };
  if (const auto options = options_from(value, called); !options) return fail(options.error(), kUsage);
  const auto library = preloaded_library();
  if (!library) {
    complain("libverbena-emulated.so is not beside this command");
    return kNothingTested;
  }
  const char* const before = std::getenv("LD_PRELOAD");
  set["LD_PRELOAD"] = before != nullptr && *before != 0 ? *library + ":" + before : *library;
  for (const auto& [name, text] : set) {
    if (::setenv(name.c_str(), text.c_str(), 1) != 0) {
      complain(fmt::format("{} can't be set: {}", name, std::strerror(errno)));
      return kFinding;
    }
  }
  std::vector<char*> words;
  std::vector<std::string> command = wishes.command;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  return fail_usage(fmt::format("'{}' can't be run: {}", command.front(), std::strerror(errno)));
}

}  // namespace

void add_run(CLI::App& app, Run& run) {
  CLI::App* const command = app.add_subcommand("run", "Run a program of verbs on emulated NICs");
  auto wishes = std::make_shared<Wishes>();
  add_names(*command, "--nic", wishes->nics, "A model by name, NAME@VARIANT, or a model file; repeatable, comma list")
      ->required();
  command->add_option("--net", wishes->net,
                      "What joins the NICs: shm (all processes of this host, the default), udp (port 4791 of this "
                      "network namespace's addresses), inproc (within the program)");
  command->add_option("--fabric", wishes->fabric, "Of shm: who gives the same name meets; else it is the user's own");
  add_names(*command, "--address", wishes->addresses,
            "Of shm and udp: an address for each port of the NICs; comma list");
  add_names(*command, "--fault", wishes->faults, "A fault, as NAME[:PARAMETER=VALUE]...; repeatable, comma list");
  command->add_option("--loss", wishes->loss, "Chance that a packet is lost, from 0 to below 1");
  command->add_option("--seed", wishes->seed, "Of what is drawn; the same one draws the same");
  command->add_option("COMMAND", wishes->command, "The program and its arguments, behind --")->required();
  command->positionals_at_end();
  command->footer(
      "Example: verbena run --nic e810-roce -- ib_write_lat -I 96 &\n"
      "         verbena run --nic e810-roce -- ib_write_lat -I 96 localhost\n"
      "The exit code is the program's. It links libibverbs and is not set-uid; see docs/emulator.md.");
  command->callback([wishes, &run] { run = [wishes] { return run_under(*wishes); }; });
}

}  // namespace cli
