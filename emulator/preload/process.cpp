// SPDX-License-Identifier: Apache-2.0 OR MIT
// The process's emulated NICs: when they come to be, and that they leave the net when it ends.
#include "process.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "verbena/emulated.hpp"
#include "verbs/environment.hpp"

namespace verbena::preload {

namespace {

/// The newest first. None is ever taken out, nor ended by exit(): a program's threads may be in the middle of a verb.
struct Entry {
  std::shared_ptr<Verbs> verbs;
  EmulatedVerbs* emulated = nullptr;
  Entry* before = nullptr;
};

std::atomic<Entry*> newest{nullptr};
std::mutex making;
std::atomic<bool> failed{false};

bool here(const Entry& entry) noexcept {
  return entry.emulated->host().mutex.here();
}

std::optional<std::string> variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Entry* make() {
  auto options = emulator::options_from(variable);
  auto verbs = options ? emulator::joined_verbs(*std::move(options)) : Failure(options.error());
  if (!verbs) {
    complain(verbs.error().text.c_str());
    failed = true;
    return nullptr;
  }
  auto entry = std::make_unique<Entry>();
  entry->emulated = static_cast<EmulatedVerbs*>(verbs->get());
  entry->verbs = *std::move(verbs);
  entry->before = newest.load(std::memory_order_relaxed);
  newest.store(entry.get(), std::memory_order_release);
  return entry.release();
}

/// Others on the net see at once that this process is done.
struct Leaving {
  Leaving() = default;
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() {
    Entry* const entry = newest.load(std::memory_order_acquire);
    if (entry != nullptr && here(*entry)) entry->emulated->leave();
  }
};
const Leaving leaving;

}  // namespace

bool wanted() noexcept {
  return ::secure_getenv(emulator::kNicsVariable) != nullptr;
}

EmulatedVerbs* emulated() {
  Entry* entry = newest.load(std::memory_order_acquire);
  if (entry != nullptr && here(*entry)) return entry->emulated;
  if (failed || !wanted()) return nullptr;
  const std::scoped_lock lock(making);
  entry = newest.load(std::memory_order_acquire);
  if (entry == nullptr || !here(*entry)) entry = failed ? nullptr : make();
  return entry != nullptr ? entry->emulated : nullptr;
}

EmulatedVerbs* owner(const ibv_device* device) noexcept {
  for (const Entry* entry = newest.load(std::memory_order_acquire); entry != nullptr; entry = entry->before) {
    if (entry->emulated->has(device)) return entry->emulated;
  }
  return nullptr;
}

void complain(const char* text) noexcept {
  std::array<char, 1024> line{};
  const int bytes = std::snprintf(line.data(), line.size(), "verbena: %s\n", text);
  if (bytes <= 0) return;
  static_cast<void>(
      !::write(STDERR_FILENO, line.data(), std::min<std::size_t>(static_cast<std::size_t>(bytes), line.size() - 1)));
}

int absent(const char* verb) noexcept {
  // A program that asks again isn't told again.
  static std::mutex mutex;
  static std::array<const char*, 64> told{};
  const std::scoped_lock lock(mutex);
  for (const char*& each : told) {
    if (each != nullptr && std::strcmp(each, verb) == 0) break;
    if (each != nullptr) continue;
    each = verb;
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "emulated NICs have no %s", verb);
    complain(text.data());
    break;
  }
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

}  // namespace verbena::preload

extern "C" verbena::Verbs* VERBENA_EMULATED_NICS() {
  // Their making reads models, which asks the host, which asks here.
  static thread_local bool asked = false;
  if (asked) return nullptr;
  asked = true;
  verbena::Verbs* const nics = verbena::preload::emulated();
  asked = false;
  return nics;
}
