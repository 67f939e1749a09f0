// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "engine/transport/queue_pair.hpp"
#include "engine/transport/time.hpp"

namespace verbena::engine::transport {

/// When queue pairs are to be woken, at most one moment each.
class Deadlines {
public:
  void set(QueuePair& qp, Time at) {
    clear(qp);
    qp.deadline = at;
    due_.emplace(at, &qp);
  }
  void clear(QueuePair& qp) noexcept {
    if (!qp.deadline) return;
    due_.erase({*qp.deadline, &qp});
    qp.deadline.reset();
  }
  std::optional<Time> next() const noexcept {
    if (due_.empty()) return std::nullopt;
    return due_.begin()->first;
  }
  /// The one that is due longest, and no more due; null where none is.
  QueuePair* take(Time now) noexcept {
    if (due_.empty() || due_.begin()->first > now) return nullptr;
    QueuePair* const qp = due_.begin()->second;
    clear(*qp);
    return qp;
  }

private:
  std::set<std::pair<Time, QueuePair*>> due_;
};

}  // namespace verbena::engine::transport
