// SPDX-License-Identifier: Apache-2.0 OR MIT
// What bench/control_path_callgrind.sh counts: a control call through Verbena and the same by the verbs table alone, on
// a scripted device. Usage: control_path_subject WHAT COUNT, where WHAT is raw.modify, verbena.modify, ...
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fake/qp_rig.hpp"

namespace {

using namespace verbena;

void check(bool holds) {
  if (holds) return;
  std::fprintf(stderr, "a call failed\n");
  std::exit(3);
}

constexpr std::uint8_t kReads = 4;

/// INIT to INIT: one call.
void raw_modify(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  check(qp.to_init().has_value());
  for (long i = 0; i < count; ++i) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
    check(rig.verbs->modify_qp(qp.raw(), attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS) == 0);
  }
}

void verbena_modify(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  check(qp.to_init().has_value());
  for (long i = 0; i < count; ++i) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
    check(qp.modify(attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS).has_value());
  }
}

/// RESET, INIT, RTR, RTS and back: four calls, counted as one.
void raw_round(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  Verbs& verbs = *rig.verbs;
  for (long i = 0; i < count; ++i) {
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = 1;
    init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
    check(verbs.modify_qp(qp.raw(), init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    ibv_qp_attr rtr{};
    rtr.qp_state = IBV_QPS_RTR;
    rtr.path_mtu = IBV_MTU_1024;
    rtr.ah_attr.is_global = 1;
    rtr.ah_attr.port_num = 1;
    rtr.max_dest_rd_atomic = kReads;
    rtr.min_rnr_timer = 12;
    check(verbs.modify_qp(qp.raw(), rtr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    ibv_qp_attr rts{};
    rts.qp_state = IBV_QPS_RTS;
    rts.timeout = 14;
    rts.retry_cnt = rts.rnr_retry = 7;
    rts.max_rd_atomic = kReads;
    check(verbs.modify_qp(qp.raw(), rts,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC) == 0);
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    check(verbs.modify_qp(qp.raw(), reset, IBV_QP_STATE) == 0);
  }
}

void verbena_round(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  RtrWish rtr;
  rtr.address.is_global = 1;
  rtr.max_dest_rd_atomic = kReads;
  RtsWish rts;
  rts.max_rd_atomic = kReads;
  for (long i = 0; i < count; ++i) {
    check(qp.to_init().has_value());
    check(qp.to_rtr(rtr).has_value());
    check(qp.to_rts(rts).has_value());
    check(qp.to_reset().has_value());
  }
}

void raw_query(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  for (long i = 0; i < count; ++i) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    check(rig.verbs->query_qp(qp.raw(), attr, IBV_QP_STATE | IBV_QP_CAP, init) == 0);
  }
}

void verbena_query(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  for (long i = 0; i < count; ++i) check(qp.query().has_value());
}

void raw_create(fake::QpRig& rig, const fake::Bench& bench, long count) {
  for (long i = 0; i < count; ++i) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = bench.cq.raw();
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 0};
    const Made<ibv_qp> made = rig.verbs->create_qp(bench.pd.raw(), attr);
    check(made.handle != nullptr);
    check(rig.verbs->destroy_qp(made.handle) == 0);
  }
}

void verbena_create(fake::QpRig&, const fake::Bench& bench, long count) {
  QpRequest request;
  request.max_send_wr = request.max_recv_wr = {64};
  request.max_send_sge = {2};
  for (long i = 0; i < count; ++i) check(Qp::create(bench.pd, request, {.send_cq = &bench.cq}).has_value());
}

struct Subject {
  std::string_view name;
  void (*run)(fake::QpRig&, const fake::Bench&, long);
};
constexpr Subject kSubjects[] = {
    {"raw.round", raw_round},           {"verbena.round", verbena_round},
    {"raw.modify", raw_modify},         {"verbena.modify", verbena_modify},
    {"raw.query", raw_query},           {"verbena.query", verbena_query},
    {"raw.create_destroy", raw_create}, {"verbena.create_destroy", verbena_create},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long count = std::strtol(argv[2], nullptr, 10);
  fake::QpRig rig;
  rig.library->sink = nullptr;  // logging off
  const fake::Bench bench = fake::Bench::make(rig, fake::roce_device("fake0", 1));
  for (const auto& [name, run] : kSubjects) {
    if (what != name) continue;
    run(rig, bench, count);
    return 0;
  }
  return 2;
}
