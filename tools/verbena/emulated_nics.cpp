// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "emulated_nics.hpp"

#include <chrono>
#include <utility>

#ifdef VERBENA_EMULATOR
#include "verbs/emulated.hpp"
#endif
#include "verbena/model.hpp"

namespace cli {

std::string device_name(const std::string& model) {
  // A file's model has the name that it gives itself.
  const auto loaded = verbena::load_model(model);
  const std::string name = loaded ? loaded->name : model;
  return name.substr(0, name.find('@'));
}

std::string wrong_faults(const std::vector<std::string>& faults) {
  for (const std::string& word : faults) {
    if (const auto fault = verbena::parse_fault(word); !fault) return fault.error().text;
  }
  return {};
}

verbena::Result<std::shared_ptr<verbena::Verbs>> verbs_for(const std::vector<std::string>& models,
                                                           [[maybe_unused]] const std::vector<std::string>& faults,
                                                           [[maybe_unused]] std::optional<double> loss) {
  if (models.empty()) return verbena::real_verbs();
#ifdef VERBENA_EMULATOR
  verbena::emulator::EmulatedOptions options;
  for (const std::string& name : models) {
    auto model = verbena::load_model(name);
    if (!model) return verbena::Failure(model.error());
    options.models.push_back(*std::move(model));
  }
  for (const std::string& word : faults) {
    auto fault = verbena::parse_fault(word);
    if (!fault) return verbena::Failure(fault.error());
    options.faults.push_back(*std::move(fault));
  }
  if (loss) {
    options.impairments.lost = static_cast<std::uint32_t>(*loss * verbena::engine::fabric::kOfMillion);
    // A wire that takes no time and loses nothing would be none.
    options.impairments.delay = std::chrono::nanoseconds(1);
  }
  return verbena::emulator::emulated_verbs(std::move(options));
#else
  verbena::Error error{.kind = verbena::ErrorKind::unsupported};
  error.text = "this build has no emulated NICs: configure with -DVERBENA_BUILD_EMULATOR=ON, or name a device with -d";
  return verbena::Failure(std::move(error));
#endif
}

}  // namespace cli
