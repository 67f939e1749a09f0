// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verbena/contract.hpp"
#include "verbena/library.hpp"
#include "verbena/model.hpp"
#include "verbena/verbs.hpp"

namespace cli {

/// What every subcommand takes.
struct Options {
  std::vector<std::string> positional;  ///< devices by name
  std::vector<std::string> devices;     ///< -d, comma lists taken apart
  std::vector<std::string> nics;        ///< --nic, comma lists taken apart
  unsigned port = 1;
  std::optional<unsigned> gid_index;
  bool json = false;
  bool live = false;  ///< each of `nics` is made as an emulated NIC, and asked as a device is
};

/// A device or a model, with its contract.
struct Target {
  std::string name;
  std::optional<verbena::Device> device;  ///< empty for a model
  std::shared_ptr<verbena::Verbs> verbs;  ///< the device's; null for a model
  verbena::DeviceId id;
  verbena::Caps caps;
  std::shared_ptr<const verbena::Contract> contract;
};

/// Which tables a run goes by.
enum class Tables : std::uint8_t {
  of_the_host,  ///< as a process does that opens devices: a layer with a fault fails it where the settings say strict
  to_be_shown,  ///< the same layers, where a fault is what is to be seen
  built_in,  ///< none of the host's, where other tables are compared
};

/// Settings and tables of this run, read once.
class Session {
public:
  /// Findings about settings and layers go to standard error as they are met.
  static verbena::Result<Session> open(Tables tables = Tables::of_the_host);

  const verbena::Library& library() const noexcept { return *library_; }
  const verbena::LoadedSettings& settings() const noexcept { return settings_; }

  /// Opens what the options name; without a name, every device of the host that can be opened.
  verbena::Result<std::vector<Target>> targets(const Options& options) const;
  verbena::Result<Target> model(const std::string& name, unsigned port) const;
  verbena::Result<Target> device(const std::string& name, unsigned port) const;
  /// Emulated NICs of these models, connected to each other. Errors: those of verbs_for().
  verbena::Result<std::vector<Target>> emulated(const std::vector<std::string>& models, unsigned port) const;

private:
  verbena::LoadedSettings settings_;
  Tables tables_ = Tables::of_the_host;
  std::shared_ptr<verbena::Library> library_;
};

/// Prints `verbena: ...` to standard error.
void complain(const std::string& text) noexcept;
/// Prints the error, with -j as `{"schema":1,"error":{...}}` on standard output besides, and gives the exit code that
/// it deserves.
int fail(const verbena::Error& error);
/// The same with a code of the caller's own.
int fail(const verbena::Error& error, int code);
/// The same for a command line that contradicts itself.
int fail_usage(const std::string& text);
/// Only the JSON, for what standard error was told already. The first error of a run is its document; later ones are
/// said on standard error alone.
int fail_as(const verbena::Error& error, int code);
/// Whether -j is among the arguments: what fails before a command has read its options has to know as well.
void tell_errors_as_json(std::span<char* const> arguments) noexcept;

}  // namespace cli
