// SPDX-License-Identifier: Apache-2.0 OR MIT
// What bench/post_poll_callgrind.sh counts: one loop over one call, on a context whose operations are stubs.
// Usage: post_poll_subject WHAT COUNT, where WHAT is raw.post_send, verbena.post_send, ...
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include <infiniband/verbs.h>

#include "qp/qp_state.hpp"
#include "verbena/post.hpp"
#include "verbena/qp.hpp"

namespace {

unsigned long calls = 0;

// Opaque to the optimiser, as a provider's functions are.
__attribute__((noinline)) int stub_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) {
  asm volatile("" : "+m"(calls));
  ++calls;
  return 0;
}
__attribute__((noinline)) int stub_recv(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) {
  asm volatile("" : "+m"(calls));
  ++calls;
  return 0;
}
__attribute__((noinline)) int stub_srq_recv(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) {
  asm volatile("" : "+m"(calls));
  ++calls;
  return 0;
}
__attribute__((noinline)) int stub_poll(ibv_cq*, int, ibv_wc*) {
  asm volatile("" : "+m"(calls));
  ++calls;
  return 0;
}

struct Stub {
  ibv_context context{};
  ibv_qp qp{};
  ibv_cq cq{};
  ibv_srq srq{};

  Stub() {
    context.ops.post_send = stub_send;
    context.ops.post_recv = stub_recv;
    context.ops.post_srq_recv = stub_srq_recv;
    context.ops.poll_cq = stub_poll;
    qp.context = cq.context = srq.context = &context;
  }
};

// A caller's cold path: what failed is remembered.
__attribute__((noinline, cold)) void failed(int error, const void* bad) {
  std::fprintf(stderr, "a stub failed: %d %p\n", error, bad);
  std::exit(3);
}

template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

template <class Call>
__attribute__((noinline)) void repeat(long count, Call call) {
  for (long i = 0; i < count; ++i) call();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view what = argv[1];
  const long count = std::strtol(argv[2], nullptr, 10);
  Stub stub;
  ibv_send_wr send{};
  ibv_recv_wr recv{};
  ibv_wc completions[16];
  ibv_qp* qp = opaque(&stub.qp);
  ibv_cq* cq = opaque(&stub.cq);
  ibv_srq* srq = opaque(&stub.srq);
  // A handle for its raw() alone: there is no device behind it, so it is never destroyed.
  const auto state = std::make_shared<verbena::Qp::State>();
  state->raw = qp;
  alignas(verbena::Qp) std::byte room[sizeof(verbena::Qp)];
  const verbena::Qp& handle = *opaque(new (room) verbena::Qp(state));

  if (what == "raw.post_send") {
    repeat(count, [&] {
      ibv_send_wr* bad;
      const int error = ibv_post_send(qp, &send, &bad);
      if (error != 0) failed(error, bad);
    });
  } else if (what == "verbena.post_send") {
    repeat(count, [&] {
      const auto result = verbena::post_send(qp, &send);
      if (!result) failed(result.error, result.bad);
    });
  } else if (what == "handle.post_send") {
    repeat(count, [&] {
      ibv_send_wr* bad;
      const int error = ibv_post_send(handle.raw(), &send, &bad);
      if (error != 0) failed(error, bad);
    });
  } else if (what == "raw.post_recv") {
    repeat(count, [&] {
      ibv_recv_wr* bad;
      const int error = ibv_post_recv(qp, &recv, &bad);
      if (error != 0) failed(error, bad);
    });
  } else if (what == "verbena.post_recv") {
    repeat(count, [&] {
      const auto result = verbena::post_recv(qp, &recv);
      if (!result) failed(result.error, result.bad);
    });
  } else if (what == "raw.post_srq_recv") {
    repeat(count, [&] {
      ibv_recv_wr* bad;
      const int error = ibv_post_srq_recv(srq, &recv, &bad);
      if (error != 0) failed(error, bad);
    });
  } else if (what == "verbena.post_srq_recv") {
    repeat(count, [&] {
      const auto result = verbena::post_srq_recv(srq, &recv);
      if (!result) failed(result.error, result.bad);
    });
  } else if (what == "raw.poll") {
    repeat(count, [&] {
      if (ibv_poll_cq(cq, 16, completions) < 0) failed(-1, nullptr);
    });
  } else if (what == "verbena.poll") {
    repeat(count, [&] {
      if (verbena::poll(cq, 16, completions) < 0) failed(-1, nullptr);
    });
  } else {
    return 2;
  }
  std::_Exit(calls == static_cast<unsigned long>(count) ? 0 : 4);
}
