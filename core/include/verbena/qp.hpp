// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <infiniband/verbs.h>

#include "verbena/cq.hpp"
#include "verbena/device.hpp"
#include "verbena/grant.hpp"
#include "verbena/ownership.hpp"
#include "verbena/pd.hpp"
#include "verbena/qp_facts.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"
#include "verbena/srq.hpp"
#include "verbena/timers.hpp"
#include "verbena/transition.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Where a queue pair's completions go and its receives come from.
struct QpQueues {
  const Cq* send_cq = nullptr;
  const Cq* recv_cq = nullptr;  ///< null: send_cq
  const Srq* srq = nullptr;     ///< null: receives of its own
};

/// RESET to INIT.
struct InitWish {
  std::uint16_t pkey_index = 0;
  /// IBV_ACCESS_*; empty: local and remote writes, on RC remote reads, and remote atomics where the device has them.
  std::optional<std::uint32_t> access{};
  std::uint32_t qkey = 0x11111111;  ///< UD only
};

/// INIT to RTR of a connected type; UD needs none of it.
struct RtrWish {
  std::uint32_t dest_qp_num = 0;
  std::uint32_t rq_psn = 0;  ///< 24 bits
  ibv_ah_attr address{};     ///< port_num 0: the queue pair's own
  std::uint32_t path_mtu = 1024;                 ///< bytes: 256, 512, 1024, 2048 or 4096
  std::uint8_t max_dest_rd_atomic = 1;           ///< RC only
  std::uint8_t at_least_dest_rd_atomic = 1;      ///< where QPs share a budget: refused below it
  Milliseconds min_rnr_timer = QpTimers{}.min_rnr_timer;  ///< RC only
  Policy policy = Policy::prefer;                ///< `require`: nothing is lowered
};

/// RTR to RTS.
struct RtsWish {
  std::uint32_t sq_psn = 0;         ///< 24 bits
  std::uint8_t max_rd_atomic = 1;   ///< RC only; never above what the peer answers at one time
  QpTimers timers{};                ///< RC only
  Policy policy = Policy::prefer;
};

/// What was lowered on the way; empty, and free, when nothing was.
using TransitionNotes = std::vector<Adjustment>;

/// A queue pair's attributes as the device tells them.
struct QpNow {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
};

/// A queue pair: RC, UC or UD. Never null until moved from or released; keeps its PD, CQs, SRQ and device alive.
/// Control calls on one queue pair come from one thread at a time; posting is the caller's own through raw(), as
/// libibverbs says.
///
/// Changes of state send exactly the attributes that type, transition and device want. One that cannot be is refused
/// before the device is asked, with current state, target, what was missing and what was too much; one that the device
/// refuses is refused with its errno, the state that was believed and the one that the device tells.
class Qp {
public:
  /// Fits, creates, reads back, and steps down within the floors where the device refuses what its contract allows.
  /// Errors: those of fit(), invalid_request (no CQ, another device's CQ or SRQ, no such port), no_memory, device_gone,
  /// limit (the device's shared budget, with the ledger), refused (with every try).
  [[nodiscard]] static Result<Qp> create(const Pd& pd, const QpRequest& request, const QpQueues& queues,
                                         std::uint8_t port = 1, void* qp_context = nullptr);
  /// Takes a queue pair that exists, one made by rdma_create_qp too (its PD adopted from the same context). The grant
  /// is built by ibv_query_qp. Errors: invalid_request for null or for another context's handle, unsupported for a type
  /// other than RC, UC and UD, refused.
  [[nodiscard]] static Result<Qp> adopt(const Pd& pd, ibv_qp* qp, Ownership ownership = Ownership::taken);

  Qp(Qp&&) noexcept = default;
  Qp& operator=(Qp&&) noexcept = default;
  ~Qp() = default;

  ibv_qp* raw() const noexcept { return raw_.get(); }
  std::uint32_t qp_num() const noexcept { return raw_->qp_num; }
  const QpGrant& grant() const noexcept;
  QpType type() const noexcept;
  std::uint8_t port() const noexcept;
  /// The contract in force when it was made; it keeps it at a reload of tables.
  const Contract& contract() const noexcept;
  /// The state that it was last moved to or last told; a failure that the hardware found is seen by query().
  ibv_qp_state state() const noexcept;
  /// Whether ERR, RESET, INIT gives a usable queue pair again here; false also where no source says so.
  bool recyclable() const noexcept;
  /// A number that changes at each RESET and differs between queue pairs with high odds: put it into wr_id to tell
  /// completions of an earlier life (after RESET some devices keep them in the CQ, others do not).
  std::uint16_t generation() const noexcept;

  [[nodiscard]] Result<TransitionNotes> to_init(const InitWish& wish = {});
  /// Reserves the responder depth in the device's ledger, and shrinks it to what is left where QPs share a budget.
  /// Error limit shows the ledger when less than at_least_dest_rd_atomic is left.
  [[nodiscard]] Result<TransitionNotes> to_rtr(const RtrWish& wish = {});
  [[nodiscard]] Result<TransitionNotes> to_rts(const RtsWish& wish = {});
  [[nodiscard]] Result<TransitionNotes> to_sqd(bool notify_when_drained = false);
  [[nodiscard]] Result<TransitionNotes> to_err();
  /// Nothing is sent when it is in RESET already.
  [[nodiscard]] Result<TransitionNotes> to_reset();
  /// Any transition: `mask` says which of `attr` are given; without IBV_QP_STATE the state stays.
  [[nodiscard]] Result<TransitionNotes> modify(const ibv_qp_attr& attr, QpAttributes mask,
                                               Policy policy = Policy::prefer);
  /// What the device says; state() follows it. Errors: device_gone, refused.
  [[nodiscard]] Result<QpNow> query();

  /// What the peer needs to connect to it. The first call moves it to INIT (so that receives can be posted), draws the
  /// PSN, chooses the GID, reserves the responder depth, and listens on the port's address where rdma_cm connects;
  /// further calls return the same facts. Errors: no_device (no usable GID or address), limit, those of to_init.
  [[nodiscard]] Result<QpFacts> facts(const ConnectWish& wish = {});
  /// How long a lost peer can go unnoticed with the timers in force.
  WorstStall worst_stall() const;

  Device device() const noexcept;
  /// The caller destroys the handle from now on; a connection over rdma_cm ends here.
  ibv_qp* release() noexcept;

  struct State;  // core/src/qp
  explicit Qp(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state_block() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_qp> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
