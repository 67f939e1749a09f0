// SPDX-License-Identifier: Apache-2.0 OR MIT
// What stands behind the handles: one state an object, shared by the handle and by the children that need it alive.
#pragma once

#include <memory>

#include "device/device_state.hpp"
#include "verbena/ah.hpp"
#include "verbena/comp_channel.hpp"
#include "verbena/cq.hpp"
#include "verbena/mr.hpp"
#include "verbena/mw.hpp"
#include "verbena/pd.hpp"
#include "verbena/srq.hpp"

namespace verbena {

struct Pd::State {
  std::shared_ptr<Device::State> device;
  std::shared_ptr<Pd::State> parent;  ///< of a parent domain: what it was made from
  ibv_pd* raw = nullptr;
  ibv_td* thread_domain = nullptr;    ///< made with it, and freed here unless it was released
  bool owned = true;  ///< destroyed here; false once released, or when the handle stayed the caller's
  GrantNotes notes;
  ~State();
};

struct CompChannel::State {
  std::shared_ptr<Device::State> device;
  ibv_comp_channel* raw = nullptr;
  bool owned = true;
  ~State();
};

struct Cq::State {
  std::shared_ptr<Device::State> device;
  std::shared_ptr<CompChannel::State> channel;  ///< null without one
  ibv_cq* raw = nullptr;
  ibv_cq_ex* raw_ex = nullptr;
  bool owned = true;
  CqGrant grant;
  std::shared_ptr<const Contract> contract;  ///< the one in force when it was made: objects keep theirs at a reload
  ~State();
};

struct Srq::State {
  std::shared_ptr<Pd::State> pd;
  ibv_srq* raw = nullptr;
  bool owned = true;
  SrqGrant grant;
  std::shared_ptr<const Contract> contract;
  ~State();
};

struct Mr::State {
  std::shared_ptr<Pd::State> pd;
  ibv_mr* raw = nullptr;
  bool owned = true;
  MrGrant grant;
  MemoryKind kind = MemoryKind::host;
  std::uint32_t pinned_access = 0;  ///< what its memory was pinned with; a change of access alone cannot add writing
  /// After a change that failed half-way: the domain that it may belong to by now.
  std::shared_ptr<Pd::State> torn_to;
  bool usable = true;
  ~State();
};

struct Mw::State {
  std::shared_ptr<Pd::State> pd;
  ibv_mw* raw = nullptr;
  bool owned = true;
  ~State();
};

struct Ah::State {
  std::shared_ptr<Pd::State> pd;
  ibv_ah* raw = nullptr;
  bool owned = true;
  ~State();
};

}  // namespace verbena
