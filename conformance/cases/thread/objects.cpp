// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
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

/// A way of its own for a thread: what a Way keeps belongs to one.
std::unique_ptr<Way> own_way(const Case& c) {
  return c.through_verbena() ? verbena_way(c.device(), c.ground().verbs, c.port())
                             : raw_way(c.device(), c.ground().verbs);
}

/// Makes and destroys a domain, a completion queue, a region and a queue pair; the first errno that came.
int objects_once(Way& way, const Memory& memory) {
  Object<ibv_pd> pd = way.pd();
  if (!pd) return pd.error();
  Object<ibv_cq> cq = way.cq({.cqe = 8});
  if (!cq) return cq.error();
  Object<ibv_mr> mr = way.mr(pd.raw(), {.address = memory.data(), .length = memory.size()});
  if (!mr) return mr.error();
  QpShape shape;
  shape.send_cq = cq.raw();
  Object<ibv_qp> qp = way.qp(pd.raw(), shape);
  if (!qp) return qp.error();
  for (const int error : {qp.destroy(), mr.destroy(), cq.destroy(), pd.destroy()}) {
    if (error != 0) return error;
  }
  return 0;
}

void concurrent(Case& c) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20;
  std::atomic<int> first{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&c, &first] {
      const std::unique_ptr<Way> way = own_way(c);
      const Memory memory(c.verbs().page_size(), c.verbs().page_size());
      for (int round = 0; round < kRounds && first == 0; ++round) {
        const int error = objects_once(*way, memory);
        int none = 0;
        if (error != 0) first.compare_exchange_strong(none, error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  c.accepted(first.load(), "creating and destroying objects on several threads");
}

void other_traffic(Case& c) {
  Loop loop(c);
  std::atomic<bool> done{false};
  std::atomic<int> first{0};
  std::atomic<int> rounds{0};
  std::thread maker([&] {
    const std::unique_ptr<Way> way = own_way(c);
    const Memory memory(c.verbs().page_size(), c.verbs().page_size());
    while (!done) {
      const int error = objects_once(*way, memory);
      if (error != 0) first = error;
      ++rounds;
    }
  });
  for (std::uint64_t wr_id = 1; wr_id <= 40 || (rounds < 3 && wr_id < 4000); ++wr_id) {
    if (!carries(c, loop, "while other objects come and go", wr_id)) break;
  }
  done = true;
  maker.join();
  c.accepted(first.load(), "creating and destroying objects beside traffic");
}

void one_of_two(Case& c) {
  const Pool one(c);
  const Pool other(c);
  Loop loop(c, {.b = one.given()});
  Loop second(c, {.b = other.given()});
  ibv_context* context = c.other().raw();
  {
    const AsyncEvents drained(c, context);
  }
  c.need(c.accepted(c.verbs().set_nonblocking(context->async_fd, false), "a blocking async_fd"));
  std::mutex mutex;
  std::vector<ibv_async_event> got;
  const auto wait = [&] {
    ibv_async_event event{};
    if (c.verbs().get_async_event(context, event) != 0) return;
    const std::lock_guard lock(mutex);
    got.push_back(event);
  };
  std::thread first_thread(wait);
  std::thread second_thread(wait);
  const auto have = [&] {
    const std::lock_guard lock(mutex);
    return got.size();
  };
  const auto raise = [&](const Pool& pool, Loop& on) {
    pool.fill(2);
    c.accepted(c.other_way().arm_srq_limit(pool.srq(), 2), "ibv_modify_srq");
    message(c, on);
  };
  raise(one, loop);
  raise(other, second);
  const auto end = std::chrono::steady_clock::now() + c.ground().completion_within / 5;
  while (have() < 2 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::size_t in_time = have();
  // A thread that still waits is freed by one more event of either kind.
  for (std::size_t left = in_time; left < 2; ++left) raise(one, loop);
  first_thread.join();
  second_thread.join();
  c.equal(in_time, std::size_t{2}, "events that two threads got of two");
  std::size_t of_one = 0;
  for (ibv_async_event& event : got) {
    c.equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED, "the kind of event");
    of_one += event.element.srq == one.srq() ? 1U : 0U;
    c.verbs().ack_async_event(event);
  }
  if (in_time == 2) c.equal(of_one, std::size_t{1}, "how often the event of one of two queues was returned");
  AsyncEvents after(c, context);  // makes the descriptor non-blocking again
  c.holds(after.none(IBV_EVENT_SRQ_LIMIT_REACHED, nullptr, std::chrono::milliseconds(5)), Seen::event,
          "an event was returned twice");
}

/// The calls of the builder are inline in libibverbs, so both columns use them as they are.
void batches_whole(Case& c) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kBatches = 6;
  constexpr std::uint32_t kBatch = 4;
  constexpr std::uint32_t kAll = kThreads * kBatches * kBatch;
  constexpr std::size_t kSlot = 64;
  Loop loop(c, {.cap = {kAll, kAll, 1, 1, 0},
                .cqe = 2 * kAll,
                .ops = verbena::SendOps{verbena::SendOps::kSend},
                .bytes = kAll * kSlot});
  for (std::uint32_t index = 0; index < kAll; ++index) {
    std::memcpy(loop.a().data() + index * kSlot, &index, sizeof index);
    c.need(c.accepted(loop.receive(loop.b(), index, index * kSlot, kSlot), "ibv_post_recv"));
  }
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(loop.a().qp.raw());
  c.need(c.holds(qp != nullptr, Seen::refused, "ibv_qp_to_qp_ex"));
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t batch = 0; batch < kBatches; ++batch) {
        ibv_wr_start(qp);
        for (std::uint32_t count = 0; count < kBatch; ++count) {
          const std::uint32_t index = (thread * kBatches + batch) * kBatch + count;
          qp->wr_id = index;
          qp->wr_flags = IBV_SEND_SIGNALED;
          ibv_wr_send(qp);
          ibv_wr_set_sge(qp, loop.a().mr->lkey, loop.a().memory->address() + index * kSlot, kSlot);
          if (count == 1) std::this_thread::yield();
        }
        if (ibv_wr_complete(qp) != 0) ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  c.need(c.equal(refused.load(), 0, "batches refused"));
  const auto found = next(c, loop.a().send_cq.raw(), kAll);
  c.need(c.equal(found.size(), std::size_t{kAll}, "sends that completed"));
  const auto taken = next(c, loop.b().recv_cq.raw(), kAll);
  c.need(c.equal(taken.size(), std::size_t{kAll}, "receives that completed"));
  for (std::uint32_t place = 0; place < kAll; place += kBatch) {
    std::uint32_t first = 0;
    std::memcpy(&first, loop.b().data() + place * kSlot, sizeof first);
    for (std::uint32_t count = 1; count < kBatch; ++count) {
      std::uint32_t here = 0;
      std::memcpy(&here, loop.b().data() + (place + count) * kSlot, sizeof here);
      if (!c.equal(here, first + count, "the message behind " + std::to_string(first))) return;
    }
  }
}

void own_thread(Case& c) {
  struct Lane {
    Object<ibv_pd> pd;
    Object<ibv_td> td;
    Object<ibv_pd> parent;
    std::unique_ptr<Loop> loop;
    std::uint32_t delivered = 0;
  };
  std::deque<Lane> lanes(2);
  for (Lane& lane : lanes) {
    lane.pd = c.made(c.way().pd(), "ibv_alloc_pd");
    ibv_td_init_attr attr{};
    const verbena::Made<ibv_td> td = c.verbs().alloc_td(c.context(), attr);
    c.need(c.accepted(td.error, "ibv_alloc_td"));
    lane.td = Object<ibv_td>(td.handle, [&c, handle = td.handle] { return c.verbs().dealloc_td(handle); });
    ibv_parent_domain_init_attr domain{};
    domain.pd = lane.pd.raw();
    domain.td = lane.td.raw();
    const verbena::Made<ibv_pd> parent = c.verbs().alloc_parent_domain(c.context(), domain);
    c.need(c.accepted(parent.error, "ibv_alloc_parent_domain"));
    lane.parent = Object<ibv_pd>(parent.handle, [&c, handle = parent.handle] { return c.verbs().dealloc_pd(handle); });
    lane.loop = std::make_unique<Loop>(c, LoopShape{.a = {.pd = lane.parent.raw()}});
  }
  constexpr std::uint32_t kMessages = 50;
  std::vector<std::thread> threads;
  for (Lane& lane : lanes) {
    threads.emplace_back([&c, &lane] {
      const auto end = std::chrono::steady_clock::now() + c.ground().completion_within;
      Loop& loop = *lane.loop;
      for (std::uint32_t index = 0; index < kMessages; ++index) {
        if (loop.receive(loop.b(), index, 0, kMessageBytes) != 0 || loop.send(loop.a(), index, 0, kMessageBytes) != 0)
          return;
        for (ibv_cq* cq : {loop.a().send_cq.raw(), loop.b().recv_cq.raw()}) {
          ibv_wc wc{};
          while (cq->context->ops.poll_cq(cq, 1, &wc) == 0) {
            if (std::chrono::steady_clock::now() >= end) return;
          }
          if (wc.status != IBV_WC_SUCCESS || wc.wr_id != index) return;
        }
        ++lane.delivered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Lane& lane : lanes) c.equal(lane.delivered, kMessages, "messages of a queue pair of a thread domain");
}

}  // namespace

Bodies thread_objects_bodies() {
  static constexpr Body kBodies[] = {
      {"thread.objects.concurrent", concurrent}, {"thread.destroy.other_traffic", other_traffic},
      {"thread.event.one_of_two", one_of_two},   {"thread.builder.batches_whole", batches_whole},
      {"thread.domain.own_thread", own_thread},
  };
  return kBodies;
}

}  // namespace conform
