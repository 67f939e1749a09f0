// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "tuple.hpp"
#include "verbena/contract.hpp"

namespace agreement {

/// What the queues of a new object really take: posted to until they refuse. On a shell nothing ever completes.
class Posting {
public:
  explicit Posting(const verbena::Contract& contract) : contract_(&contract) {}
  ~Posting();
  Posting(const Posting&) = delete;
  Posting& operator=(const Posting&) = delete;

  /// Memory, GID and address handle. Without a GID queue pairs stay in INIT and only receives are posted.
  bool start(ibv_pd* pd);

  /// What falls short of `granted`; one sentence each. A QP that the device leaves below RTS (iWARP) gets receives
  /// only, unless its driver takes sends all the same.
  std::vector<std::string> fill(ibv_qp* qp, const Tuple& tuple, const Numbers& granted, const Outcome& made);
  std::vector<std::string> fill(ibv_srq* srq, const Numbers& granted, const Outcome& made);
  /// Is one send of that many inline bytes taken?
  std::optional<bool> takes_inline(ibv_qp* qp, const Tuple& tuple, std::uint32_t bytes);
  /// Is one send, or one receive, of that many SGEs taken?
  std::optional<bool> takes_sges(ibv_qp* qp, const Tuple& tuple, bool send, std::uint32_t count);
  bool takes_sges(ibv_srq* srq, std::uint32_t count);

  unsigned long posted() const noexcept { return posted_; }
  /// Work requests with more SGEs or inline bytes than creation returned, which were taken all the same.
  unsigned surplus() const noexcept { return surplus_; }
  /// QPs whose sends went through the work request builder.
  unsigned built() const noexcept { return built_; }

private:
  bool to_rts(ibv_qp* qp, const Tuple& tuple);
  /// As near to RTS as the device lets it: can sends be posted?
  bool ready(ibv_qp* qp, const Tuple& tuple);
  ibv_ah* address();

  ibv_pd* pd_ = nullptr;
  const verbena::Contract* contract_;
  ibv_mr* mr_ = nullptr;
  ibv_ah* ah_ = nullptr;
  bool no_ah_ = false;
  std::vector<char> memory_;
  std::optional<ibv_gid> gid_;
  unsigned long posted_ = 0;
  unsigned surplus_ = 0, built_ = 0;
};

}  // namespace agreement
