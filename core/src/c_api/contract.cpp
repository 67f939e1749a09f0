// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <string>
#include <utility>
#include <vector>

#include "c_api/handles.hpp"
#include "c_api/sized_struct.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "verbena/settings.hpp"

namespace verbena::c_api {
namespace {

Error invalid_argument(std::string field, std::string text) {
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = std::move(field);
  error.by.set_by = SetBy::request;
  error.text = std::move(text);
  return error;
}

Result<LoadedSettings> settings_for(const verbena_options& options) {
  LoadedSettings loaded;
  if (options.tables == VERBENA_TABLES_HOST) {
    Result<LoadedSettings> host = load_settings();
    if (!host) return host;
    loaded = *std::move(host);
  }
  if (options.strict != 0) loaded.values.strict_quirks = true;
  if (options.beyond_declared == VERBENA_BEYOND_ALLOW) loaded.values.beyond_declared = true;
  if (options.beyond_declared == VERBENA_BEYOND_FORBID) loaded.values.beyond_declared = false;
  return loaded;
}

Result<std::vector<LayerSource>> layers_for(const verbena_options& options, const LoadedSettings& settings) {
  std::vector<LayerSource> layers;
  if (options.tables == VERBENA_TABLES_HOST) {
    layers = default_layers(settings.values.quirks_path, settings.privileged);
  } else {
    layers.push_back(default_layers({}, true).front());
  }
  if (options.layer_count != 0 && options.layers == nullptr) {
    return Failure(invalid_argument("layers", "layer_count is not 0, but layers is NULL"));
  }
  for (std::size_t i = 0; i < options.layer_count; ++i) {
    if (options.layers[i] == nullptr) return Failure(invalid_argument("layers", "a layer's path is NULL"));
    layers.push_back(LayerSource{LayerKind::env, options.layers[i], {}});
  }
  return layers;
}

LogSink sink_for(const verbena_options& options) {
  if (options.log == nullptr) return {};
  return [log = options.log, user = options.log_user](const LogRecord& record) {
    log(user, static_cast<int>(record.level), record.device.c_str(), record.text.c_str());
  };
}

Result<Library> make_library(const verbena_options& options) {
  if (options.tables != VERBENA_TABLES_HOST && options.tables != VERBENA_TABLES_BUILTIN) {
    return Failure(invalid_argument("tables", "tables must be VERBENA_TABLES_HOST or VERBENA_TABLES_BUILTIN"));
  }
  if (options.beyond_declared < VERBENA_BEYOND_AS_SITE || options.beyond_declared > VERBENA_BEYOND_FORBID) {
    return Failure(
        invalid_argument("beyond_declared", "beyond_declared is not a value of enum verbena_beyond_declared"));
  }
  if (options.reserved != 0) return Failure(invalid_argument("reserved", "reserved must be 0"));
  Result<LoadedSettings> settings = settings_for(options);
  if (!settings) return Failure(settings.error());
  Result<std::vector<LayerSource>> layers = layers_for(options, *settings);
  if (!layers) return Failure(layers.error());
  LibraryOptions wanted;
  wanted.settings = *std::move(settings);
  wanted.layers = *std::move(layers);
  wanted.log = sink_for(options);
  return Library::create(std::move(wanted));
}

/// Runs `work` with the caller's library, or with one made for this call.
template <class Work>
int with_library(const verbena_options* given, verbena_report** report, Work&& work) {
  Result<verbena_options> options = read_sized(given, "struct verbena_options");
  if (!options) return fail(options.error(), report);
  if (options->library != nullptr) return work(options->library->library);
  Result<Library> library = make_library(*options);
  if (!library) return fail(library.error(), report);
  return work(*library);
}

/// Success, and in the report's text which layers are left out, so that a program without a log learns of it.
void succeed_with(const Library& library, verbena_report** report) {
  succeed({}, GrantNotes{}, report);
  if (report == nullptr || *report == nullptr) return;
  for (const LayerLeftOut& one : layers_left_out(*library.quirks()))
    (*report)->text += "warning: layer " + one.path + " is left out whole: " + one.why + '\n';
}

int hand_out(std::shared_ptr<const Contract> contract, const Library& library, verbena_contract** out,
             verbena_report** report) {
  auto handle = std::make_unique<verbena_contract>();
  handle->device = to_string(contract->device());
  for (const BehaviourInfo& flag : all_behaviours()) {
    handle->choices[static_cast<std::size_t>(flag.behaviour)] = name(contract->behaviour(flag.behaviour).choice);
  }
  for (const Provenance& by : contract->provenances()) handle->set_by.emplace_back(name(by.set_by));
  handle->contract = std::move(contract);
  succeed_with(library, report);
  *out = handle.release();
  return VERBENA_OK;
}

}  // namespace
}  // namespace verbena::c_api

using namespace verbena;  // the functions below are outside any namespace, the words they use are not
using c_api::fail;
using c_api::guarded;

extern "C" {

int verbena_library_create(const verbena_options* options, verbena_library** library, verbena_report** report) {
  return guarded(report, [&] {
    if (library == nullptr)
      return fail(c_api::invalid_argument("library", "no place to put the library: NULL"), report);
    *library = nullptr;
    Result<verbena_options> known = c_api::read_sized(options, "struct verbena_options");
    if (!known) return fail(known.error(), report);
    Result<Library> made = c_api::make_library(*known);
    if (!made) return fail(made.error(), report);
    c_api::succeed_with(*made, report);
    *library = new verbena_library{*std::move(made)};
    return static_cast<int>(VERBENA_OK);
  });
}

void verbena_library_free(verbena_library* library) {
  delete library;
}

int verbena_contract_from_context(ibv_context* context, uint8_t port, const verbena_options* options,
                                  verbena_contract** contract, verbena_report** report) {
  return guarded(report, [&] {
    if (contract == nullptr)
      return fail(c_api::invalid_argument("contract", "no place to put the contract: NULL"), report);
    *contract = nullptr;
    if (context == nullptr) return fail(c_api::invalid_argument("context", "the context is NULL"), report);
    return c_api::with_library(options, report, [&](const Library& library) {
      Result<Device> device = library.adopt(context);
      if (!device) return fail(device.error(), report);
      Result<std::shared_ptr<const Contract>> made = device->contract(port);
      if (!made) return fail(made.error(), report);
      return c_api::hand_out(*std::move(made), library, contract, report);
    });
  });
}

int verbena_contract_from_model(const char* name, uint8_t port, const verbena_options* options,
                                verbena_contract** contract, verbena_report** report) {
  return guarded(report, [&] {
    if (contract == nullptr)
      return fail(c_api::invalid_argument("contract", "no place to put the contract: NULL"), report);
    *contract = nullptr;
    if (name == nullptr) return fail(c_api::invalid_argument("name", "the model's name is NULL"), report);
    return c_api::with_library(options, report, [&](const Library& library) {
      Result<Model> model = load_model(name);
      if (!model) return fail(model.error(), report);
      if (model->caps.port(port) == nullptr) {
        Error error = c_api::invalid_argument("port", "the model " + model->name + " has no port of this number");
        error.asked = port;
        error.allowed = model->caps.ports.empty() ? 0 : model->caps.ports.back().number;
        return fail(error, report);
      }
      auto made = std::make_shared<const Contract>(
          library.quirks()->contract(model->device, model->caps, port, library.settings().beyond_declared));
      return c_api::hand_out(std::move(made), library, contract, report);
    });
  });
}

void verbena_contract_free(verbena_contract* contract) {
  delete contract;
}

const char* verbena_contract_device(const verbena_contract* contract) {
  return contract == nullptr ? "" : contract->device.c_str();
}

uint64_t verbena_contract_quirks_hash(const verbena_contract* contract) {
  return contract == nullptr ? 0 : contract->contract->quirks_hash();
}

int verbena_support_of(const verbena_contract* contract, const char* feature) {
  if (contract == nullptr || feature == nullptr) return VERBENA_SUPPORT_NO_SUCH_NAME;
  const std::optional<Feature> found = find_feature(feature);
  if (!found) return VERBENA_SUPPORT_NO_SUCH_NAME;
  switch (contract->contract->feature(*found).support) {
    case Support::native:
      return VERBENA_SUPPORT_NATIVE;
    case Support::substituted:
      return VERBENA_SUPPORT_SUBSTITUTED;
    case Support::absent:
      return VERBENA_SUPPORT_ABSENT;
    case Support::unknown:
      break;
  }
  return VERBENA_SUPPORT_UNKNOWN;
}

const char* verbena_behaviour_of(const verbena_contract* contract, const char* flag) {
  if (contract == nullptr || flag == nullptr) return nullptr;
  const std::optional<Behaviour> found = find_behaviour(flag);
  return found ? contract->choices[static_cast<std::size_t>(*found)].c_str() : nullptr;
}

int verbena_limit_of(const verbena_contract* contract, const char* object, const char* field, verbena_limit* limit) {
  if (contract == nullptr || object == nullptr || field == nullptr) return VERBENA_INVALID_REQUEST;
  const std::optional<Object> on = find_object(object);
  const std::optional<Field> found = on ? find_field(*on, field) : std::nullopt;
  if (!found) return VERBENA_INVALID_REQUEST;
  const Domain& domain = contract->contract->domain(*found);
  const Provenance& by = contract->contract->provenance(domain.max_by);
  verbena_limit out{};
  out.min = domain.min;
  out.max = domain.max;
  out.grant = domain.largest_grant();
  out.known = domain.known ? 1 : 0;
  out.has_declared = domain.declared ? 1 : 0;
  out.declared = domain.declared.value_or(0);
  out.max_set_by = contract->set_by[domain.max_by].c_str();
  out.max_rule = by.rule.c_str();
  out.max_reason = by.reason.c_str();
  out.max_source = by.source.c_str();
  return c_api::write_sized(limit, out) ? VERBENA_OK : VERBENA_INVALID_REQUEST;
}

}  // extern "C"
