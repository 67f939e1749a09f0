// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "nic/udp_net.hpp"

namespace verbena::emulator {

namespace {

Failure bad(const std::string& name, const std::string& text) {
  Error error{.kind = ErrorKind::invalid_request};
  error.text = fmt::format("{}: {}", name, text);
  return Failure(std::move(error));
}

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> found;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    found.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return found;
}

template <class Number>
std::optional<Number> number(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<NetKind> net_of(const std::string& word) {
  if (word == "shm") return NetKind::shared;
  if (word == "udp") return NetKind::udp;
  if (word == "inproc") return NetKind::in_process;
  return std::nullopt;
}

/// What becomes part of a file's name.
bool plain(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
           each == '-' || each == '_' || each == '.';
  });
}

Result<void> read_faults(const Variables& variables, const Naming& naming, EmulatedOptions& options) {
  const auto words = variables(kFaultsVariable);
  if (!words) return {};
  for (const std::string& each : parts(*words)) {
    const auto fault = parse_fault(each);
    if (!fault) return bad(naming(kFaultsVariable), fault.error().text);
    for (Model& model : options.models) {
      std::erase_if(model.faults, [&fault](const SwitchedFault& one) { return one.fault == fault->fault; });
      model.faults.push_back(*fault);
    }
  }
  return {};
}

Result<void> read_wire(const Variables& variables, const Naming& naming, EmulatedOptions& options) {
  if (const auto loss = variables(kLossVariable)) {
    const auto chance = number<double>(*loss);
    if (!chance || !(*chance >= 0) || *chance >= 1)
      return bad(naming(kLossVariable), fmt::format("'{}' is no chance; allowed is a number from 0 to below 1", *loss));
    options.impairments.lost = static_cast<std::uint32_t>(std::lround(*chance * engine::fabric::kOfMillion));
  }
  if (const auto seed = variables(kSeedVariable)) {
    const auto value = number<std::uint64_t>(*seed);
    if (!value) return bad(naming(kSeedVariable), fmt::format("'{}' is no number from 0", *seed));
    options.seed = *value;
  }
  return {};
}

}  // namespace

Result<EmulatedOptions> options_from(const Variables& variables, const Naming& naming) {
  EmulatedOptions options;
  const std::string models = variables(kNicsVariable).value_or("");
  if (models.empty()) return bad(naming(kNicsVariable), "it names no model; `verbena devices --models` lists them");
  for (const std::string& name : parts(models)) {
    if (name.empty()) return bad(naming(kNicsVariable), fmt::format("'{}' has an empty name", models));
    auto model = load_model(name);
    if (!model) return Failure(model.error());
    options.models.push_back(*std::move(model));
  }
  const std::string net = variables(kNetVariable).value_or("shm");
  const auto kind = net_of(net);
  if (!kind) return bad(naming(kNetVariable), fmt::format("'{}' is no net; allowed are shm, udp, inproc", net));
  options.net = *kind;
  options.fabric = variables(kFabricVariable).value_or(fmt::format("user-{}", getuid()));
  if (!plain(options.fabric)) {
    return bad(naming(kFabricVariable),
               fmt::format("'{}' is no name; allowed are up to 64 letters, digits, '-', '_' and '.'", options.fabric));
  }
  if (const auto addresses = variables(kAddressesVariable)) {
    if (options.net == NetKind::in_process)
      return bad(naming(kAddressesVariable), "addresses are given to the nets shm and udp alone");
    options.addresses = parts(*addresses);
    for (const std::string& each : options.addresses) {
      if (!address_from(each))
        return bad(naming(kAddressesVariable), fmt::format("'{}' is no address; one is 10.0.0.1 or fe80::1", each));
    }
  }
  if (auto read = read_faults(variables, naming, options); !read) return Failure(read.error());
  if (auto read = read_wire(variables, naming, options); !read) return Failure(read.error());
  return options;
}

}  // namespace verbena::emulator
