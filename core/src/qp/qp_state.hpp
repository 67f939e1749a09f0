// SPDX-License-Identifier: Apache-2.0 OR MIT
// What stands behind a Qp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "objects/states.hpp"
#include "verbena/qp.hpp"

namespace verbena {

class CmEnd;  // core/src/connect: this side of an rdma_cm connection

struct Qp::State {
  std::shared_ptr<Pd::State> pd;
  std::shared_ptr<Cq::State> send_cq;  ///< null when adopted: its CQs are the caller's
  std::shared_ptr<Cq::State> recv_cq;
  std::shared_ptr<Srq::State> srq;
  std::shared_ptr<const Contract> contract;
  ibv_qp* raw = nullptr;
  bool owned = true;
  QpType type = QpType::rc;
  std::uint8_t port = 1;
  ibv_qp_state state = IBV_QPS_RESET;
  std::uint16_t generation = 0;
  QpGrant grant;
  LedgerLine ledger_line;  ///< ends before the device does, and after the destructor has destroyed the queue pair

  // In force, as codes; sent again where a device wants them twice.
  std::uint8_t min_rnr_timer = 12;
  std::uint8_t timeout = 14;
  std::uint8_t retry_cnt = 7;

  std::optional<QpFacts> facts;
  std::uint32_t gid_index = 0;
  std::unique_ptr<CmEnd> cm;

  State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  Device::State& device() const noexcept { return *pd->device; }
  Verbs& verbs() const noexcept { return pd->device->verbs(); }

  /// Settles and sends a change of state: `mask` says which of `attr` are given, and qp_state is the target. A
  /// responder depth among them is reserved in the device's ledger first, and shrunk to what is left; below
  /// `at_least_dest` it is an error. Returns what was lowered or raised.
  Result<TransitionNotes> move(ibv_qp_attr& attr, QpAttributes mask, Policy policy, std::uint8_t at_least_dest = 1);
  /// Sends what the connection manager wants sent, past the table: it knows its transport's own.
  Result<void> send_as_told(ibv_qp_attr& attr, int mask);
  /// Takes that many of the device's read/atomic responder resources, or what is left of a shared budget.
  Result<std::uint8_t> reserve_responder(std::uint8_t wanted, std::uint8_t at_least);
  /// Who says that queue pairs share the responder resources.
  Provenance budget_provenance() const;
  /// What the type and the device can serve.
  std::uint32_t default_access() const noexcept;

private:
  [[gnu::cold]] Error budget_spent(std::uint8_t wanted) const;
  [[gnu::cold]] void log_settled(const TransitionNotes& settled) const;
  [[gnu::cold]] Error modify_refused(const ibv_qp_attr& attr, QpAttributes sent, int errno_value);
};

}  // namespace verbena
