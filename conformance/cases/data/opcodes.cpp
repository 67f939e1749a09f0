// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/flush.hpp"
#include "rig/work.hpp"

// Each opcode as the contract says of it: carried where native, refused where absent.
namespace conform {

namespace {

using verbena::Feature;
using verbena::QpType;
using verbena::SendOps;

struct Opcode {
  Feature feature;
  ibv_wr_opcode opcode;
  const char* word;
  bool receives;
  bool by_builder;  ///< ibv_post_send knows no such work request
  bool datagram;    ///< UD has it
};
constexpr Opcode kOpcodes[] = {
    {Feature::send, IBV_WR_SEND, "a SEND", true, false, true},
    {Feature::send_with_imm, IBV_WR_SEND_WITH_IMM, "a SEND with immediate", true, false, true},
    {Feature::send_with_inv, IBV_WR_SEND_WITH_INV, "a SEND with invalidate", true, false, false},
    {Feature::rdma_write, IBV_WR_RDMA_WRITE, "an RDMA WRITE", false, false, false},
    {Feature::rdma_write_with_imm, IBV_WR_RDMA_WRITE_WITH_IMM, "an RDMA WRITE with immediate", true, false, false},
    {Feature::rdma_read, IBV_WR_RDMA_READ, "an RDMA READ", false, false, false},
    {Feature::compare_swap, IBV_WR_ATOMIC_CMP_AND_SWP, "a compare-and-swap", false, false, false},
    {Feature::fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD, "a fetch-and-add", false, false, false},
    {Feature::atomic_write, IBV_WR_ATOMIC_WRITE, "an ATOMIC WRITE", false, true, false},
    {Feature::flush, kWrFlush, "a FLUSH", false, true, false},
    {Feature::local_inv, IBV_WR_LOCAL_INV, "a local invalidate", false, false, false},
    {Feature::bind_mw, IBV_WR_BIND_MW, "a bind of a window", false, false, false},
};

LoopShape shape_for(const Case& c, const Opcode& op, QpType type) {
  LoopShape shape;
  shape.type = type;
  if (c.native(Feature::compare_swap) || c.native(Feature::fetch_add)) {
    shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
    shape.terms.access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  if (c.native(Feature::bind_mw)) shape.access |= IBV_ACCESS_MW_BIND;
  if (op.feature == Feature::flush) {
    shape.access |= kAccessFlushGlobal;
    shape.terms.access |= kAccessFlushGlobal;
    shape.ops = SendOps{SendOps::kFlush};
  } else if (op.feature == Feature::atomic_write) {
    shape.ops = SendOps{SendOps::kAtomicWrite};
  }
  return shape;
}

/// Binds a window of a's own memory and gives its key.
std::uint32_t bind_own(Case& c, Loop& loop, const Object<ibv_mw>& window) {
  const std::uint32_t key = ibv_inc_rkey(window->rkey);
  ibv_send_wr bind{};
  bind.wr_id = 1;
  bind.opcode = IBV_WR_BIND_MW;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_mw.mw = window.raw();
  bind.bind_mw.rkey = key;
  bind.bind_mw.bind_info = {loop.a().mr.raw(), loop.a().memory->address(), 4096, IBV_ACCESS_REMOTE_WRITE};
  c.need(c.accepted(loop.post(loop.a(), bind), "ibv_post_send of a bind"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a bind of a window"));
  return key;
}

/// b writes through a's key; whether it could.
bool b_writes(Case& c, Loop& loop, std::uint32_t key) {
  c.need(c.accepted(post(loop.b(), SendWork{.opcode = IBV_WR_RDMA_WRITE,
                                            .wr_id = 2,
                                            .sges = {loop.b().sge(0, 8)},
                                            .remote = loop.a().remote(0),
                                            .rkey = key}),
                    "ibv_post_send of a write"));
  const auto wc = next(c, loop.b().send_cq.raw());
  c.need(c.holds(wc.has_value(), Seen::no_completion, "a write through a window did not complete"));
  return wc->status == IBV_WC_SUCCESS;
}

void window_opcode(Case& c, Loop& loop, bool invalidate) {
  const Object<ibv_mw> window = c.made(loop.a().way->mw(loop.a().pd.raw(), IBV_MW_TYPE_2), "ibv_alloc_mw");
  const std::uint32_t key = bind_own(c, loop, window);
  loop.b().memory->fill(7);
  c.holds(b_writes(c, loop, key), Seen::refused, "a write through a bound window failed");
  same_bytes(c, loop.a().data(), loop.b().data(), 8, "a write through a bound window");
  if (!invalidate) return;
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_LOCAL_INV, .wr_id = 3, .invalidate = key}),
                    "ibv_post_send of a local invalidate"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a local invalidate"));
  c.holds(!b_writes(c, loop, key), Seen::accepted, "a write through an invalidated window succeeded");
}

void by_builder(Case& c, Loop& loop, const Opcode& op) {
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(loop.a().qp.raw());
  c.need(c.holds(builder != nullptr, Seen::refused, "there is no work request builder"));
  const std::uint64_t value = 0x1020304050607080U;
  ibv_wr_start(builder);
  builder->wr_id = 5;
  builder->wr_flags = IBV_SEND_SIGNALED;
  if (op.feature == Feature::flush) {
    if (!build_flush(builder, loop.b().rkey(), loop.b().remote(0), 64, kFlushGlobal, kFlushRange)) {
      ibv_wr_abort(builder);
      c.note("the headers that this was built with have no ibv_wr_flush");
      return;
    }
  } else {
    ibv_wr_atomic_write(builder, loop.b().rkey(), loop.b().remote(0), &value);
  }
  c.need(c.accepted(ibv_wr_complete(builder), std::string("ibv_wr_complete of ") + op.word));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, op.word));
  if (op.feature == Feature::atomic_write) {
    c.holds(std::memcmp(loop.b().data(), &value, sizeof value) == 0, Seen::no_data, "an ATOMIC WRITE changed nothing");
  }
}

SendWork work_of(Loop& loop, const Opcode& op, std::uint32_t invalidate) {
  SendWork work{.opcode = op.opcode, .wr_id = 5, .sges = {loop.a().sge(0, kBytes)}};
  work.remote = loop.b().remote(1024);
  work.rkey = loop.b().rkey();
  work.imm = 9;
  work.invalidate = invalidate;
  work.compare_add = 1;
  work.swap = 2;
  const bool atomic = op.feature == Feature::compare_swap || op.feature == Feature::fetch_add;
  if (atomic) work.sges[0].length = 8;
  if (op.feature == Feature::local_inv || op.feature == Feature::flush) work.sges.clear();
  return work;
}

void carries(Case& c, const Opcode& op, QpType type) {
  Loop loop(c, shape_for(c, op, type));
  const std::size_t head = head_of(type);
  loop.a().memory->fill(1);
  std::memset(loop.b().data(), kOld, 8192);
  if (op.by_builder) return by_builder(c, loop, op);
  if (op.feature == Feature::local_inv || op.feature == Feature::bind_mw) {
    if (!c.native(Feature::memory_window_2)) {
      c.note(std::string(op.word) + ": no windows of type 2 to show it with");
      return;
    }
    return window_opcode(c, loop, op.feature == Feature::local_inv);
  }
  Memory memory(c.verbs().page_size(), c.verbs().page_size());
  Object<ibv_mw> window;
  Object<ibv_mr> region;
  std::uint32_t invalidate = 0;
  if (op.feature == Feature::send_with_inv) {
    if (c.native(Feature::memory_window_2) && c.native(Feature::bind_mw)) {
      window = c.made(loop.a().way->mw(loop.a().pd.raw(), IBV_MW_TYPE_2), "ibv_alloc_mw");
      invalidate = bind_own(c, loop, window);
    } else {
      region = c.made(loop.a().way->mr(loop.a().pd.raw(), {.address = memory.data(),
                                                           .length = memory.size(),
                                                           .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
                      "ibv_reg_mr");
      invalidate = region->rkey;
    }
  }
  // SEND with invalidate goes from b to a, whose window it is.
  const bool back = op.feature == Feature::send_with_inv;
  End& from = back ? loop.b() : loop.a();
  End& to = back ? loop.a() : loop.b();
  if (back) from.memory->fill(6);
  if (op.receives) c.need(c.accepted(loop.receive(to, 4, 4096, head + kBytes), "ibv_post_recv"));
  SendWork work = work_of(loop, op, invalidate);
  if (back) work.sges = {from.sge(0, kBytes)};
  const std::uint64_t before = 0x5a5a5a5a5a5a5a5aU;
  const std::vector<std::uint8_t> source(to.data() + 1024, to.data() + 1024 + kBytes);
  c.need(c.accepted(post(from, work), std::string("ibv_post_send of ") + op.word));
  c.need(c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, op.word));
  if (op.receives) {
    c.need(c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, std::string("the receive of ") + op.word));
  }
  switch (op.feature) {
    case Feature::send:
    case Feature::send_with_imm:
    case Feature::send_with_inv:
      same_bytes(c, to.data() + 4096 + head, from.data(), kBytes, op.word);
      break;
    case Feature::rdma_read:
      same_bytes(c, from.data(), source.data(), kBytes, op.word);
      break;
    case Feature::compare_swap:
    case Feature::fetch_add: {
      std::uint64_t target = 0;
      std::memcpy(&target, to.data() + 1024, sizeof target);
      c.equal(target, op.feature == Feature::fetch_add ? before + 1 : before, std::string("the target of ") + op.word);
      c.holds(std::memcmp(from.data(), &before, sizeof before) == 0, Seen::no_data,
              std::string(op.word) + " did not return what stood there");
      break;
    }
    default:
      same_bytes(c, to.data() + 1024, from.data(), kBytes, op.word);
      break;
  }
}

/// On RC where the device has it; a device of datagrams alone shows what they have.
QpType type_of(Case& c) {
  const std::vector<QpType> types = c.qp_types();
  c.need(c.holds(!types.empty(), Seen::refused, "the device has none of the queue pair types"));
  return types.front();
}

void native_carry_data(Case& c) {
  const QpType type = type_of(c);
  for (const Opcode& op : kOpcodes) {
    if (!c.native(op.feature) || (type == QpType::ud && !op.datagram)) continue;
    if (op.by_builder && !c.native(Feature::create_qp_ex)) continue;
    carries(c, op, type);
  }
}

/// Each has a queue pair of its own, since a failed one takes no more.
void absent_refused(Case& c) {
  const QpType type = type_of(c);
  for (const Opcode& op : kOpcodes) {
    if (c.contract().feature(op.feature).support != verbena::Support::absent) continue;
    if (op.feature == Feature::bind_mw) continue;  // without a window there is nothing to bind
    LoopShape shape;
    shape.type = type;
    Loop loop(c, shape);
    std::memset(loop.b().data(), kOld, 8192);
    if (op.receives) c.need(c.accepted(loop.receive(loop.b(), 4, 4096, 256), "ibv_post_recv"));
    const int error = post(loop.a(), work_of(loop, op, unknown_key(loop.b().rkey())));
    if (error == 0) {
      const auto wc = next(c, loop.a().send_cq.raw());
      if (c.holds(wc.has_value(), Seen::no_completion, std::string(op.word) + " was taken and did not complete")) {
        c.holds(wc->status != IBV_WC_SUCCESS, Seen::accepted,
                std::string(op.word) + " succeeded where the contract calls it absent");
      }
    }
    ibv_wc wc{};
    bool arrived = false;
    while (c.way().poll(loop.b().recv_cq.raw(), 1, &wc) == 1) arrived = arrived || wc.status == IBV_WC_SUCCESS;
    c.holds(!arrived, Seen::data, std::string(op.word) + " arrived where the contract calls it absent");
    untouched(c, loop.b().data(), 8192, kOld, std::string(op.word) + " where the contract calls it absent");
  }
}

}  // namespace

Bodies data_opcodes_bodies() {
  static constexpr Body kBodies[] = {
      {"data.opcodes.native_carry_data", native_carry_data},
      {"data.opcodes.absent_refused", absent_refused},
  };
  return kBodies;
}

}  // namespace conform
