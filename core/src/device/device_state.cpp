// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/device_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "verbena/errno_family.hpp"

namespace verbena {

void Library::State::log(LogLevel level, std::string_view device, std::string text) const {
  if (!sink) return;
  LogRecord record;
  record.level = level;
  record.device = device;
  record.text = std::move(text);
  const auto in_force = quirks();
  record.quirks_hash = in_force ? in_force->hash() : 0;
  sink(record);
}

HostFacts Library::State::host() {
  const std::lock_guard lock(mutex);
  if (!host_facts) host_facts = std::make_unique<HostFacts>(read_host_facts(*verbs));
  return *host_facts;
}

Device::State::State(std::shared_ptr<Library::State> library_, ibv_context* context_, bool owned_,
                     const Backend& backend_, std::shared_ptr<const Probed> probed_)
    : library(std::move(library_)), context(context_), owned(owned_), backend(backend_), probed(std::move(probed_)) {}

Device::State::~State() {
  // Whatever it answers, the context is gone, and nobody may ask it why.
  if (const int error = owned ? verbs().close_device(context) : 0; error != 0 && !gone())
    static_cast<void>(left_behind("ibv_close_device", error));
}

std::shared_ptr<const Contract> Device::State::make_contract(std::uint8_t port,
                                                             const std::shared_ptr<const QuirkSet>& rules,
                                                             const Caps& caps) {
  auto made = std::make_shared<const Contract>(
      rules->contract(probed->id, caps, port, library->settings.values.beyond_declared));
  const Domain& responder = made->domain(Field::max_res_rd_atom);
  const Domain& work_requests = made->domain(Field::total_wr);
  ledger.set_totals(responder.known ? std::optional(responder.max) : std::nullopt,
                    made->is(Behaviour::rd_atomic_budget, Choice::shared),
                    work_requests.known ? std::optional(work_requests.max) : std::nullopt);
  return made;
}

std::shared_ptr<const Contract> Device::State::contract(std::uint8_t port) {
  if (probed->caps.port(port) == nullptr) return nullptr;
  const auto rules = library->quirks();
  const std::lock_guard lock(mutex_);
  const auto cached =
      std::find_if(contracts_.begin(), contracts_.end(), [&](const CachedContract& c) { return c.port == port; });
  if (cached != contracts_.end() && cached->rules == rules) return cached->contract;
  auto made = make_contract(port, rules, probed->caps);
  if (cached != contracts_.end()) {
    *cached = {port, rules, made};
  } else {
    contracts_.push_back({port, rules, made});
  }
  return made;
}

std::shared_ptr<const Contract> Device::State::contract_now(std::uint8_t port) {
  auto known = contract(port);
  if (!known || !known->is(Behaviour::caps_shrink_with_use, Choice::yes)) return known;
  Caps caps = known->caps();
  if (const int error = refresh_counts(verbs(), context, caps); error != 0) {
    look_at(error);
    return known;
  }
  return make_contract(port, library->quirks(), caps);
}

void Device::State::mark_gone() noexcept {
  gone_.store(true, std::memory_order_release);
}

bool Device::State::look_at(int errno_value) {
  if (gone()) return true;
  const ErrnoFamily family = errno_family(errno_value);
  if (family == ErrnoFamily::gone) {
    mark_gone();
  } else if (family == ErrnoFamily::io) {
    // erdma answers EIO at a limit; a removed device answers it to everything (linux drivers/infiniband/core
    // ib_uverbs_disassociate_ucontext leaves no other answer).
    ibv_device_attr attr{};
    const ErrnoFamily again = errno_family(verbs().query_device(context, attr));
    if (again == ErrnoFamily::io || again == ErrnoFamily::gone) mark_gone();
  }
  if (gone()) {
    library->probes.forget(name());
    log(LogLevel::error,
        fmt::format("{} was removed or reported a fatal error ({}): nothing can be done on it any more", name(),
                    errno_name(errno_value)));
  }
  return gone();
}

Error Device::State::gone_error() const {
  Error error;
  error.kind = ErrorKind::device_gone;
  error.errno_value = EIO;
  error.text = fmt::format("{} was removed or reported a fatal error; close it and open the device anew", name());
  return error;
}

void Device::State::destroyed(const char* verb, int error) noexcept {
  if (error == 0) return;
  const ErrnoFamily family = errno_family(error);
  bool is_gone = false;
  try {
    is_gone = (family == ErrnoFamily::io || family == ErrnoFamily::gone) && look_at(error);
  } catch (...) {
    is_gone = gone();  // out of memory for the text that says so
  }
  if (!is_gone) static_cast<void>(left_behind(verb, error));
}

bool Device::State::left_behind(const char* verb, int error) noexcept {
  CountersState::add(counters.destroy_failures);
  try {
    log(LogLevel::error, fmt::format("{} failed with {}: the object is left to the kernel, which frees it when the "
                                     "process ends{}",
                                     verb, errno_name(error),
                                     error == EBUSY ? "; something that was released or adopted still uses it" : ""));
    return true;
  } catch (...) {
    return false;
  }
}

void Device::State::log(LogLevel level, std::string text) const {
  library->log(level, name(), std::move(text));
}

}  // namespace verbena
