// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "ping_operations.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "errno_text.hpp"
#include "verbena/ah.hpp"

namespace cli {
namespace {

constexpr std::uint32_t kImmediate = 0x5eed0123;

/// A pattern that differs from one operation to the next, so that bytes left from the last one are no success.
void fill(std::span<std::uint8_t> bytes, std::uint8_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(seed + 31 * i + (i >> 8));
}

std::string compare(std::span<const std::uint8_t> got, std::span<const std::uint8_t> sent) {
  const auto [at, other] = std::mismatch(got.begin(), got.end(), sent.begin());
  if (at == got.end()) return {};
  return fmt::format("byte {} is 0x{:02x}, sent was 0x{:02x}", at - got.begin(), *at, *other);
}

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint8_t seed) {
  std::vector<std::uint8_t> out(bytes);
  fill(out, seed);
  return out;
}

/// The first thing that went wrong in a row of steps; later steps are left out.
class Steps {
public:
  template <class Step>
  Steps& then(Step&& step) {
    if (fault_.empty()) fault_ = step();
    return *this;
  }
  std::string fault() const { return fault_; }

private:
  std::string fault_;
};

ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge& sge, const End& to) {
  ibv_send_wr wr{};
  wr.opcode = opcode;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma.remote_addr = to.shared_address();
  wr.wr.rdma.rkey = to.rkey();
  return wr;
}

std::string check_arrival(const ibv_wc& wc, std::size_t bytes, bool immediate) {
  if (wc.byte_len != bytes) return fmt::format("{} bytes were told to have arrived, {} were sent", wc.byte_len, bytes);
  if (!immediate) return {};
  if ((wc.wc_flags & IBV_WC_WITH_IMM) == 0) return "the completion carries no immediate data";
  if (ntohl(wc.imm_data) != kImmediate) return fmt::format("the immediate data is 0x{:x}", ntohl(wc.imm_data));
  return {};
}

/// Posts what a receive of the peer answers, and checks both completions.
Steps arrives(End& from, End& to, ibv_send_wr& wr, std::size_t bytes, bool immediate, Clock::time_point deadline) {
  ibv_wc wc{};
  return Steps()
      .then([&] { return to.post_receive(bytes); })
      .then([&] { return from.post_send(wr); })
      .then([&] { return from.wait(wc, deadline); })
      .then([&] { return to.wait(wc, deadline); })
      .then([&] { return check_arrival(wc, bytes, immediate); });
}

std::string send(End& from, End& to, std::size_t bytes, Clock::time_point deadline) {
  const std::vector<std::uint8_t> data = pattern(bytes, 1);
  std::copy(data.begin(), data.end(), from.local().begin());
  ibv_sge sge = from.local_sge(bytes);
  ibv_send_wr wr = request(IBV_WR_SEND, sge, to);
  return arrives(from, to, wr, bytes, false, deadline)
      .then([&] { return compare(to.local().first(bytes), data); })
      .fault();
}

/// What the peer holds is looked at behind a READ, since a WRITE's completion alone does not say that it is placed.
std::string write_and_read(End& from, End& to, std::size_t bytes, Clock::time_point deadline, bool check_read) {
  const auto seed = static_cast<std::uint8_t>(check_read ? 3 : 2);
  const std::vector<std::uint8_t> data = pattern(bytes, seed);
  std::copy(data.begin(), data.end(), from.local().begin());
  ibv_sge sge = from.local_sge(bytes);
  ibv_send_wr write = request(IBV_WR_RDMA_WRITE, sge, to);
  ibv_send_wr read = request(IBV_WR_RDMA_READ, sge, to);
  ibv_wc wc{};
  return Steps()
      .then([&] { return from.post_send(write); })
      .then([&] { return from.wait(wc, deadline); })
      .then([&] {
        std::fill(from.local().begin(), from.local().end(), std::uint8_t{0});
        return from.post_send(read);
      })
      .then([&] { return from.wait(wc, deadline); })
      .then([&] { return check_read ? compare(from.local().first(bytes), data) : compare(to.shared(), data); })
      .fault();
}

std::string write_imm(End& from, End& to, std::size_t bytes, Clock::time_point deadline) {
  const std::vector<std::uint8_t> data = pattern(bytes, 4);
  std::copy(data.begin(), data.end(), from.local().begin());
  ibv_sge sge = from.local_sge(bytes);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, sge, to);
  wr.imm_data = htonl(kImmediate);
  return arrives(from, to, wr, bytes, true, deadline).then([&] { return compare(to.shared(), data); }).fault();
}

std::uint64_t word(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The old value must come back and the new one must stand at the peer, both in the host's byte order.
std::string atomic(End& from, End& to, ibv_wr_opcode opcode, Clock::time_point deadline) {
  constexpr std::uint64_t kBefore = 0x1122334455667788;
  constexpr std::uint64_t kOperand = 0x0101010101010101;
  std::memcpy(to.shared().data(), &kBefore, sizeof kBefore);
  ibv_sge sge = from.local_sge(sizeof kBefore);
  ibv_send_wr wr = request(opcode, sge, to);
  wr.wr.atomic.remote_addr = to.shared_address();
  wr.wr.atomic.rkey = to.rkey();
  const bool swap = opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic.compare_add = swap ? kBefore : kOperand;
  wr.wr.atomic.swap = kOperand;
  const std::uint64_t after = swap ? kOperand : kBefore + kOperand;
  ibv_wc wc{};
  return Steps()
      .then([&] { return from.post_send(wr); })
      .then([&] { return from.wait(wc, deadline); })
      .then([&] {
        const std::uint64_t old = word(from.local());
        return old == kBefore ? "" : fmt::format("0x{:016x} came back, 0x{:016x} stood there", old, kBefore);
      })
      .then([&] {
        const std::uint64_t now = word(to.shared());
        return now == after ? "" : fmt::format("0x{:016x} stands there, 0x{:016x} should", now, after);
      })
      .fault();
}

/// Where a UD send goes, by the peer's facts and the index of this end's own GID.
ibv_ah_attr path(const verbena::QpFacts& own, const verbena::QpFacts& peer, const End& from,
                 std::optional<std::uint32_t> gid_index) {
  ibv_ah_attr attr{};
  attr.port_num = own.port;
  attr.dlid = peer.lid;
  if (std::all_of(peer.gid.begin(), peer.gid.end(), [](std::uint8_t byte) { return byte == 0; })) return attr;
  attr.is_global = 1;
  std::memcpy(attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  attr.grh.hop_limit = 64;
  if (gid_index) {
    attr.grh.sgid_index = static_cast<std::uint8_t>(*gid_index);
  } else if (const verbena::PortCaps* port = from.caps().port(own.port)) {
    for (const verbena::GidEntry& entry : port->gids) {
      if (entry.gid == own.gid && entry.type == own.gid_type) {
        attr.grh.sgid_index = static_cast<std::uint8_t>(entry.index);
      }
    }
  }
  return attr;
}

}  // namespace

Operation not_tried(std::string name, const End& from, const End& to, const verbena::Contract& lacking,
                    verbena::Feature feature) {
  const verbena::FeatureState& state = lacking.feature(feature);
  const verbena::Provenance& by = lacking.provenance(state.by);
  return {std::move(name),
          from.name(),
          to.name(),
          0,
          false,
          fmt::format("{} is {}{}", verbena::name(feature), verbena::name(state.support),
                      by.rule.empty() ? std::string() : fmt::format(" by rule {}: {}", by.rule, by.reason))};
}

std::vector<Operation> ping_rc(End& from, End& to, std::size_t bytes, Clock::time_point deadline) {
  using verbena::Feature;
  std::vector<Operation> done;
  const auto run = [&](std::string name, Feature feature, std::size_t size, auto&& operation) {
    for (const End* end : {&from, &to}) {
      // What nobody denies is tried; only an immediate or an atomic must be known to be there.
      const verbena::Support support = end->contract().feature(feature).support;
      const bool basic = feature == Feature::send || feature == Feature::rdma_write || feature == Feature::rdma_read;
      if (support == verbena::Support::native || (basic && support == verbena::Support::unknown)) continue;
      done.push_back(not_tried(name, from, to, end->contract(), feature));
      return;
    }
    done.push_back({std::move(name), from.name(), to.name(), size, true, operation()});
  };
  run("SEND", Feature::send, bytes, [&] { return send(from, to, bytes, deadline); });
  run("WRITE", Feature::rdma_write, bytes, [&] { return write_and_read(from, to, bytes, deadline, false); });
  run("READ", Feature::rdma_read, bytes, [&] { return write_and_read(from, to, bytes, deadline, true); });
  run("WRITE_WITH_IMM", Feature::rdma_write_with_imm, bytes, [&] { return write_imm(from, to, bytes, deadline); });
  run("COMPARE_SWAP", Feature::compare_swap, sizeof(std::uint64_t),
      [&] { return atomic(from, to, IBV_WR_ATOMIC_CMP_AND_SWP, deadline); });
  run("FETCH_ADD", Feature::fetch_add, sizeof(std::uint64_t),
      [&] { return atomic(from, to, IBV_WR_ATOMIC_FETCH_AND_ADD, deadline); });
  return done;
}

Operation ping_atomic_write(End& from, End& to, Clock::time_point deadline) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  Operation done{"ATOMIC_WRITE", from.name(), to.name(), kBytes, true, {}};
  // Plain posting does not know it (rdma-core 44, providers/rxe/rxe.c, convert_send_wr): it goes by the builder alone.
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(from.qp().raw());
  if (qp == nullptr) {
    done.detail = "the queue pair has no work request builder";
    return done;
  }
  const std::vector<std::uint8_t> data = pattern(kBytes, 6);
  ibv_sge sge = from.local_sge(kBytes);
  ibv_send_wr read = request(IBV_WR_RDMA_READ, sge, to);
  ibv_wc wc{};
  done.detail = Steps()
                    .then([&] {
                      ibv_wr_start(qp);
                      qp->wr_id = 0;
                      qp->wr_flags = IBV_SEND_SIGNALED;
                      ibv_wr_atomic_write(qp, to.rkey(), to.shared_address(), data.data());
                      const int error = ibv_wr_complete(qp);
                      return error == 0 ? std::string() : fmt::format("it was not taken: {}", errno_text(error));
                    })
                    .then([&] { return from.wait(wc, deadline); })
                    .then([&] { return from.post_send(read); })
                    .then([&] { return from.wait(wc, deadline); })
                    .then([&] { return compare(to.shared().first(kBytes), data); })
                    .fault();
  return done;
}

Operation ping_ud(End& from, End& to, std::size_t bytes, std::optional<std::uint32_t> gid_index,
                  Clock::time_point deadline) {
  Operation done{"UD SEND", from.name(), to.name(), bytes, true, {}};
  const verbena::Result<verbena::QpFacts> own = from.qp().facts();
  const verbena::Result<verbena::QpFacts> peer = to.qp().facts();
  if (!own || !peer) {
    done.detail = to_string(own ? peer.error() : own.error());
    return done;
  }
  verbena::Result<verbena::Ah> ah = verbena::Ah::create(from.pd(), path(*own, *peer, from, gid_index));
  if (!ah) {
    done.detail = to_string(ah.error());
    return done;
  }
  const std::vector<std::uint8_t> data = pattern(bytes, 5);
  std::copy(data.begin(), data.end(), from.local().begin());
  ibv_sge sge = from.local_sge(bytes);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.ud.ah = ah->raw();
  wr.wr.ud.remote_qpn = peer->qp_num;
  wr.wr.ud.remote_qkey = peer->qkey;
  ibv_wc wc{};
  done.detail = Steps()
                    .then([&] { return to.post_receive(bytes + End::kGrhBytes); })
                    .then([&] { return from.post_send(wr); })
                    .then([&] { return from.wait(wc, deadline); })
                    .then([&] { return to.wait(wc, deadline); })
                    .then([&] { return check_arrival(wc, bytes + End::kGrhBytes, false); })
                    .then([&] { return compare(to.local().subspan(End::kGrhBytes, bytes), data); })
                    .fault();
  return done;
}

}  // namespace cli
