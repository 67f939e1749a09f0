// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cases/bodies.hpp"
#include "rig/work.hpp"

// What cases of several files begin with.
namespace conform {

/// The bytes of a message whose length doesn't matter.
inline constexpr std::size_t kBytes = 64;
/// What memory holds before bytes come.
inline constexpr std::uint8_t kOld = 0x5a;

/// The far memory holds one value, so that every byte that changes shows.
inline void set_apart(Loop& loop) {
  loop.a().memory->fill(1);
  std::memset(loop.b().data(), kOld, loop.b().memory->size());
}

inline ibv_port_attr queried_port(Case& c) {
  ibv_port_attr attr{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), attr), "ibv_query_port"));
  return attr;
}

inline ibv_device_attr queried_device(Case& c) {
  ibv_device_attr attr{};
  c.need(c.accepted(c.verbs().query_device(c.context(), attr), "ibv_query_device"));
  return attr;
}

/// RC queue pairs whose memory takes a few messages.
inline LoopShape small_rc() {
  LoopShape shape;
  shape.type = verbena::QpType::rc;
  shape.bytes = 8192;
  return shape;
}

/// The inline bytes that a queue pair takes: what its creation granted, or the more that it has by itself.
inline std::uint32_t inline_held(Case& c, End& end) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  if (c.way().query(end.qp.raw(), attr, IBV_QP_CAP, init) != 0) return end.cap.max_inline_data;
  return std::max(end.cap.max_inline_data, init.cap.max_inline_data);
}

/// Does rdma_cm drive the transitions?
inline bool by_cm(const Case& c) {
  return c.contract().is(verbena::Behaviour::rts_driven_by, verbena::Choice::rdma_cm);
}

/// Absent since this version of Verbena leaves it out: provider and device may have it, and plain verbs then do it.
inline bool left_out(const Case& c, verbena::Feature feature) {
  const verbena::FeatureState& state = c.contract().feature(feature);
  return state.support == verbena::Support::absent && c.contract().provenance(state.by).set_by == verbena::SetBy::build;
}

}  // namespace conform
