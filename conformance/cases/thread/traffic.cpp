// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/srq/pool.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

// Threads post, poll and note; what they found is judged by the one that started them, as a Case belongs to one thread.

constexpr std::uint32_t kThreads = 4;
constexpr std::uint32_t kEach = 25;
constexpr std::uint32_t kAll = kThreads * kEach;
constexpr std::size_t kSlot = 64;

LoopShape wide() {
  return {.cap = {kAll, kAll, 1, 1, 0}, .cqe = 2 * kAll, .bytes = 2 * kAll * kSlot};
}

/// Runs `body(thread)` on all threads at once.
template <class Body>
void at_once(const Body& body) {
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> ready{0};
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (++ready; ready < kThreads;) std::this_thread::yield();
      body(thread);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Writes its own number into each slot of the sender's memory.
void number_slots(Loop& loop) {
  for (std::uint32_t index = 0; index < kAll; ++index) {
    std::memcpy(loop.a().data() + index * kSlot, &index, sizeof index);
  }
}

/// Completions of a queue, each work request once, all of them with success.
void each_once(Case& c, ibv_cq* cq, std::uint32_t count, std::string_view what) {
  std::map<std::uint64_t, int> seen;
  for (const ibv_wc& wc : next(c, cq, count)) {
    if (!c.completed(wc, IBV_WC_SUCCESS, what)) return;
    ++seen[wc.wr_id];
  }
  c.equal(seen.size(), std::size_t{count}, std::string(what) + ": work requests that completed");
  for (const auto& [wr_id, times] : seen) {
    if (!c.equal(times, 1, std::string(what) + ": completions of work request " + std::to_string(wr_id))) break;
  }
  c.holds(quiet(c, cq, std::chrono::milliseconds(5)), Seen::completion,
          std::string(what) + ": one completion too many");
}

/// The numbers that arrived in b's slots: each once.
void numbers_once(Case& c, Loop& loop) {
  std::map<std::uint32_t, int> seen;
  for (std::uint32_t index = 0; index < kAll; ++index) {
    std::uint32_t number = 0;
    std::memcpy(&number, loop.b().data() + index * kSlot, sizeof number);
    ++seen[number];
  }
  c.equal(seen.size(), std::size_t{kAll}, "distinct messages that arrived");
}

void one_queue_pair(Case& c) {
  Loop loop(c, wide());
  number_slots(loop);
  std::memset(loop.b().data(), 0xff, kAll * kSlot);
  for (std::uint32_t index = 0; index < kAll; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, index * kSlot, kSlot), "ibv_post_recv"));
  }
  std::atomic<int> refused{0};
  at_once([&](std::uint32_t thread) {
    for (std::uint32_t count = 0; count < kEach; ++count) {
      const std::uint32_t index = thread * kEach + count;
      if (loop.send(loop.a(), index, index * kSlot, kSlot) != 0) ++refused;
    }
  });
  c.need(c.equal(refused.load(), 0, "sends refused while several threads post"));
  each_once(c, loop.a().send_cq.raw(), kAll, "a send");
  each_once(c, loop.b().recv_cq.raw(), kAll, "a receive");
  numbers_once(c, loop);
}

void receives(Case& c) {
  Loop loop(c, wide());
  number_slots(loop);
  std::memset(loop.b().data(), 0xff, kAll * kSlot);
  std::atomic<int> refused{0};
  at_once([&](std::uint32_t thread) {
    for (std::uint32_t count = 0; count < kEach; ++count) {
      const std::uint32_t index = thread * kEach + count;
      if (loop.receive(loop.b(), index, index * kSlot, kSlot) != 0) ++refused;
    }
  });
  c.need(c.equal(refused.load(), 0, "receives refused while several threads post"));
  for (std::uint32_t index = 0; index < kAll; ++index) {
    c.need(c.accepted(loop.send(loop.a(), index, index * kSlot, kSlot), "ibv_post_send"));
  }
  each_once(c, loop.a().send_cq.raw(), kAll, "a send");
  each_once(c, loop.b().recv_cq.raw(), kAll, "a receive");
  numbers_once(c, loop);
}

void shared_receive_queue(Case& c) {
  const Pool pool(c, {.max_wr = kAll, .max_sge = 1, .srq_limit = 0});
  LoopShape shape = wide();
  shape.b = pool.given();
  Loop loop(c, shape);
  std::atomic<int> refused{0};
  at_once([&](std::uint32_t thread) {
    for (std::uint32_t count = 0; count < kEach; ++count) {
      if (pool.receive(thread * kEach + count) != 0) ++refused;
    }
  });
  c.need(c.equal(refused.load(), 0, "receives refused while several threads post"));
  for (std::uint32_t index = 0; index < kAll; ++index) {
    c.need(c.accepted(loop.send(loop.a(), index, 0, kMessageBytes), "ibv_post_send"));
  }
  each_once(c, loop.a().send_cq.raw(), kAll, "a send");
  each_once(c, loop.b().recv_cq.raw(), kAll, "a receive");
}

/// Polls until `all` of them were had between the threads, or time is up; each notes what it got.
struct Polled {
  explicit Polled(Case& c) : end(std::chrono::steady_clock::now() + c.ground().completion_within) {}

  void poll(Way& way, ibv_cq* cq, std::uint32_t all) {
    while (count < all && std::chrono::steady_clock::now() < end) {
      ibv_wc wc{};
      if (way.poll(cq, 1, &wc) != 1) {
        std::this_thread::yield();
        continue;
      }
      const std::lock_guard lock(mutex);
      ++seen[wc.wr_id];
      if (wc.status != IBV_WC_SUCCESS) ++failed;
      ++count;
    }
  }

  std::chrono::steady_clock::time_point end;
  std::atomic<std::uint32_t> count{0};
  std::mutex mutex{};
  std::map<std::uint64_t, int> seen{};
  int failed = 0;
};

void judge(Case& c, const Polled& polled, std::string_view what) {
  c.equal(polled.count.load(), kAll, std::string(what) + ": completions");
  c.equal(polled.seen.size(), std::size_t{kAll}, std::string(what) + ": work requests that completed");
  c.equal(polled.failed, 0, std::string(what) + ": completions in error");
}

void one_queue(Case& c) {
  Loop loop(c, wide());
  for (std::uint32_t index = 0; index < kAll; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, 0, kSlot), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), index, 0, kSlot), "ibv_post_send"));
  }
  Polled sends(c);
  Polled taken(c);
  at_once([&](std::uint32_t) {
    sends.poll(c.way(), loop.a().send_cq.raw(), kAll);
    taken.poll(c.other_way(), loop.b().recv_cq.raw(), kAll);
  });
  judge(c, sends, "sends polled by several threads");
  judge(c, taken, "receives polled by several threads");
  c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(5)), Seen::completion, "one completion too many");
}

void post_and_poll(Case& c) {
  Loop loop(c, {.cap = {16, kAll, 1, 1, 0}, .cqe = 2 * kAll});
  for (std::uint32_t index = 0; index < kAll; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, 0, kSlot), "ibv_post_recv"));
  }
  Polled sends(c);
  std::atomic<int> refused{0};
  std::thread poster([&] {
    for (std::uint32_t index = 0; index < kAll; ++index) {
      while (index - sends.count >= 16 && std::chrono::steady_clock::now() < sends.end) std::this_thread::yield();
      if (loop.send(loop.a(), index, 0, kSlot) != 0) ++refused;
    }
  });
  sends.poll(c.way(), loop.a().send_cq.raw(), kAll);
  poster.join();
  c.equal(refused.load(), 0, "sends refused while another thread polls");
  judge(c, sends, "sends posted by one thread and polled by another");
  each_once(c, loop.b().recv_cq.raw(), kAll, "a receive");
}

void during_traffic(Case& c) {
  for (int round = 0; round < 3; ++round) {
    Loop loop(c, wide());
    for (std::uint32_t index = 0; index < kAll; ++index) {
      c.need(c.accepted(loop.receive(loop.b(), index, 0, kSlot), "ibv_post_recv"));
    }
    std::vector<int> answers(kAll, 0);
    std::atomic<std::uint32_t> posted{0};
    std::atomic<bool> in_err{false};
    std::thread poster([&] {
      for (std::uint32_t index = 0; index < kAll; ++index) {
        // The last ones are posted to ERR whatever the threads' pace.
        while (index == kAll - 4 && !in_err) std::this_thread::yield();
        answers[index] = loop.send(loop.a(), index, 0, kSlot);
        ++posted;
      }
    });
    while (posted < kAll / 4 * static_cast<std::uint32_t>(round + 1)) std::this_thread::yield();
    const Move err = to(IBV_QPS_ERR);
    const int moved = c.way().modify(loop.a().qp.raw(), err.attr, err.mask);
    in_err = true;
    poster.join();
    c.need(c.accepted(moved, "ibv_modify_qp to ERR while another thread posts"));
    std::size_t accepted = 0;
    for (const int answer : answers) accepted += answer == 0 ? 1 : 0;
    std::map<std::uint64_t, int> seen;
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), accepted)) ++seen[wc.wr_id];
    if (!c.holds(seen.size() == accepted, seen.size() < accepted ? Seen::no_completion : Seen::completion,
                 std::to_string(seen.size()) + " of " + std::to_string(accepted) + " accepted sends completed")) {
      return;
    }
    for (const auto& [wr_id, times] : seen) c.equal(times, 1, "completions of send " + std::to_string(wr_id));
    c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(5)), Seen::completion,
            "one completion too many");
  }
}

}  // namespace

Bodies thread_traffic_bodies() {
  static constexpr Body kBodies[] = {
      {"thread.post.one_queue_pair", one_queue_pair},
      {"thread.post.receives", receives},
      {"thread.post.shared_receive_queue", shared_receive_queue},
      {"thread.poll.one_queue", one_queue},
      {"thread.post_and_poll", post_and_poll},
      {"thread.modify.during_traffic", during_traffic},
  };
  return kBodies;
}

}  // namespace conform
