// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "peer/far_verbs.hpp"

namespace conform::peer {

/// The refusal of a creation: its errno, and whether the driver set one.
template <class T>
verbena::Made<T> FarVerbs::refused(Line::Answer& answer) {
  return {.handle = nullptr, .error = answer.error, .errno_missing = answer.rest.get<bool>()};
}

/// A shadow of what was made: the far end's number of it comes behind the word about errno.
template <class T>
Shadow<T>* FarVerbs::shadow(ibv_context* context, Line::Answer& answer) {
  answer.rest.get<bool>();
  auto* made = new Shadow<T>;
  made->object.context = context;
  answer.rest.get(made->id);
  return made;
}

}  // namespace conform::peer
