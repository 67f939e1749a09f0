// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "rig/case.hpp"

namespace conform {

inline constexpr std::chrono::milliseconds kQuietSpan{50};

/// ibv_req_notify_cq; 0 or a positive errno.
int arm(ibv_cq* cq, bool solicited_only = false);

/// An event of a completion channel.
struct CqRaised {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
};
/// The next one, not acknowledged; empty when none came in time.
std::optional<CqRaised> take_event(Case& c, ibv_comp_channel* channel);
/// The next one, acknowledged.
std::optional<CqRaised> next_event(Case& c, ibv_comp_channel* channel);
/// Whether none is raised for a while: for what must raise none. One that is raised is acknowledged.
bool no_event(Case& c, ibv_comp_channel* channel, std::chrono::milliseconds span = kQuietSpan);

/// The asynchronous events of one device, from the moment this is made: those of before are dropped. Waiting for one
/// drops those of other kinds and other objects.
class AsyncEvents {
public:
  explicit AsyncEvents(Case& c) : AsyncEvents(c, c.context()) {}
  AsyncEvents(Case& c, ibv_context* context);

  /// The next one of this kind whose object or port is `element` (null: whichever), not acknowledged; empty when none
  /// came in time.
  std::optional<ibv_async_event> take(ibv_event_type type, const void* element,
                                      std::optional<std::chrono::milliseconds> within = {});
  /// The same, acknowledged.
  bool next(ibv_event_type type, const void* element, std::optional<std::chrono::milliseconds> within = {});
  /// Whether none such is raised for a while.
  bool none(ibv_event_type type, const void* element, std::chrono::milliseconds span = kQuietSpan) {
    return !next(type, element, span);
  }

private:
  Case& case_;
  ibv_context* context_;
};

}  // namespace conform
