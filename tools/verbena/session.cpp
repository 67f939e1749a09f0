// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iterator>
#include <utility>

#include "emulated_nics.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "numbers.hpp"
#include "say.hpp"

namespace cli {

using verbena::Failure;
using verbena::Result;

void complain(const std::string& text) noexcept {
  const std::string clean = plain(text);
  // Nobody is left to be told of an error that cannot be written.
  for (const char* part : {"verbena: ", clean.c_str(), "\n"}) static_cast<void>(std::fputs(part, stderr));
}

namespace {
bool errors_as_json = false;
}  // namespace

void tell_errors_as_json(std::span<char* const> arguments) noexcept {
  for (const std::string_view word : arguments) {
    if (word == "--") return;
    // -ji 2 is -j and -i 2.
    if (word.starts_with("-j") || word == "--json") errors_as_json = true;
  }
}

int fail_as(const verbena::Error& error, int code) {
  if (std::exchange(errors_as_json, false)) {
    Json out;
    out["schema"] = kSchema;
    out["error"] = to_json(error);
    print(out);
  }
  return code;
}

int fail(const verbena::Error& error) {
  return fail(error, exit_code(error));
}

int fail(const verbena::Error& error, int code) {
  complain(to_string(error));
  return fail_as(error, code);
}

int fail_usage(const std::string& text) {
  complain(text);
  return fail_as(bad_argument("", text), kUsage);
}

namespace {

verbena::LibraryOptions library_options(const verbena::LoadedSettings& settings, Tables tables) {
  verbena::LibraryOptions options;
  options.settings = settings;
  if (tables == Tables::to_be_shown) options.settings->values.strict_quirks = false;
  if (tables == Tables::built_in) options.layers.push_back(verbena::default_layers({}, true).front());
  options.log = [](const verbena::LogRecord& record) {
    // What a device was granted is part of each command's own output.
    if (record.level > (record.device.empty() ? verbena::LogLevel::warn : verbena::LogLevel::error)) return;
    complain(record.device.empty() ? record.text : record.device + ": " + record.text);
  };
  return options;
}

Result<Target> opened(const verbena::Library& library, std::shared_ptr<verbena::Verbs> verbs, const std::string& name,
                      unsigned port) {
  Result<verbena::Device> device = library.open(name);
  if (!device) return Failure(device.error());
  Result<std::shared_ptr<const verbena::Contract>> contract = device->contract(static_cast<std::uint8_t>(port));
  if (!contract) return Failure(contract.error());
  Target target;
  target.name = name;
  target.id = device->id();
  target.caps = device->caps();
  target.contract = *std::move(contract);
  target.device = *std::move(device);
  target.verbs = std::move(verbs);
  return target;
}

}  // namespace

Result<Session> Session::open(Tables tables) {
  Session session;
  Result<verbena::LoadedSettings> settings = verbena::load_settings();
  if (!settings) return Failure(settings.error());
  session.settings_ = *std::move(settings);
  session.tables_ = tables;
  for (const verbena::Finding& finding : session.settings_.findings) complain(to_string(finding));

  Result<verbena::Library> library = verbena::Library::create(library_options(session.settings_, tables));
  if (!library) return Failure(library.error());
  session.library_ = std::make_shared<verbena::Library>(*std::move(library));
  return session;
}

Result<Target> Session::model(const std::string& name, unsigned port) const {
  Result<verbena::Model> model = verbena::load_model(name);
  if (!model) return Failure(model.error());
  const auto number = static_cast<std::uint8_t>(port);
  if (model->caps.port(number) == nullptr) {
    std::vector<unsigned> ports;
    for (const verbena::PortCaps& each : model->caps.ports) ports.push_back(each.number);
    if (ports.empty())
      return Failure(bad_argument("port", fmt::format("the model {} says nothing of a port: it needs 'ports'", name)));
    return Failure(bad_argument(
        "port", fmt::format("the model {} has no port {}; -i takes {}", model->name, port, fmt::join(ports, ", "))));
  }
  Target target;
  target.name = model->name;
  target.id = model->device;
  target.caps = model->caps;
  target.contract = std::make_shared<const verbena::Contract>(
      library_->quirks()->contract(model->device, model->caps, number, library_->settings().beyond_declared));
  return target;
}

Result<Target> Session::device(const std::string& name, unsigned port) const {
  Result<Target> target = opened(*library_, verbena::real_verbs(), name, port);
  if (target) return target;
  verbena::Error error = target.error();
  if (error.kind == verbena::ErrorKind::no_device && verbena::load_model(name))
    error.text += fmt::format("; there is a model of that name: --nic {}", name);
  return Failure(std::move(error));
}

Result<std::vector<Target>> Session::emulated(const std::vector<std::string>& models, unsigned port) const {
  auto verbs = verbs_for(models);
  if (!verbs) return Failure(verbs.error());
  verbena::LibraryOptions options = library_options(settings_, tables_);
  options.verbs = *verbs;
  const Result<verbena::Library> library = verbena::Library::create(std::move(options));
  if (!library) return Failure(library.error());
  const auto listed = library->devices();
  if (!listed) return Failure(listed.error());
  std::vector<Target> targets;
  for (const verbena::ListedDevice& each : *listed) {
    Result<Target> target = opened(*library, *verbs, each.id.name, port);
    if (!target) return Failure(target.error());
    targets.push_back(*std::move(target));
  }
  return targets;
}

Result<std::vector<Target>> Session::targets(const Options& options) const {
  std::vector<std::string> names = options.devices;
  names.insert(names.end(), options.positional.begin(), options.positional.end());
  if (names.empty() && options.nics.empty()) {
    Result<std::vector<verbena::ListedDevice>> listed = library_->devices();
    if (!listed) return Failure(listed.error());
    for (const verbena::ListedDevice& device : *listed) {
      if (device.openable) {
        names.push_back(device.id.name);
      } else {
        complain(fmt::format("{} is left out: {}", device.id.name, device.why_not));
      }
    }
  }
  std::vector<Target> targets;
  for (const std::string& name : names) {
    Result<Target> target = device(name, options.port);
    if (!target) return Failure(target.error());
    targets.push_back(*std::move(target));
  }
  if (options.live && !options.nics.empty()) {
    Result<std::vector<Target>> made = emulated(options.nics, options.port);
    if (!made) return Failure(made.error());
    std::move(made->begin(), made->end(), std::back_inserter(targets));
    return targets;
  }
  for (const std::string& name : options.nics) {
    Result<Target> target = model(name, options.port);
    if (!target) return Failure(target.error());
    targets.push_back(*std::move(target));
  }
  return targets;
}

}  // namespace cli
