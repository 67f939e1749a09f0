// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "verbena/connect.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// This side of a connection that rdma_cm makes. The queue pair is the device's own and is passed by number (`id->qp`
/// stays empty): kernel drivers/infiniband/core/cma.c, cma_connect_iw and cma_accept_iw take conn_param's qp_num then,
/// and the driver moves the queue pair to RTS itself (sw/siw/siw_cm.c, siw_accept and siw_proc_mpareply).
///
/// It listens from the start, since facts are announced before either side knows who dials.
class CmEnd {
public:
  /// Listens on that address, on a port that the kernel picks. Errors: permission, refused.
  static Result<std::unique_ptr<CmEnd>> listen(Verbs& verbs, const IpAddress& address);

  CmEnd(const CmEnd&) = delete;
  CmEnd& operator=(const CmEnd&) = delete;
  ~CmEnd();

  std::uint16_t port() const noexcept { return port_; }
  int descriptor() const noexcept { return channel_->fd; }
  std::string_view waits_for() const noexcept;

  /// What rdma_cm wants sent to move the queue pair to INIT, and the mask that goes with it.
  const ibv_qp_attr& init_attributes() const noexcept { return init_attributes_; }
  int init_mask() const noexcept { return init_mask_; }

  /// Once, before progress(): who the peer is and what was agreed.
  void begin(const QpFacts& own, const QpFacts& peer, const Agreement& agreement);
  /// Handles what has happened; true once the connection stands.
  Result<bool> progress(std::chrono::milliseconds left);
  /// Ends the connection; the queue pair leaves RTS by it.
  void disconnect() noexcept;

private:
  enum class Step : std::uint8_t { listening, start_dial, address, route, reply, request, use, connected };

  explicit CmEnd(Verbs& verbs) noexcept : verbs_(verbs) {}
  Result<void> dial();
  Result<void> resolve();
  /// `unwanted` is set to the id of a caller that is not the peer.
  Result<void> handle(const rdma_cm_event& event, std::chrono::milliseconds left, rdma_cm_id*& unwanted);
  Result<void> accept(const rdma_cm_event& event, rdma_cm_id*& unwanted);
  rdma_conn_param parameters() noexcept;
  Failure failed(std::string_view what, int error) const;
  void stop_listening() noexcept;

  Verbs& verbs_;
  IpAddress address_{};
  std::uint16_t port_ = 0;
  ibv_qp_attr init_attributes_{};
  int init_mask_ = 0;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* listener_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  Step step_ = Step::listening;
  QpFacts own_;
  QpFacts peer_;
  Agreement agreement_;
  std::array<std::uint8_t, 16> greeting_{};
};

}  // namespace verbena
