// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the fake's handles really are. libibverbs' inline functions look behind some of them, hence the zeroed room.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <type_traits>
#include <utility>
#include <vector>

#include "fake/fake_verbs.hpp"

namespace verbena::fake {

struct FakeVerbs::Entry {
  FakeDevice device;
  ibv_device handle{};
  std::array<std::byte, 512> room{};
  bool listed = true;
};

struct FakeContext {
  FakeVerbs* host = nullptr;
  FakeVerbs::Entry* entry = nullptr;
  verbs_context extended{};

  static FakeContext& of(ibv_context* context) {
    auto* extended =
        reinterpret_cast<verbs_context*>(reinterpret_cast<char*>(context) - offsetof(verbs_context, context));
    return *reinterpret_cast<FakeContext*>(reinterpret_cast<char*>(extended) - offsetof(FakeContext, extended));
  }
};

struct FakeChannel {
  ibv_comp_channel channel{};
  std::deque<ibv_cq*> events;
};

struct FakeCq {
  ibv_cq_ex cq{};  // begins as ibv_cq does
  std::array<std::byte, 512> room{};
  std::deque<ibv_wc> completions;
  unsigned users = 0;
  unsigned unacknowledged = 0;

  static FakeCq& of(ibv_cq* cq) { return *reinterpret_cast<FakeCq*>(cq); }
  static FakeCq& of(ibv_cq_ex* cq) { return *reinterpret_cast<FakeCq*>(cq); }
};

struct FakeQp {
  ibv_qp qp{};
  std::array<std::byte, 1024> room{};
  ibv_qp_cap cap{};
  ibv_qp_attr attr{};
  bool sq_sig_all = false;
  std::deque<std::uint64_t> receives;

  static FakeQp& of(ibv_qp* qp) { return *reinterpret_cast<FakeQp*>(qp); }
};

struct FakeSrq {
  ibv_srq srq{};
  std::array<std::byte, 512> room{};
  ibv_srq_attr attr{};
  unsigned posted = 0;

  static FakeSrq& of(ibv_srq* srq) { return *reinterpret_cast<FakeSrq*>(srq); }
};

struct FakeMr {
  ibv_mr mr{};
  std::array<std::byte, 256> room{};
};

template <class T>
Made<T> FakeVerbs::refused(int error) {
  Made<T> result;
  result.errno_missing = error == kNoErrno;
  result.error = result.errno_missing ? EINVAL : error;
  return result;
}

/// Rings and silences the eventfd that stands for a channel's descriptor.
void ring(int descriptor);
void silence(int descriptor);

/// Puts the data-path functions into a context.
void set_data_path(ibv_context_ops& ops);

}  // namespace verbena::fake
