// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/run_units.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "runner/applies.hpp"

namespace conform {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kLowMemlock = 1U << 20;

Task task_of(const Unit& unit) {
  Task task;
  task.id = unit.listed->id;
  task.body = unit.listed->body;
  task.row = unit.listed->row;
  task.covers = unit.listed->covers;
  task.side = unit.side;
  task.drop_capabilities = has_setup(*unit.listed, "no_privilege");
  if (has_setup(*unit.listed, "memory_limit")) task.memlock_bytes = kLowMemlock;
  return task;
}

/// One place for a worker and what it does.
struct Slot {
  std::unique_ptr<WorkerProcess> worker;
  const Unit* unit = nullptr;
  Clock::time_point begun;
  Clock::time_point deadline;
};

class Runs {
public:
  Runs(const WorkerPlan& plan, Watch& watch) : plan_(plan), watch_(watch) {}

  std::string all(const std::vector<Unit>& units) {
    std::deque<const Unit*> together;
    std::deque<const Unit*> apart;
    for (const Unit& unit : units) {
      const bool by_itself =
          !plan_.devices_apart && (alone(*unit.listed) || (plan_.jobs > 1 && unit.listed->impact > Impact::traffic));
      (by_itself ? apart : together).push_back(&unit);
    }
    drain(together, std::max(1U, plan_.jobs));
    slots_.clear();
    if (stopped_.empty()) drain(apart, 1);
    return stopped_;
  }

private:
  void drain(std::deque<const Unit*>& queue, std::size_t width) {
    slots_.resize(width);
    for (;;) {
      bool busy = false;
      for (Slot& slot : slots_) {
        while (slot.unit == nullptr && stopped_.empty() && !queue.empty()) {
          begin(slot, queue.front());
          queue.pop_front();
        }
        busy = busy || slot.unit != nullptr;
      }
      if (!busy) return;
      wait();
    }
  }

  void begin(Slot& slot, const Unit* unit) {
    if (std::string why = plan_.lost ? plan_.lost() : std::string(); !why.empty()) {
      block(*unit, std::move(why));
      return;
    }
    if (alone(*unit->listed)) slot.worker.reset();
    if (!slot.worker && !replace(slot)) return;
    if (!watch_.started(*unit)) {
      stopped_ = "what was done could not be kept";
      return;
    }
    slot.unit = unit;
    slot.begun = Clock::now();
    const double seconds = std::max(unit->listed->seconds.value_or(plan_.seconds), plan_.seconds) * plan_.deadlines;
    slot.deadline = slot.begun + milliseconds(static_cast<long long>(seconds * 1000));
    if (!slot.worker->give(task_of(*unit))) died(slot);
  }

  void block(const Unit& unit, std::string why) {
    Ended ended;
    ended.outcome.emplace();
    ended.outcome->stop = Stop{Stop::Why::blocked, std::string(kPeer), std::move(why)};
    if (!watch_.started(unit) || !watch_.ended(unit, std::move(ended))) stopped_ = "what was done could not be kept";
  }

  bool replace(Slot& slot) {
    slot.worker = WorkerProcess::start(plan_.start_worker);
    const std::string why_not = slot.worker ? slot.worker->wait_ready(plan_.ready_within) : "no process can be made";
    if (why_not.empty()) return true;
    slot.worker.reset();
    stopped_ = last_death_.empty()
                   ? fmt::format("the device cannot be used: {}", why_not)
                   : fmt::format("the device cannot be used any more after {}: {}", last_death_, why_not);
    return false;
  }

  void wait() {
    std::vector<pollfd> fds;
    std::vector<Slot*> owners;
    // Short, since a worker that dies may leave its channel to a child of its own.
    milliseconds left{100};
    for (Slot& slot : slots_) {
      if (slot.unit == nullptr) continue;
      fds.push_back({slot.worker->channel(), POLLIN, 0});
      owners.push_back(&slot);
      left = std::min(left, std::chrono::ceil<milliseconds>(slot.deadline - Clock::now()));
    }
    const int ready = poll(fds.data(), fds.size(), static_cast<int>(std::max<long long>(0, left.count())));
    for (std::size_t at = 0; at < fds.size(); ++at) {
      Slot& slot = *owners[at];
      if (ready > 0 && fds[at].revents != 0) {
        hear(slot);
      } else if (Clock::now() >= slot.deadline) {
        hang(slot);
      } else if (ready == 0 && slot.worker->dead()) {
        died(slot);
      }
    }
  }

  void hear(Slot& slot) {
    if (!slot.worker->lines().fill()) {
      died(slot);
      return;
    }
    const auto line = slot.worker->lines().take();
    if (!line) return;
    Ended ended;
    ended.outcome = outcome_from_line(*line);
    if (!ended.outcome) ended.how = "an answer that cannot be read";
    // Its connection is of no more use; a new worker makes a new one.
    const bool unreachable = ended.outcome && ended.outcome->stop && ended.outcome->stop->word == kPeer;
    end(slot, std::move(ended));
    if (unreachable) slot.worker.reset();
  }

  void died(Slot& slot) {
    Ended ended;
    ended.how = slot.worker->ended_with();
    slot.worker.reset();
    last_death_ = slot.unit->listed->id;
    end(slot, std::move(ended));
  }

  void hang(Slot& slot) {
    Ended ended;
    ended.timed_out = true;
    ended.how = slot.worker->end();
    last_death_ = slot.unit->listed->id;
    if (ended.how.empty()) stopped_ = fmt::format("{} hangs in the kernel and cannot be ended", last_death_);
    slot.worker.reset();
    end(slot, std::move(ended));
  }

  void end(Slot& slot, Ended ended) {
    const Unit& unit = *slot.unit;
    slot.unit = nullptr;
    if (alone(*unit.listed)) slot.worker.reset();
    ended.ms = std::chrono::duration<double, std::milli>(Clock::now() - slot.begun).count();
    if (!watch_.ended(unit, std::move(ended)) && stopped_.empty()) stopped_ = "what was done could not be kept";
  }

  const WorkerPlan& plan_;
  Watch& watch_;
  std::vector<Slot> slots_;
  std::string stopped_;
  std::string last_death_;
};

}  // namespace

std::string run_units(const std::vector<Unit>& units, const WorkerPlan& plan, Watch& watch) {
  return Runs(plan, watch).all(units);
}

}  // namespace conform
