// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "cases/bodies.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

/// In another process, by plain verbs on a context of its own: so many queue pairs and regions, and an end without
/// destroying any. What it exits with says whether they were made.
[[noreturn]] void make_and_leave(verbena::Verbs& verbs, const std::string& name, int count) {
  int listed = 0;
  const verbena::Made<ibv_device*> list = verbs.get_device_list(listed);
  ibv_context* context = nullptr;
  for (int index = 0; list && index < listed; ++index) {
    if (name == verbs.get_device_name(list.handle[index])) context = verbs.open_device(list.handle[index]).handle;
  }
  if (context == nullptr) _exit(2);
  ibv_pd* pd = verbs.alloc_pd(context).handle;
  ibv_cq* cq = verbs.create_cq(context, 16, nullptr, nullptr, 0).handle;
  if (pd == nullptr || cq == nullptr) _exit(3);
  static std::array<std::uint8_t, 1024> memory{};
  for (int index = 0; index < count; ++index) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.cap = {1, 1, 1, 1, 0};
    if (!verbs.create_qp(pd, init)) _exit(4);
    if (!verbs.reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE)) _exit(5);
  }
  _exit(0);
}

void frees_all(Case& c) {
  ibv_device_attr before{};
  c.need(c.accepted(c.verbs().query_device(c.context(), before), "ibv_query_device"));
  const std::string name = c.verbs().get_device_name(c.context()->device);
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    if (child < 0) c.blocked("two_processes", "no second process can be started");
    if (child == 0) make_and_leave(c.verbs(), name, 32);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    c.need(c.equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0, "what the other process ended with"));
  }
  ibv_device_attr after{};
  c.need(c.accepted(c.verbs().query_device(c.context(), after), "ibv_query_device"));
  c.equal(after.max_qp, before.max_qp, "max_qp after the other process ended");
  c.equal(after.max_mr, before.max_mr, "max_mr after the other process ended");
  Loop loop(c);
  carries(c, loop, "after the other process ended");
}

}  // namespace

Bodies scale_exit_bodies() {
  static constexpr Body kBodies[] = {
      {"scale.exit.frees_all", frees_all},
  };
  return kBodies;
}

}  // namespace conform
