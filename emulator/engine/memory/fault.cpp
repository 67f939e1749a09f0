// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/fault.hpp"

namespace verbena::engine::memory {

std::string_view name(Fault fault) noexcept {
  switch (fault) {
    case Fault::unknown_key:
      return "unknown_key";
    case Fault::invalidated:
      return "invalidated";
    case Fault::other_domain:
      return "other_domain";
    case Fault::other_queue_pair:
      return "other_queue_pair";
    case Fault::not_local:
      return "not_local";
    case Fault::access:
      return "access";
    case Fault::bounds:
      return "bounds";
  }
  return "?";
}

}  // namespace verbena::engine::memory
