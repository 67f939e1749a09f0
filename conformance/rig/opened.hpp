// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <utility>

#include "rig/case.hpp"

namespace conform {

/// A context of its own on the case's device, opened by plain verbs; closed at the end of its scope.
class Opened {
public:
  /// What fails is a finding, and ends the case.
  explicit Opened(Case& c);
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { close(); }

  ibv_context* raw() const noexcept { return context_; }
  /// 0 or a positive errno; the context is gone either way.
  int close();

private:
  verbena::Verbs& verbs_;
  ibv_context* context_ = nullptr;
};

}  // namespace conform
