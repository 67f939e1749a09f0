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

/// RESET to INIT and back: two calls.
void raw_modify(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  Verbs& verbs = *rig.verbs;
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  const int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  for (long i = 0; i < count; i += 2) {
    check(verbs.modify_qp(qp.raw(), init, init_mask) == 0);
    check(verbs.modify_qp(qp.raw(), reset, IBV_QP_STATE) == 0);
  }
}

void verbena_modify(fake::QpRig& rig, const fake::Bench& bench, long count) {
  Qp qp = bench.qp(rig);
  for (long i = 0; i < count; i += 2) {
    check(qp.to_init().has_value());
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long count = std::strtol(argv[2], nullptr, 10);
  fake::QpRig rig;
  rig.library->sink = nullptr;  // logging off
  const fake::Bench bench = fake::Bench::make(rig, fake::roce_device("fake0", 1));
  struct Way {
    std::string_view name;
    void (*run)(fake::QpRig&, const fake::Bench&, long);
  };
  for (const auto& [name, run] :
       {Way{"raw.modify", raw_modify}, Way{"verbena.modify", verbena_modify}, Way{"raw.query", raw_query},
        Way{"verbena.query", verbena_query}, Way{"raw.create_destroy", raw_create},
        Way{"verbena.create_destroy", verbena_create}}) {
    if (what != name) continue;
    run(rig, bench, count);
    return 0;
  }
  return 2;
}
