// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/flush.hpp"
#include "rig/work.hpp"

// The work request builder (ibv_wr_start and what follows), and FLUSH, which it alone can post.
namespace conform {

namespace {

using verbena::Field;
using verbena::SendOps;

ibv_qp_ex* builder_of(Case& c, End& end) {
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(end.qp.raw());
  c.need(c.holds(builder != nullptr, Seen::refused, "there is no work request builder"));
  return builder;
}

LoopShape built_shape(Case& c) {
  LoopShape shape;
  shape.ops = SendOps{SendOps::kSend};
  shape.cap.max_send_wr = c.within(Field::max_send_wr, 8);
  shape.cap.max_inline_data = c.native(verbena::Feature::inline_data) ? c.within(Field::max_inline_data, 32) : 0;
  return shape;
}

void build_send(ibv_qp_ex* builder, const End& from, std::uint64_t wr_id, std::size_t offset) {
  builder->wr_id = wr_id;
  builder->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(builder);
  ibv_wr_set_sge(builder, from.mr->lkey, from.memory->address() + offset, kBytes);
}

/// The next message at b is this one, by its bytes.
void built_arrives(Case& c, Loop& loop, std::size_t offset, const std::string& what) {
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of " + what));
  same_bytes(c, loop.b().data() + received->wr_id * kBytes, loop.a().data() + offset, kBytes, what);
}

void receives(Case& c, Loop& loop, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    c.need(c.accepted(loop.receive(loop.b(), at, at * kBytes, kBytes), "ibv_post_recv"));
  }
}

void abort_discards(Case& c) {
  Loop loop(c, built_shape(c));
  loop.a().memory->fill(3);
  ibv_qp_ex* const builder = builder_of(c, loop.a());
  const std::uint32_t depth = loop.shape().cap.max_send_wr;
  receives(c, loop, depth + 1);
  // More than the queue holds, in batches that each fill it: an abort that kept slots would run out of them.
  for (int round = 0; round < 4; ++round) {
    ibv_wr_start(builder);
    for (std::uint32_t at = 0; at < depth; ++at) build_send(builder, loop.a(), 1, 0);
    ibv_wr_abort(builder);
  }
  c.holds(quiet(c, loop.a().send_cq.raw()), Seen::completion, "aborted work completed");
  ibv_wr_start(builder);
  for (std::uint32_t at = 0; at < depth; ++at) build_send(builder, loop.a(), 100 + at, (1 + at) * kBytes);
  c.need(c.accepted(ibv_wr_complete(builder), "ibv_wr_complete of as many as the queue holds"));
  for (std::uint32_t at = 0; at < depth; ++at) {
    const auto wc = next(c, loop.a().send_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "a send behind aborted work"));
    c.equal(wc->wr_id, 100U + at, "wr_id");
    built_arrives(c, loop, (1 + at) * kBytes, "a send behind aborted work");
  }
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "aborted work arrived");
}

/// A batch of a good work request and a bad one.
void refused_batch(Case& c, Loop& loop, ibv_qp_ex* builder, bool inline_data) {
  const std::string what = inline_data ? "more inline bytes than granted" : "more SGEs than granted";
  ibv_wr_start(builder);
  build_send(builder, loop.a(), 1, 0);
  builder->wr_id = 2;
  ibv_wr_send(builder);
  const std::size_t over = std::size_t{inline_held(c, loop.a())} + 1;
  const std::vector<ibv_sge> sges(loop.a().cap.max_send_sge + 1, loop.a().sge(0, 1));
  if (inline_data) {
    ibv_wr_set_inline_data(builder, loop.a().data(), over);
  } else {
    ibv_wr_set_sge_list(builder, sges.size(), sges.data());
  }
  c.holds(ibv_wr_complete(builder) != 0, Seen::accepted, "ibv_wr_complete took " + what);
  c.holds(quiet(c, loop.a().send_cq.raw()), Seen::completion, "a work request of a refused batch completed");
  c.holds(quiet(c, loop.b().recv_cq.raw(), std::chrono::milliseconds(1)), Seen::data,
          "a work request of a refused batch arrived");
}

void complete_reports(Case& c) {
  for (const bool inline_data : {false, true}) {
    if (inline_data && !c.native(verbena::Feature::inline_data)) continue;
    Loop loop(c, built_shape(c));
    loop.a().memory->fill(3);
    ibv_qp_ex* const builder = builder_of(c, loop.a());
    receives(c, loop, 2);
    refused_batch(c, loop, builder, inline_data);
    if (!c.findings().empty()) continue;
    ibv_wr_start(builder);
    build_send(builder, loop.a(), 3, kBytes);
    c.need(c.accepted(ibv_wr_complete(builder), "ibv_wr_complete after a refused batch"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send after a refused batch"));
    built_arrives(c, loop, kBytes, "a send after a refused batch");
  }
}

void mixed_with_post(Case& c) {
  Loop loop(c, built_shape(c));
  loop.a().memory->fill(3);
  ibv_qp_ex* const builder = builder_of(c, loop.a());
  constexpr std::uint64_t kRounds = 12;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // Two of the builder, two of ibv_post_send, two of the builder.
    receives(c, loop, 6);
    const std::size_t first = round * 6 * kBytes;
    const auto build_two = [&](std::uint64_t at) {
      ibv_wr_start(builder);
      build_send(builder, loop.a(), at, first + at * kBytes);
      build_send(builder, loop.a(), at + 1, first + (at + 1) * kBytes);
      c.need(c.accepted(ibv_wr_complete(builder), "ibv_wr_complete"));
    };
    build_two(0);
    for (const std::uint64_t at : {2U, 3U}) {
      c.need(c.accepted(loop.send(loop.a(), at, first + at * kBytes, kBytes), "ibv_post_send"));
    }
    build_two(4);
    for (std::uint64_t at = 0; at < 6; ++at) {
      const auto wc = next(c, loop.a().send_cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, "a send"));
      c.equal(wc->wr_id, at, "wr_id");
      built_arrives(c, loop, first + at * kBytes, "a send of mixed ways of posting");
    }
  }
}

/// A write and a FLUSH of what it wrote. `granted` are the region's placement types, `asked` the FLUSH's.
std::optional<ibv_wc> flushed(Case& c, unsigned granted, std::uint8_t asked, std::uint8_t level, Loop& loop) {
  ibv_qp_ex* const builder = builder_of(c, loop.a());
  const auto region = c.made(
      loop.b().way->mr(loop.b().pd.raw(), {.address = loop.b().memory->data(),
                                           .length = loop.b().memory->size(),
                                           .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | granted}),
      "ibv_reg_mr with a flush flag");
  std::memset(loop.b().data(), 0x5a, 4096);
  loop.a().memory->fill(8);
  ibv_wr_start(builder);
  builder->wr_id = 1;
  builder->wr_flags = 0;
  ibv_wr_rdma_write(builder, region->rkey, loop.b().remote(0));
  ibv_wr_set_sge(builder, loop.a().mr->lkey, loop.a().memory->address(), 1024);
  builder->wr_id = 2;
  builder->wr_flags = IBV_SEND_SIGNALED;
  if (!build_flush(builder, region->rkey, loop.b().remote(0), 1024, asked, level)) {
    ibv_wr_abort(builder);
    c.absent("the headers that this was built with have no ibv_wr_flush");
  }
  c.need(c.accepted(ibv_wr_complete(builder), "ibv_wr_complete of a write and a FLUSH"));
  auto wc = next(c, loop.a().send_cq.raw());
  if (wc && wc->status == IBV_WC_SUCCESS) {
    c.equal(wc->wr_id, 2U, "the wr_id of a FLUSH");
    same_bytes(c, loop.b().data(), loop.a().data(), 1024, "a write before a FLUSH");
  }
  return wc;
}

LoopShape flush_shape() {
  LoopShape shape;
  shape.ops = SendOps{SendOps::kRdmaWrite | SendOps::kFlush};
  shape.terms.access |= kAccessFlushGlobal | kAccessFlushPersistent;
  return shape;
}

/// Global visibility; persistence needs memory that can have it.
void flush_completes(Case& c) {
  Loop loop(c, flush_shape());
  for (const std::uint8_t level : {kFlushRange, kFlushMr}) {
    const auto wc = flushed(c, kAccessFlushGlobal, kFlushGlobal, level, loop);
    c.need(c.completed(wc, IBV_WC_SUCCESS, "a FLUSH"));
    c.equal(wc->opcode, kWcFlush, "the opcode of a FLUSH");
  }
}

void flush_type_needs_access(Case& c) {
  Loop loop(c, flush_shape());
  const auto wc = flushed(c, kAccessFlushGlobal, kFlushPersistent, kFlushRange, loop);
  if (c.holds(wc.has_value(), Seen::no_completion, "a FLUSH did not complete")) {
    c.holds(wc->status != IBV_WC_SUCCESS, Seen::accepted,
            "a FLUSH to persistence of a region that has global visibility alone succeeded");
  }
}

}  // namespace

Bodies data_builder_bodies() {
  static constexpr Body kBodies[] = {
      {"data.builder.abort_discards", abort_discards},           {"data.builder.complete_reports", complete_reports},
      {"data.builder.mixed_with_post", mixed_with_post},         {"data.flush.completes", flush_completes},
      {"data.flush.type_needs_access", flush_type_needs_access},
  };
  return kBodies;
}

}  // namespace conform
