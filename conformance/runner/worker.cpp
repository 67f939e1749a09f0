// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/worker.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "runner/lines.hpp"
#include "runner/messages.hpp"
#include "runner/run_body.hpp"
#include "verbena/emulated.hpp"

namespace conform {
namespace {

constexpr std::uint64_t kCapIpcLock = std::uint64_t{1} << CAP_IPC_LOCK;

/// Takes the capabilities of the mask away for good.
bool drop(std::uint64_t mask) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (unsigned half = 0; half < 2; ++half) {
    const auto kept = ~static_cast<std::uint32_t>(mask >> (32 * half));
    data[half].effective &= kept;
    data[half].permitted &= kept;
    data[half].inheritable &= kept;
  }
  return syscall(SYS_capset, &header, data) == 0;
}

/// The ground that a task stands on; empty text, or why it can't be laid.
std::string prepare(const Task& task) {
  if (task.drop_capabilities && !drop(~std::uint64_t{0})) return "capabilities cannot be dropped";
  if (task.memlock_bytes) {
    if (!drop(kCapIpcLock)) return "CAP_IPC_LOCK cannot be dropped";
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "RLIMIT_MEMLOCK cannot be read";
    limit.rlim_cur = std::min<rlim_t>(*task.memlock_bytes, limit.rlim_max);
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "RLIMIT_MEMLOCK cannot be set";
  }
  return {};
}

/// The same devices, opened anew: the kernel asks who opened a context, so one from before a change of rights is of no
/// use after it.
verbena::Result<Ground> opened_again(const Ground& ground) {
  Ground again = ground;
  for (auto* device : {&again.device, &again.other}) {
    // Another host's device is held by a process there, whose rights stay as they are.
    if (!device->has_value() || (device == &again.other && ground.far)) continue;
    auto opened = ground.library->open((*device)->id().name);
    if (!opened) return verbena::Failure(opened.error());
    *device = *std::move(opened);
  }
  return again;
}

Outcome out_of_reach(std::string why) {
  Outcome outcome;
  outcome.stop = Stop{Stop::Why::blocked, std::string(kPeer), std::move(why)};
  return outcome;
}

/// What the packets of a case suffer that is about a bad fabric, by the word that its row has for it.
verbena::SpoiledPackets spoiled_as(const std::string& fabric) {
  constexpr std::uint32_t kAtTimes = 50'000;  // of a million
  constexpr std::chrono::milliseconds kBeyondTimeout{25};
  if (fabric == "loses") return {.lost = kAtTimes};
  if (fabric == "loses_answers") return {.answers_lost = 2 * kAtTimes};
  if (fabric == "doubles") return {.doubled = 4 * kAtTimes};
  if (fabric == "reorders") return {.late = 2 * kAtTimes};
  if (fabric == "corrupts") return {.corrupted = kAtTimes};
  if (fabric == "delays") return {.held_up = kAtTimes, .hold_up = kBeyondTimeout};
  return {};
}

/// A fabric of emulated NICs that is as bad as the task wants it, until the end of the scope.
class Spoiled {
public:
  Spoiled(const Task& task, const Ground& ground) {
    const auto fabric = task.row.find("fabric");
    if (fabric == task.row.end()) return;
    host_ = verbena::emulated_host(*ground.verbs);
    if (host_ != nullptr && host_->spoil_packets(spoiled_as(fabric->second)) != 0) host_ = nullptr;
  }
  ~Spoiled() {
    if (host_ != nullptr) host_->spoil_packets({});
  }
  Spoiled(const Spoiled&) = delete;
  Spoiled& operator=(const Spoiled&) = delete;

private:
  verbena::EmulatedHost* host_ = nullptr;
};

Outcome run_prepared(const Task& task, const Ground& ground, const Body& body) try {
  const auto way_on = [&](const verbena::Device& device, std::uint8_t port) {
    return task.side == Side::raw ? raw_way(device, ground.verbs) : verbena_way(device, ground.verbs, port);
  };
  Case c(task.id, task.row, task.covers, ground, way_on(*ground.device, ground.port),
         ground.other ? way_on(*ground.other, ground.other_port) : nullptr);
  const Spoiled spoiled(task, ground);
  Outcome outcome = run_body(body, c);
  // What a case makes of a far end that went away says nothing of a device.
  if (std::string lost = ground.far ? ground.far->lost() : std::string(); !lost.empty())
    return out_of_reach(std::move(lost));
  return outcome;
} catch (const std::exception& error) {
  Outcome outcome;
  outcome.fault = error.what();
  return outcome;
}

Outcome run(const Task& task, const Ground& ground, Bodies bodies) {
  Outcome outcome;
  const auto body = std::find_if(bodies.begin(), bodies.end(), [&](const Body& one) { return one.id == task.body; });
  if (body == bodies.end()) {
    outcome.fault = "there is no body '" + task.body + "'";
    return outcome;
  }
  if (!task.drop_capabilities && !task.memlock_bytes) return run_prepared(task, ground, *body);
  const std::string setup = task.memlock_bytes ? "memory_limit" : "no_privilege";
  if (const std::string wrong = prepare(task); !wrong.empty()) {
    outcome.stop = Stop{Stop::Why::blocked, setup, wrong};
    return outcome;
  }
  const auto again = opened_again(ground);
  if (!again) {
    outcome.stop = Stop{Stop::Why::blocked, setup, verbena::to_string(again.error())};
    return outcome;
  }
  return run_prepared(task, *again, *body);
}

/// Empty: a PD and a CQ can be made, the latter where the contract has any.
std::string device_answers(const Ground& ground) {
  for (const auto* device : {&ground.device, &ground.other}) {
    if (!device->has_value()) continue;
    const auto way = raw_way(**device, ground.verbs);
    const Object<ibv_pd> pd = way->pd();
    if (!pd) return (*device)->id().name + ": ibv_alloc_pd failed with errno " + std::to_string(pd.error());
    const auto contract = (*device)->contract(device == &ground.other ? ground.other_port : ground.port);
    if (contract && (*contract)->domain(verbena::Field::max_cq).max == 0) continue;
    const Object<ibv_cq> cq = way->cq({});
    if (!cq) return (*device)->id().name + ": ibv_create_cq failed with errno " + std::to_string(cq.error());
  }
  return {};
}

}  // namespace

int refuse_to_work(int out, const std::string& why_not) {
  write_line(out, ready_line(why_not));
  return 1;
}

int work_without_peer(int in, int out, const std::string& why_not) {
  if (!write_line(out, ready_line({}))) return 1;
  LineReader lines(in);
  while (lines.next()) {
    if (!write_line(out, to_line(out_of_reach(why_not)))) return 1;
  }
  return 0;
}

int work(int in, int out, const Ground& ground, Bodies bodies) {
  const std::string why_not = device_answers(ground);
  if (!write_line(out, ready_line(why_not)) || !why_not.empty()) return 1;
  LineReader lines(in);
  while (const auto line = lines.next()) {
    const auto task = task_from_line(*line);
    if (!task || !write_line(out, to_line(run(*task, ground, bodies)))) return 1;
  }
  return 0;
}

}  // namespace conform
