// SPDX-License-Identifier: Apache-2.0 OR MIT
// What Verbena adds to each call of the control path: raw verbs and Verbena in alternating blocks on one device.
//   tools/vm run 6.12 --icount --devices rxe -- build/release/bench/control_in_guest
// Exit code 1 when a limit is broken: 300 ns (instructions under --icount) more for a modify or a query, 3000 for a
// create or a destroy, or 5% where that is more.
#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "blocks.hpp"
#include "control.hpp"
#include "verbena/cq.hpp"
#include "verbena/library.hpp"
#include "verbena/pd.hpp"
#include "verbena/qp.hpp"

namespace {

using namespace verbena;

constexpr int kBlocks = 15;
constexpr int kRounds = 20;
constexpr double kAllowedRatio = 1.05;
constexpr std::uint32_t kCqe = 100, kWr = 16, kSge = 2;

/// What Qp::query asks for.
constexpr int kAllAttributes = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                               IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                               IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
                               IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_CAP | IBV_QP_DEST_QPN;

enum Call { create_cq, destroy_cq, create_qp, to_init, to_rtr, to_rts, query_qp, destroy_qp, kCalls };

struct CallInfo {
  const char* name;
  double limit;
};
constexpr CallInfo kInfo[kCalls] = {{"create CQ", 3000}, {"destroy CQ", 3000}, {"create QP", 3000},
                                    {"INIT", 300},       {"RTR", 300},         {"RTS", 300},
                                    {"query", 300},      {"destroy QP", 3000}};

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(3);
}

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
  std::exit(3);
}

/// Times one call at a time, and takes off what reading the clock costs.
class Clock {
public:
  Clock(bench::Side (&sides)[kCalls], std::int64_t cost) : sides_(sides), cost_(cost) {}
  template <class Action>
  auto operator()(Call call, Action action) {
    const std::int64_t start = bench::now_ns();
    auto result = action();
    sides_[call].add(bench::now_ns() - start - cost_);
    return result;
  }

private:
  bench::Side (&sides_)[kCalls];
  std::int64_t cost_;
};

/// A queue pair that is connected to itself, over the first GID that is an IPv4 address.
struct Path {
  ibv_ah_attr address{};
  ibv_mtu mtu = IBV_MTU_1024;
};

Path path_to_itself(const Device& device) {
  Path path;
  path.address.is_global = 1;
  path.address.port_num = 1;
  path.address.grh.hop_limit = 64;
  for (const GidEntry& gid : device.caps().port(1)->gids) {
    const bool mapped = gid.gid[10] == 0xff && gid.gid[11] == 0xff;
    if (!mapped || gid.type != GidType::roce_v2) continue;
    path.address.grh.sgid_index = static_cast<std::uint8_t>(gid.index);
    std::memcpy(path.address.grh.dgid.raw, gid.gid.data(), gid.gid.size());
    return path;
  }
  std::fprintf(stderr, "no IPv4 GID\n");
  std::exit(3);
}

void raw_round(ibv_context* context, ibv_pd* pd, const Path& path, Clock time) {
  ibv_cq* const cq = time(create_cq, [&] { return ibv_create_cq(context, kCqe, nullptr, nullptr, 0); });
  check(cq != nullptr, "ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = cq;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {
      .max_send_wr = kWr, .max_recv_wr = kWr, .max_send_sge = kSge, .max_recv_sge = kSge, .max_inline_data = 0};
  ibv_qp* const qp = time(create_qp, [&] { return ibv_create_qp(pd, &wanted); });
  check(qp != nullptr, "ibv_create_qp");

  check(time(to_init,
             [&] {
               ibv_qp_attr attr{};
               attr.qp_state = IBV_QPS_INIT;
               attr.port_num = 1;
               attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
               return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
             }) == 0,
        "ibv_modify_qp to INIT");
  check(time(to_rtr,
             [&] {
               ibv_qp_attr attr{};
               attr.qp_state = IBV_QPS_RTR;
               attr.ah_attr = path.address;
               attr.path_mtu = path.mtu;
               attr.dest_qp_num = qp->qp_num;
               attr.max_dest_rd_atomic = 1;
               attr.min_rnr_timer = 12;
               return ibv_modify_qp(qp, &attr,
                                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
             }) == 0,
        "ibv_modify_qp to RTR");
  check(time(to_rts,
             [&] {
               ibv_qp_attr attr{};
               attr.qp_state = IBV_QPS_RTS;
               attr.timeout = 14;
               attr.retry_cnt = 7;
               attr.rnr_retry = 7;
               attr.max_rd_atomic = 1;
               return ibv_modify_qp(qp, &attr,
                                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                        IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
             }) == 0,
        "ibv_modify_qp to RTS");
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  check(time(query_qp, [&] { return ibv_query_qp(qp, &now, kAllAttributes, &init); }) == 0, "ibv_query_qp");
  check(time(destroy_qp, [&] { return ibv_destroy_qp(qp); }) == 0, "ibv_destroy_qp");
  check(time(destroy_cq, [&] { return ibv_destroy_cq(cq); }) == 0, "ibv_destroy_cq");
}

void verbena_round(const Device& device, const Pd& pd, const Path& path, Clock time) {
  auto cq = time(create_cq, [&] { return Cq::create(device, CqRequest{Wish{kCqe}}); });
  check(cq.has_value(), "Cq::create");
  QpRequest request;
  request.max_send_wr = request.max_recv_wr = {kWr};
  request.max_send_sge = request.max_recv_sge = {kSge};
  auto qp = time(create_qp, [&] { return Qp::create(pd, request, {.send_cq = &*cq}); });
  check(qp.has_value(), "Qp::create");
  InitWish init;
  init.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  check(time(to_init, [&] { return qp->to_init(init); }).has_value(), "to_init");
  RtrWish rtr;
  rtr.dest_qp_num = qp->qp_num();
  rtr.address = path.address;
  check(time(to_rtr, [&] { return qp->to_rtr(rtr); }).has_value(), "to_rtr");
  check(time(to_rts, [&] { return qp->to_rts(); }).has_value(), "to_rts");
  check(time(query_qp, [&] { return qp->query(); }).has_value(), "query");
  // What destroys an object is its destructor.
  time(destroy_qp, [&] {
    const Qp gone = std::move(*qp);
    return 0;
  });
  time(destroy_cq, [&] {
    const Cq gone = std::move(*cq);
    return 0;
  });
}

int measure(const char* name, const Device& device, const Pd& pd, const Path& path) {
  const std::int64_t clock = bench::clock_cost(bench::now_ns);
  bench::Side raw[kCalls], ours[kCalls];
  for (int block = 0; block < kBlocks; ++block) {
    for (int call = 0; call < kCalls; ++call) raw[call].next_block(), ours[call].next_block();
    for (int round = 0; round < kRounds; ++round) raw_round(device.raw(), pd.raw(), path, {raw, clock});
    for (int round = 0; round < kRounds; ++round) verbena_round(device, pd, path, {ours, clock});
  }
  std::printf("%s: medians in ns (instructions under --icount) of %d alternating blocks of %d, the first left out\n",
              name, kBlocks, kRounds);
  std::printf("%-12s %10s %10s %8s %12s %8s %8s\n", "call", "raw", "verbena", "more", "worst block", "ratio", "limit");
  bool all_hold = true;
  for (int call = 0; call < kCalls; ++call) {
    const bench::Comparison found = bench::compare(ours[call], raw[call]);
    const bool holds = found.more <= kInfo[call].limit || found.ratio <= kAllowedRatio;
    all_hold &= holds;
    std::printf("%-12s %10.0f %10.0f %+8.0f %+12.0f %8.3f %8.0f  %s\n", kInfo[call].name, found.theirs, found.ours,
                found.more, found.worst_more, found.ratio, kInfo[call].limit, holds ? "holds" : "BROKEN");
  }
  return all_hold ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "rxe0";
  const Library library = must(Library::create());
  const Device device = must(library.open(name));
  const Pd pd = must(device.alloc_pd());
  const Path path = path_to_itself(device);
  return bench::under_control([&] { return measure(name, device, pd, path); });
}
