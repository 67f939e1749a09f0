// SPDX-License-Identifier: Apache-2.0 OR MIT
// device_selftest -d A -d B: two RC queue pairs, one on each device, connect in one thread and move checked bytes by
// SEND, WRITE and READ in both directions. Exit codes: 0 ok, 1 something was wrong, 2 usage, 77 nothing to test on.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbena/connect.hpp"
#include "verbena/library.hpp"
#include "verbena/mr.hpp"
#include "verbena/post.hpp"

namespace {

using namespace verbena;
using namespace std::chrono_literals;

constexpr std::size_t kBytes = 6000;  // more than one packet at any path MTU
int failures = 0;

void expect(bool holds, const std::string& what) {
  std::printf("%s %s\n", holds ? "ok    " : "FAILED", what.c_str());
  if (!holds) ++failures;
}

template <class T>
T must(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  std::printf("FAILED %s: %s\n", what, to_string(result.error()).c_str());
  std::exit(1);
}

/// One side: a queue pair and memory that the peer may read and write.
struct Side {
  std::string name;
  std::vector<std::uint8_t> memory;
  Pd pd;
  Mr mr;
  Cq cq;
  Qp qp;

  static Side make(const Device& device) {
    std::vector<std::uint8_t> memory(2 * kBytes);
    Pd pd = must(Pd::alloc(device), "ibv_alloc_pd");
    MrRequest region;
    region.length = memory.size();
    region.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    Mr mr = must(Mr::reg(pd, memory.data(), region), "ibv_reg_mr");
    CqRequest entries;
    entries.cqe = {64};
    Cq cq = must(Cq::create(device, entries), "ibv_create_cq");
    QpRequest request;
    request.max_send_wr = request.max_recv_wr = {16};
    Qp qp = must(Qp::create(pd, request, {.send_cq = &cq}), "ibv_create_qp");
    for (const Adjustment& adjustment : qp.grant().adjustments) {
      std::printf("       %s\n", to_string(adjustment).c_str());
    }
    return {device.id().name, std::move(memory), std::move(pd), std::move(mr), std::move(cq), std::move(qp)};
  }

  std::span<std::uint8_t> out() { return std::span(memory).first(kBytes); }
  std::span<std::uint8_t> in() { return std::span(memory).last(kBytes); }
  ibv_sge sge(std::span<std::uint8_t> bytes) const {
    return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), mr.lkey()};
  }
  void fill(std::span<std::uint8_t> bytes, std::uint8_t first) { std::iota(bytes.begin(), bytes.end(), first); }
};

/// Waits for one completion; false when it fails or none comes.
bool completes(Side& side, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  ibv_wc wc{};
  while (std::chrono::steady_clock::now() < deadline) {
    const int count = poll(side.cq.raw(), 1, &wc);
    if (count < 0) break;
    if (count == 0) continue;
    if (wc.status == IBV_WC_SUCCESS) return true;
    std::printf("       %s on %s: %s (vendor %#x)\n", what, side.name.c_str(), ibv_wc_status_str(wc.status),
                wc.vendor_err);
    return false;
  }
  std::printf("       %s on %s: no completion\n", what, side.name.c_str());
  return false;
}

bool sends(Side& from, ibv_wr_opcode opcode, ibv_sge sge, std::uint64_t remote = 0, std::uint32_t rkey = 0) {
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.remote_addr = remote;
  wr.wr.rdma.rkey = rkey;
  const PostSendResult posted = post_send(from.qp.raw(), &wr);
  if (!posted) std::printf("       post_send: errno %d\n", posted.error);
  return posted && completes(from, "send");
}

void move_bytes(Side& from, Side& to) {
  const std::string way = from.name + " -> " + to.name;
  const auto arrived = [&](std::uint8_t first) {
    std::vector<std::uint8_t> expected(kBytes);
    std::iota(expected.begin(), expected.end(), first);
    return std::equal(expected.begin(), expected.end(), to.in().begin());
  };
  ibv_sge sink = to.sge(to.in());
  ibv_recv_wr receive{};
  receive.sg_list = &sink;
  receive.num_sge = 1;
  from.fill(from.out(), 1);
  const bool sent = static_cast<bool>(post_recv(to.qp.raw(), &receive)) &&
                    sends(from, IBV_WR_SEND, from.sge(from.out())) && completes(to, "receive");
  expect(sent && arrived(1), way + " SEND");

  from.fill(from.out(), 2);
  const auto remote_in = reinterpret_cast<std::uintptr_t>(to.in().data());
  const bool written = sends(from, IBV_WR_RDMA_WRITE, from.sge(from.out()), remote_in, to.mr.rkey());
  // A READ behind the WRITE orders them; what it brings back is what was written.
  const bool read = sends(from, IBV_WR_RDMA_READ, from.sge(from.in()), remote_in, to.mr.rkey());
  expect(written && arrived(2), way + " WRITE");
  expect(read && std::equal(from.out().begin(), from.out().end(), from.in().begin()), way + " READ");
}

void run(const Device& a, const Device& b) {
  Side one = Side::make(a);
  Side other = Side::make(b);
  std::printf("       %s\n       %s\n", to_string(must(one.qp.facts(), "facts")).c_str(),
              to_string(must(other.qp.facts(), "facts")).c_str());
  std::printf("       worst stall: %s\n", one.qp.worst_stall().text.c_str());
  const auto notes = connect_pair(one.qp, other.qp, 20s);
  expect(notes.has_value(), "connect " + one.name + " and " + other.name);
  if (!notes) {
    std::printf("       %s\n", to_string(notes.error()).c_str());
    return;
  }
  for (const Adjustment& adjustment : *notes) std::printf("       %s\n", to_string(adjustment).c_str());
  expect(must(one.qp.query(), "query").attr.qp_state == IBV_QPS_RTS, "state RTS on " + one.name);
  expect(must(other.qp.query(), "query").attr.qp_state == IBV_QPS_RTS, "state RTS on " + other.name);
  move_bytes(one, other);
  move_bytes(other, one);
  // Over rdma_cm the end of the connection may have taken the peer there already.
  expect(one.qp.to_err().has_value(), "to ERR on " + one.name);
}

/// A transition that the table forbids never reaches the driver.
void refuse(const Device& device) {
  Side side = Side::make(device);
  const auto refused = side.qp.to_rts();
  expect(!refused, "RESET to RTS is refused on " + side.name);
  if (!refused) std::printf("       %s\n", to_string(refused.error()).c_str());
  expect(side.qp.to_reset().has_value(), "RESET of a fresh QP is no error on " + side.name);
  expect(side.qp.to_init().has_value(), "and INIT follows on " + side.name);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-d" && i + 1 < argc) {
      names.emplace_back(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: device_selftest -d DEVICE [-d DEVICE]\n");
      return 2;
    }
  }
  if (names.empty()) {
    std::printf("skipped: no device was named\n");
    return 77;
  }
  const Library library = must(Library::create(), "library");
  const Device a = must(library.open(names.front()), "open");
  const Device b = names.size() > 1 ? must(library.open(names[1]), "open") : a;
  refuse(a);
  run(a, b);
  run(a, a);
  return failures == 0 ? 0 : 1;
}
