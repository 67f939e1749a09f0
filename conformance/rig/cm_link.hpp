// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rig/loop.hpp"

namespace conform {

/// What an event of rdma_cm said; it was acknowledged.
struct CmTold {
  rdma_cm_event_type type = RDMA_CM_EVENT_CONNECT_ERROR;
  int status = 0;
  std::vector<std::uint8_t> private_data{};
  unsigned responder_resources = 0;
  unsigned initiator_depth = 0;
};

/// The connection of a Loop's two ends over rdma_cm, step by step: one dials, the other one listens. Its queue pairs
/// are the Loop's, named by their numbers, so that each column has those of its own.
class CmLink {
public:
  /// Both ends in INIT, the one listening, the other one with a route to it. What fails ends the case.
  CmLink(Case& c, Loop& loop, End& dials, End& listens);
  /// The first end dials.
  CmLink(Case& c, Loop& loop) : CmLink(c, loop, loop.a(), loop.b()) {}
  CmLink(const CmLink&) = delete;
  CmLink& operator=(const CmLink&) = delete;
  ~CmLink();

  /// The end's number and modest depths.
  rdma_conn_param terms(const End& end) const;
  int connect(rdma_conn_param terms);
  /// The request that reaches the second end, which can be answered then.
  std::optional<CmTold> request();
  int accept(rdma_conn_param terms);
  int reject(std::span<const std::uint8_t> why);
  /// The next event of the side that dialled, or of the other one; empty when none came in time.
  std::optional<CmTold> dialler();
  std::optional<CmTold> listener();
  int disconnect(bool by_dialler);

  /// The ids, for queue pairs that librdmacm makes itself; they stay this object's. The listening side's is there
  /// after request().
  rdma_cm_id* caller() const noexcept { return caller_; }
  rdma_cm_id* answering() const noexcept { return answering_; }

  /// All of it: connected, and both sides told so; ends the case where that fails.
  void establish();

private:
  std::optional<CmTold> next(rdma_event_channel* channel);
  bool resolve(rdma_cm_id* id, const End& from, const End& to);

  Case& case_;
  End& dials_;
  End& listens_;
  rdma_event_channel* calling_ = nullptr;
  rdma_event_channel* called_ = nullptr;
  rdma_cm_id* caller_ = nullptr;
  rdma_cm_id* listener_ = nullptr;
  rdma_cm_id* answering_ = nullptr;
};

/// The interface whose IP addresses lead to that port by rdma_cm; empty where there is none.
std::string cm_interface(Case& c, const verbena::Device& device, std::uint8_t port);
/// A socket address of the end's own interface; ends the case as blocked where it has none.
sockaddr_storage cm_address(Case& c, const End& end, std::uint16_t port = 0);
/// The name of an event, for findings.
std::string_view cm_event_name(Case& c, const std::optional<CmTold>& told);
/// Whether that event came; else a finding.
bool told(Case& c, const std::optional<CmTold>& event, rdma_cm_event_type type, std::string_view what);

}  // namespace conform
