// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"
#include "verbena/fields.hpp"

// Messages of every opcode around the path's MTU, of no byte and of many; and the table of all of them.
namespace conform {

namespace {

using verbena::Field;
using verbena::QpType;

constexpr std::size_t kLarge = (std::size_t{2} << 20) + 5;
constexpr std::size_t kRoomBehind = 128;

struct SizedOpcode {
  std::string_view word;
  ibv_wr_opcode opcode;
  bool receives;   ///< takes a receive of the peer's
  bool immediate;
  bool remote;     ///< names the peer's memory
  bool reads;
};
constexpr SizedOpcode kSizedOpcodes[] = {
    {"send", IBV_WR_SEND, true, false, false, false},
    {"send_imm", IBV_WR_SEND_WITH_IMM, true, true, false, false},
    {"write", IBV_WR_RDMA_WRITE, false, false, true, false},
    {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, true, true, true, false},
    {"read", IBV_WR_RDMA_READ, false, false, true, true},
};

const SizedOpcode& opcode_of(std::string_view word) {
  return *std::find_if(std::begin(kSizedOpcodes), std::end(kSizedOpcodes),
                       [&](const SizedOpcode& one) { return one.word == word; });
}

/// One message of `length` bytes, cut into `pieces` on the side that gathers or scatters (a). Where it is unsignalled
/// another one, signalled, follows, since only its completion tells that the first is done.
void one_message(Case& c, Loop& loop, const SizedOpcode& op, std::size_t length, const std::vector<std::size_t>& pieces,
                 unsigned flags, const std::string& what) {
  End& a = loop.a();
  End& b = loop.b();
  const std::size_t head = head_of(loop.shape().type);
  End& source = op.reads ? b : a;
  End& sink = op.reads ? a : b;
  source.memory->fill(static_cast<std::uint32_t>(length) + flags);
  std::memset(sink.data(), kOld, std::min(sink.memory->size(), head + length + kRoomBehind));
  SendWork work;
  work.opcode = op.opcode;
  work.flags = flags;
  work.imm = 0x01020304;
  for (std::size_t at = 0, piece = 0; piece < pieces.size(); at += pieces[piece++]) {
    work.sges.push_back(a.sge(at, pieces[piece]));
  }
  if (op.remote) {
    work.remote = b.remote(0);
    work.rkey = b.rkey();
  }
  const bool signalled = (flags & IBV_SEND_SIGNALED) != 0;
  const std::uint64_t messages = signalled ? 1 : 2;
  for (std::uint64_t count = 0; count < messages; ++count) {
    work.wr_id = 20 + count;
    if (count + 1 == messages) work.flags |= IBV_SEND_SIGNALED;
    if (op.receives) {
      const std::size_t room = op.remote ? 0 : head + length;
      c.need(c.accepted(loop.receive(b, 30 + count, 0, room), "ibv_post_recv"));
    }
    c.need(c.accepted(post(a, work), "ibv_post_send"));
  }
  const auto sent = next(c, a.send_cq.raw());
  c.need(c.completed(sent, IBV_WC_SUCCESS, what));
  c.equal(sent->wr_id, static_cast<std::uint64_t>(20 + messages - 1), what + ": wr_id");
  if (op.receives) {
    for (std::uint64_t count = 0; count < messages; ++count) {
      const auto received = next(c, b.recv_cq.raw());
      c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of " + what));
      c.equal(received->wr_id, 30 + count, what + ": wr_id of the receive");
      c.equal(received->byte_len, length + (op.remote ? 0 : head), what + ": byte_len");
      if (op.immediate) c.equal(received->imm_data, 0x01020304U, what + ": imm_data");
    }
  } else if (loop.shape().type == QpType::uc) {
    // Nothing tells when an unreliable write has come but a message behind it.
    c.need(c.accepted(post(b, ReceiveWork{40, {}}), "ibv_post_recv"));
    c.need(c.accepted(post(a, SendWork{.wr_id = 41}), "ibv_post_send"));
    c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "a send behind " + what));
    c.need(c.completed(next(c, b.recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send behind " + what));
  }
  same_bytes(c, sink.data() + (op.remote ? 0 : head), source.data(), length, what);
  untouched(c, sink.data() + (op.remote ? 0 : head) + length, kRoomBehind, kOld, "behind " + what);
}

std::vector<std::size_t> in_one(std::size_t length) {
  return {length};
}

std::size_t bytes_of(std::string_view word, std::size_t mtu) {
  if (word == "0") return 0;
  if (word == "1") return 1;
  if (word == "mtu-1") return mtu - 1;
  if (word == "mtu") return mtu;
  if (word == "mtu+1") return mtu + 1;
  if (word == "2mtu") return 2 * mtu;
  return (std::size_t{1} << 18) + 3;
}

/// A row of the table: each way to cut the message, signalled and not, and inline where it fits.
void table(Case& c) {
  const QpType type = verbena::find_qp_type(c.with("type")).value();
  const SizedOpcode& op = opcode_of(c.with("opcode"));
  const bool large = c.with("size") == "large";
  LoopShape shape;
  shape.type = type;
  shape.bytes = large ? std::size_t{1} << 19 : std::size_t{1} << 16;
  shape.cap.max_send_sge = c.within(Field::max_send_sge, 4);
  if (op.reads) {
    const auto most = c.contract().domain(Field::read_sge).largest_grant();
    shape.cap.max_send_sge = static_cast<std::uint32_t>(std::min<std::uint64_t>(shape.cap.max_send_sge, most));
  }
  const bool may_inline = !op.reads && c.native(verbena::Feature::inline_data);
  shape.cap.max_inline_data = may_inline ? c.within(Field::max_inline_data, 64) : 0;
  Loop loop(c, shape);
  const std::size_t length = bytes_of(c.with("size"), loop.mtu());
  std::vector<std::vector<std::size_t>> cuts = {in_one(length)};
  if (length >= 4 && shape.cap.max_send_sge >= 2) cuts.push_back({length / 2, length - length / 2});
  if (length >= 4 && shape.cap.max_send_sge >= 3) cuts.push_back({1, length - 3, 2});
  std::vector<unsigned> flags = {IBV_SEND_SIGNALED, 0};
  if (may_inline && length <= loop.a().cap.max_inline_data) {
    flags.push_back(IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    flags.push_back(IBV_SEND_INLINE);
  }
  for (const auto& pieces : cuts) {
    for (const unsigned flag : flags) {
      const std::string what =
          c.with("opcode") + " of " + std::to_string(length) + " bytes in " + std::to_string(pieces.size()) + " SGEs" +
          ((flag & IBV_SEND_INLINE) != 0 ? ", inline" : "") + ((flag & IBV_SEND_SIGNALED) != 0 ? "" : ", unsignalled");
      one_message(c, loop, op, length, pieces, flag, what);
    }
  }
}

/// The message sizes of one requirement for RC, in one piece each.
void sizes(Case& c, std::string_view word, const std::vector<std::size_t>& lengths, std::size_t memory) {
  Loop loop(c, {.bytes = memory});
  for (const std::size_t length : lengths) {
    one_message(c, loop, opcode_of(word), length, in_one(length), IBV_SEND_SIGNALED,
                std::string(word) + " of " + std::to_string(length) + " bytes");
  }
}

void around_mtu(Case& c, std::string_view word) {
  Loop loop(c, {});
  const std::size_t mtu = loop.mtu();
  for (const std::size_t length : {std::size_t{1}, mtu - 1, mtu, mtu + 1, 2 * mtu}) {
    one_message(c, loop, opcode_of(word), length, in_one(length), IBV_SEND_SIGNALED,
                std::string(word) + " of " + std::to_string(length) + " bytes");
  }
}

void send_zero(Case& c) {
  sizes(c, "send", {0}, 1U << 16);
}
void write_zero(Case& c) {
  sizes(c, "write", {0}, 1U << 16);
}
void read_zero(Case& c) {
  sizes(c, "read", {0}, 1U << 16);
}
void send_around_mtu(Case& c) {
  around_mtu(c, "send");
}
void write_around_mtu(Case& c) {
  around_mtu(c, "write");
}
void read_around_mtu(Case& c) {
  around_mtu(c, "read");
}
void send_large(Case& c) {
  sizes(c, "send", {kLarge}, kLarge + kRoomBehind);
}
void write_large(Case& c) {
  sizes(c, "write", {kLarge}, kLarge + kRoomBehind);
}
void read_large(Case& c) {
  sizes(c, "read", {kLarge}, kLarge + kRoomBehind);
}

void zero_rdma_needs_no_key(Case& c) {
  Loop loop(c, {});
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    for (const std::uint64_t remote : {std::uint64_t{0}, loop.b().remote(0)}) {
      for (const std::uint32_t rkey : {0U, unknown_key(loop.b().rkey())}) {
        c.need(c.accepted(post(loop.a(), {.opcode = opcode, .wr_id = 5, .remote = remote, .rkey = rkey}),
                          "ibv_post_send"));
        c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS,
                           opcode == IBV_WR_RDMA_WRITE ? "a write of 0 bytes with a key that nobody has"
                                                       : "a read of 0 bytes with a key that nobody has"));
      }
    }
  }
}

void uc_multi_packet(Case& c) {
  Loop loop(c, {.type = QpType::uc});
  const std::size_t mtu = loop.mtu();
  for (const std::string_view word : {"send", "write"}) {
    for (const std::size_t length : {2 * mtu, 3 * mtu + 1, 8 * mtu - 1}) {
      one_message(c, loop, opcode_of(word), length, in_one(length), IBV_SEND_SIGNALED,
                  "UC " + std::string(word) + " of " + std::to_string(length) + " bytes");
    }
  }
}

void ud_up_to_mtu(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  one_message(c, loop, opcode_of("send"), loop.mtu(), in_one(loop.mtu()), IBV_SEND_SIGNALED,
              "a datagram of the port's MTU");
}

/// What came of a datagram of one byte more than the MTU, and of a fitting one behind it.
void ud_above_mtu(Case& c, bool the_long_one) {
  Loop loop(c, {.type = QpType::ud});
  // The sender's own port bounds a datagram; what the path's other end takes may be less.
  ibv_port_attr port{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), port), "ibv_query_port"));
  const std::size_t mtu = verbena::mtu_bytes(port.active_mtu);
  loop.a().memory->fill(3);
  std::memset(loop.b().data(), kOld, loop.b().memory->size());
  const std::size_t room = kGrhBytes + 2 * mtu;
  for (const std::uint64_t wr_id : {1U, 2U}) {
    c.need(c.accepted(loop.receive(loop.b(), wr_id, (wr_id - 1) * room, room), "ibv_post_recv"));
  }
  // Refused when posted or dropped when sent: both are allowed, and so is a completion of any status for it.
  const int error = loop.send(loop.a(), 10, 0, mtu + 1);
  if (the_long_one) {
    if (error == 0) static_cast<void>(next(c, loop.a().send_cq.raw()));
    c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "a datagram above the MTU was received");
    untouched(c, loop.b().data(), 2 * room, kOld, "a datagram above the MTU");
    return;
  }
  if (error == 0) {
    const auto wc = next(c, loop.a().send_cq.raw());
    c.need(c.holds(wc.has_value(), Seen::no_completion, "the datagram above the MTU did not complete"));
  }
  c.need(c.accepted(loop.send(loop.a(), 11, 0, 100), "ibv_post_send of a fitting datagram behind it"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a fitting datagram behind it");
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a fitting datagram behind it"));
  c.equal(received->byte_len, 100 + kGrhBytes, "byte_len of what came");
}
void ud_above_mtu_not_sent(Case& c) {
  ud_above_mtu(c, true);
}
void ud_above_mtu_no_error(Case& c) {
  ud_above_mtu(c, false);
}

}  // namespace

Bodies data_sizes_bodies() {
  static constexpr Body kBodies[] = {
      {"data.carry", table},
      {"data.size.send_zero", send_zero},
      {"data.size.send_around_mtu", send_around_mtu},
      {"data.size.send_large", send_large},
      {"data.size.write_zero", write_zero},
      {"data.size.write_around_mtu", write_around_mtu},
      {"data.size.write_large", write_large},
      {"data.size.read_zero", read_zero},
      {"data.size.read_around_mtu", read_around_mtu},
      {"data.size.read_large", read_large},
      {"data.size.zero_rdma_needs_no_key", zero_rdma_needs_no_key},
      {"data.size.uc_multi_packet", uc_multi_packet},
      {"data.size.ud_up_to_mtu", ud_up_to_mtu},
      {"data.size.ud_above_mtu_not_sent", ud_above_mtu_not_sent},
      {"data.size.ud_above_mtu_no_error", ud_above_mtu_no_error},
  };
  return kBodies;
}

}  // namespace conform
