// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cerrno>
#include <memory>

#include <infiniband/verbs.h>

#include "verbena/verbs.hpp"
#include "verbs/emulated_verbs.hpp"

namespace verbena::preload {

using emulator::EmulatedVerbs;

/// The emulated NICs of this process, as the environment has them; made when they are first asked for, and made anew in
/// a child of fork(). Null where the environment names none, or they can't be made, which is said on stderr.
EmulatedVerbs* emulated();
/// The environment names emulated NICs.
bool wanted() noexcept;

/// Whose emulated device that is: of this process or, in a child, of the one that it was forked from. Null where it is
/// a real one.
EmulatedVerbs* owner(const ibv_device* device) noexcept;
inline EmulatedVerbs* owner(const ibv_context* context) noexcept {
  return owner(context->device);
}
/// The same of whatever verbs make.
template <class Object>
EmulatedVerbs* owner_of(const Object* object) noexcept {
  return owner(object->context);
}

/// One line on stderr, each name once: emulated NICs have no such verb. EOPNOTSUPP.
int absent(const char* verb) noexcept;
/// One line on stderr.
void complain(const char* text) noexcept;

// What an emulated NIC answers, as verbs say it. A NIC that is inert makes and changes nothing, and what goes is gone.

template <class Work>
auto made(EmulatedVerbs& verbs, Work work) -> decltype(work().handle) {
  if (verbs.host().inert()) {
    errno = EIO;
    return nullptr;
  }
  const auto made = work();
  if (!made && !made.errno_missing) errno = made.error;
  return made.handle;
}

/// 0 or an errno, which errno is set to as well.
template <class Work>
int outcome(EmulatedVerbs& verbs, Work work) {
  const int error = verbs.host().inert() ? EIO : work();
  if (error > 0) errno = error;
  return error;
}

/// 0 or -1.
template <class Work>
int minus_one(EmulatedVerbs& verbs, Work work) {
  return outcome(verbs, work) == 0 ? 0 : -1;
}

template <class Work>
int gone(EmulatedVerbs& verbs, Work work) {
  return verbs.host().inert() ? 0 : outcome(verbs, work);
}

}  // namespace verbena::preload
