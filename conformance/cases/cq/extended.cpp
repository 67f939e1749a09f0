// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "cases/bodies.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

/// An extended queue is the plain one seen otherwise: rdma-core libibverbs/verbs.h ibv_cq_ex_to_cq, the other way.
ibv_cq_ex* extended(const Object<ibv_cq>& cq) {
  return reinterpret_cast<ibv_cq_ex*>(cq.raw());
}

/// ibv_start_poll until there is something, or time is up.
int start(Case& c, ibv_cq_ex* cq) {
  ibv_poll_cq_attr attr{};
  const auto end = std::chrono::steady_clock::now() + c.ground().completion_within;
  for (;;) {
    const int error = ibv_start_poll(cq, &attr);
    if (error != ENOENT || std::chrono::steady_clock::now() >= end) return error;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void empty_enoent(Case& c) {
  const Object<ibv_cq> cq =
      c.made(c.other_way().cq({.wc_flags = IBV_WC_EX_WITH_BYTE_LEN}), "ibv_create_cq_ex with the byte length");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
    ibv_poll_cq_attr attr{};
    c.need(c.equal(ibv_start_poll(extended(cq), &attr), ENOENT, "ibv_start_poll of an empty queue"));
    c.need(deliver(c, loop, 1, wr_id));
    c.need(c.equal(start(c, extended(cq)), 0, "ibv_start_poll after a completion"));
    c.equal(extended(cq)->wr_id, wr_id, "wr_id");
    c.equal(extended(cq)->status, IBV_WC_SUCCESS, "status");
    ibv_end_poll(extended(cq));
  }
}

void batch_end_enoent(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.wc_flags = IBV_WC_EX_WITH_BYTE_LEN}), "ibv_create_cq_ex");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  for (std::uint64_t first = 1; first < 20; first += 3) {
    c.need(deliver(c, loop, 3, first));
    // A batch may end before the last completion was written; the next one goes on where it ended.
    std::uint64_t seen = 0;
    while (seen < 3) {
      c.need(c.equal(start(c, extended(cq)), 0, "ibv_start_poll"));
      int error = 0;
      for (; error == 0; error = ibv_next_poll(extended(cq))) {
        c.equal(extended(cq)->wr_id, first + seen, "wr_id");
        ++seen;
      }
      c.equal(error, ENOENT, "ibv_next_poll after the last completion");
      ibv_end_poll(extended(cq));
    }
    c.need(c.equal(seen, std::uint64_t{3}, "completions of one round"));
    ibv_poll_cq_attr attr{};
    c.need(c.equal(ibv_start_poll(extended(cq), &attr), ENOENT, "ibv_start_poll of the emptied queue"));
  }
}

/// The fields that an InfiniBand completion has of its own, and those that a plain one has too.
struct Fields {
  std::uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_wc_opcode opcode = IBV_WC_RECV;
  std::uint32_t byte_len = 0, qp_num = 0, src_qp = 0;
  unsigned wc_flags = 0;
  std::optional<std::uint32_t> imm{};
};

constexpr std::uint64_t kWanted =
    IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP;

/// The receives of the same three messages: in a plain queue, or in an extended one.
std::vector<Fields> fields_of(Case& c, verbena::QpType type, bool with_imm, bool ex) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.wc_flags = ex ? kWanted : 0}), "a completion queue");
  Loop loop(c, {.type = type, .b = {.recv_cq = cq.raw()}});
  std::vector<Fields> all;
  const std::size_t head = type == verbena::QpType::ud ? kGrhBytes : 0;
  for (std::uint32_t index = 1; index <= 3; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, 0, head + 100), "ibv_post_recv"));
    ibv_sge sge = loop.a().sge(0, 10 * index);
    ibv_send_wr wr{};
    wr.wr_id = index;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = with_imm && index == 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    wr.imm_data = 0x01020304;
    wr.send_flags = IBV_SEND_SIGNALED;
    c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send"));
    Fields fields;
    if (ex) {
      ibv_cq_ex* queue = extended(cq);
      c.need(c.equal(start(c, queue), 0, "ibv_start_poll"));
      fields.wr_id = queue->wr_id;
      fields.status = queue->status;
      fields.opcode = ibv_wc_read_opcode(queue);
      fields.byte_len = ibv_wc_read_byte_len(queue);
      fields.qp_num = ibv_wc_read_qp_num(queue);
      fields.src_qp = ibv_wc_read_src_qp(queue);
      fields.wc_flags = ibv_wc_read_wc_flags(queue);
      if ((fields.wc_flags & IBV_WC_WITH_IMM) != 0) fields.imm = ibv_wc_read_imm_data(queue);
      ibv_end_poll(queue);
    } else {
      const auto wc = next(c, cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive"));
      fields = {wc->wr_id, wc->status, wc->opcode, wc->byte_len, wc->qp_num, wc->src_qp, wc->wc_flags, {}};
      if ((wc->wc_flags & IBV_WC_WITH_IMM) != 0) fields.imm = wc->imm_data;
    }
    c.equal(fields.qp_num, loop.b().qp->qp_num, "qp_num of a receive");
    if (type == verbena::QpType::ud) c.equal(fields.src_qp, loop.a().qp->qp_num, "src_qp of a receive");
    // These two differ from one pair of queue pairs to the next.
    fields.qp_num = fields.src_qp = 0;
    all.push_back(fields);
  }
  return all;
}

void fields_agree(Case& c) {
  const bool with_imm = c.native(verbena::Feature::send_with_imm);
  for (const verbena::QpType type : c.qp_types()) {
    if (type == verbena::QpType::uc) continue;  // as RC
    const std::vector<Fields> plain = fields_of(c, type, with_imm, false);
    const std::vector<Fields> ex = fields_of(c, type, with_imm, true);
    for (std::size_t index = 0; index < plain.size(); ++index) {
      const std::string which = " of message " + std::to_string(index + 1);
      c.equal(ex[index].wr_id, plain[index].wr_id, "wr_id" + which);
      c.equal(ex[index].status, plain[index].status, "status" + which);
      c.equal(ex[index].opcode, plain[index].opcode, "opcode" + which);
      c.equal(ex[index].byte_len, plain[index].byte_len, "byte_len" + which);
      c.equal(ex[index].wc_flags, plain[index].wc_flags, "wc_flags" + which);
      c.equal(ex[index].imm.value_or(0), plain[index].imm.value_or(0), "imm_data" + which);
    }
    if (with_imm) c.equal(ex[1].imm.value_or(0), 0x01020304U, "imm_data of the extended queue");
  }
}

void plain_poll(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.wc_flags = IBV_WC_EX_WITH_BYTE_LEN}), "ibv_create_cq_ex");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) carries(c, loop, "an extended queue, polled plainly", wr_id);
}

void unknown_field_refused(Case& c) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 16;
  attr.wc_flags = std::uint64_t{1} << 60;
  const verbena::Made<ibv_cq_ex> cq = c.verbs().create_cq_ex(c.context(), attr);
  c.refused(cq ? 0 : cq.error, "ibv_create_cq_ex with a field that nobody knows");
  c.holds(cq || !cq.errno_missing, Seen::refused, "the refusal left errno unset");
  if (cq) c.verbs().destroy_cq(ibv_cq_ex_to_cq(cq.handle));
  c.accepted(c.way().cq({.wc_flags = IBV_WC_EX_WITH_BYTE_LEN}), "ibv_create_cq_ex with a field that all know");
}

void ignore_overrun(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 4, .ignore_overrun = true}), "a queue that ignores an overrun");
  AsyncEvents events(c);
  const std::uint32_t count = 2 * static_cast<std::uint32_t>(cq->cqe) + 4;
  Loop loop(c, {.cap = {count + 1, count + 1, 1, 1, 0}, .a = {.send_cq = cq.raw()}});
  for (std::uint32_t index = 0; index < count; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, 0, kMessageBytes), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), index, 0, kMessageBytes), "ibv_post_send"));
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive amid the overrun"));
  }
  c.holds(events.none(IBV_EVENT_CQ_ERR, cq.raw()), Seen::event, "an overrun that is to be ignored raised an event");
}

void extended_native(Case& c) {
  const Object<ibv_cq> cq = c.other_way().cq({.wc_flags = IBV_WC_EX_WITH_BYTE_LEN});
  const verbena::Support support = c.contract().feature(verbena::Feature::create_cq_ex).support;
  if (support == verbena::Support::native) {
    if (!c.accepted(cq, "ibv_create_cq_ex, which the contract calls native")) return;
    Loop loop(c, {.b = {.recv_cq = cq.raw()}});
    c.need(deliver(c, loop, 1, 33));
    c.need(c.equal(start(c, extended(cq)), 0, "ibv_start_poll"));
    c.equal(extended(cq)->wr_id, std::uint64_t{33}, "wr_id");
    c.equal(ibv_wc_read_byte_len(extended(cq)), static_cast<std::uint32_t>(kMessageBytes), "byte_len");
    ibv_end_poll(extended(cq));
  } else if (support == verbena::Support::absent) {
    c.refused(cq, "ibv_create_cq_ex, which the contract calls absent");
    c.accepted(c.way().cq({}), "a plain queue after the refusal");
  }
}

void timestamp(Case& c) {
  const Object<ibv_cq> cq = c.other_way().cq({.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP});
  const bool native = c.native(verbena::Feature::completion_timestamp);
  if (native) {
    if (!c.accepted(cq, "a queue with timestamps, which the contract calls native")) return;
  } else {
    if (c.contract().feature(verbena::Feature::completion_timestamp).support != verbena::Support::absent) return;
    // A driver may take the flag and give something else than a time.
    if (!cq || c.through_verbena()) {
      c.refused(cq, "a queue with timestamps, which the contract calls absent");
      return;
    }
  }
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  std::optional<std::uint64_t> before;
  bool rises = true;
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
    c.need(deliver(c, loop, 1, wr_id));
    c.need(c.equal(start(c, extended(cq)), 0, "ibv_start_poll"));
    const std::uint64_t now = ibv_wc_read_completion_ts(extended(cq));
    ibv_end_poll(extended(cq));
    rises = rises && (!before || now > *before);
    before = now;
  }
  if (native) {
    c.holds(rises, Seen::value, "a later completion has no later timestamp");
  } else {
    c.holds(!rises, Seen::accepted, "completions carry a rising timestamp, which the contract calls absent");
  }
}

}  // namespace

Bodies cq_extended_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.ex.empty_enoent", empty_enoent},
      {"cq.ex.batch_end_enoent", batch_end_enoent},
      {"cq.ex.fields_agree", fields_agree},
      {"cq.ex.plain_poll", plain_poll},
      {"cq.ex.unknown_field_refused", unknown_field_refused},
      {"cq.ex.ignore_overrun", ignore_overrun},
      {"cq.create_ex.native", extended_native},
      {"cq.create_ex.timestamp", timestamp},
  };
  return kBodies;
}

}  // namespace conform
