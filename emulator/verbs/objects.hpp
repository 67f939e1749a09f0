// SPDX-License-Identifier: Apache-2.0 OR MIT
// Verbs' objects, each with the emulator's part behind it. A program sees the first member alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include <infiniband/verbs.h>

#include "engine/memory/region.hpp"
#include "engine/queues/address.hpp"
#include "engine/queues/completion_queue.hpp"
#include "engine/queues/receive_queue.hpp"
#include "engine/transport/queue_pair.hpp"
#include "nic/nic.hpp"
#include "verbs/dmabuf.hpp"

namespace verbena::emulator {

class EmulatedVerbs;

/// The emulator's object of one of verbs', which is its first member: nothing here has a virtual function or a base.
template <class Object, class Base>
Object& of(Base* base) noexcept {
  static_assert(!std::is_polymorphic_v<Object> && std::is_same_v<decltype(Object::base), Base>);
  return *reinterpret_cast<Object*>(base);
}

/// Something that libibverbs reads events of, with a descriptor that poll() wakes for.
template <class Event>
class EventQueue {
public:
  EventQueue();
  ~EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  void push(const Event& event);
  /// Takes out those that `gone` is true of: their object goes. A reader that the descriptor has woken finds none.
  template <class Gone>
  void remove(Gone gone) {
    std::erase_if(events_, gone);
  }
  /// The oldest, if there is one. Whoever calls has read the descriptor, which counts those that were taken out too.
  bool pop(Event& event);

private:
  int descriptor_;
  std::deque<Event> events_;
};

struct DeviceEntry {
  ibv_device base{};
  /// Vendor libraries look behind ibv_device, where libibverbs' own part is (rdma-core libibverbs/driver.h
  /// struct verbs_device): they find zeros.
  std::byte behind[1024]{};
  Nic* nic = nullptr;
};

struct AsyncEvent {
  ibv_async_event event{};
};

struct Context {
  verbs_context base{};
  Nic* nic = nullptr;
  EmulatedVerbs* verbs = nullptr;  ///< whose it is: inline verbs come back to it
  EventQueue<AsyncEvent> events;

  static Context& of(ibv_context* context) noexcept {
    return *reinterpret_cast<Context*>(reinterpret_cast<char*>(context) - offsetof(verbs_context, context));
  }
};

inline Nic& nic_of(ibv_context* context) noexcept {
  return *Context::of(context).nic;
}

struct Td {
  ibv_td base{};
  std::uint64_t users = 0;
};

struct Pd {
  ibv_pd base{};
  engine::memory::DomainId domain = 0;
  Pd* parent = nullptr;  ///< of a parent domain: the protection domain behind it
  Td* td = nullptr;      ///< of a parent domain: the thread domain that it was made with
  std::uint64_t users = 0;
  // Of a parent domain: where its queues get their memory, which the emulator asks for and does not use.
  void* (*alloc)(ibv_pd* pd, void* context, std::size_t size, std::size_t alignment, std::uint64_t type) = nullptr;
  void (*free)(ibv_pd* pd, void* context, void* memory, std::uint64_t type) = nullptr;
  void* pd_context = nullptr;
  Pd& real() noexcept { return parent != nullptr ? *parent : *this; }
};

struct Mr {
  ibv_mr base{};
  engine::memory::Region* region = nullptr;
  Pd* pd = nullptr;
  MappedBuffer buffer;  ///< of a dma-buf
};

struct Mw {
  ibv_mw base{};
  engine::memory::Region* region = nullptr;
};

struct Channel {
  ibv_comp_channel base{};
  EventQueue<ibv_cq*> events;
};

struct Cq {
  ibv_cq_ex base{};
  engine::queues::CompletionQueue queue;
  std::uint64_t users = 0;
  std::uint64_t events_given = 0;  ///< that a program must acknowledge before the queue can go
  std::uint64_t async_given = 0;
  const engine::queues::Completion* current = nullptr;  ///< between start_poll and end_poll
  engine::queues::Completion last;                       ///< that was polled so
  bool read_one = false;                                 ///< in this batch, and not one that came again
  bool repeats = false;                                  ///< and comes again, where the library does that

  explicit Cq(std::uint32_t depth) : queue(depth) {}
  ibv_cq* plain() noexcept { return reinterpret_cast<ibv_cq*>(&base); }
};

struct Srq {
  ibv_srq base{};
  engine::queues::SharedReceiveQueue queue;
  Pd* pd = nullptr;
  std::uint32_t depth = 0;
  std::uint32_t sges = 0;
  std::uint64_t users = 0;
  std::uint64_t async_given = 0;
};

struct Ah {
  ibv_ah base{};
  engine::queues::Address address;
};

/// What the builder (ibv_wr_*) has gathered and not yet handed over.
struct Building {
  std::mutex one_at_a_time;  ///< from wr_start to wr_complete or wr_abort (ibv_wr_post(3): the queue pair is locked)
  struct Work {
    ibv_send_wr wr{};
    std::vector<ibv_sge> sges;
    std::vector<std::byte> inline_data;
  };
  std::vector<Work> works;
  int error = 0;
};

struct Qp {
  ibv_qp_ex base{};
  // What libibverbs reads behind ibv_qp_ex (rdma-core libibverbs/driver.h struct verbs_qp, ibv_qp_to_qp_ex).
  std::uint32_t comp_mask = 0;
  void* xrcd = nullptr;

  engine::transport::QueuePair qp;
  Pd* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* recv_cq = nullptr;
  Srq* srq = nullptr;
  ibv_qp_cap cap{};
  bool spoiled = false;  ///< a move to RESET that leaves it useless
  std::uint64_t read_atomics = 0;      ///< responder resources that it holds of the device's
  std::uint64_t work_requests = 0;     ///< of both queues, as the device counts them
  void* ring = nullptr;                ///< of the parent domain's allocator
  std::uint64_t async_given = 0;
  std::uint64_t groups = 0;
  std::unique_ptr<Building> building;

  Qp(engine::queues::SendQueue send, engine::queues::ReceiveQueue receive)
      : qp{.send_queue = std::move(send), .receive_queue = std::move(receive)} {}
  ibv_qp* plain() noexcept { return &base.qp_base; }
  static constexpr std::uint32_t kHasBuilder = 1U << 1;  ///< VERBS_QP_EX
};

}  // namespace verbena::emulator
