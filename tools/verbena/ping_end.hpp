// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session.hpp"
#include "verbena/cq.hpp"
#include "verbena/mr.hpp"
#include "verbena/pd.hpp"
#include "verbena/qp.hpp"

namespace cli {

using Clock = std::chrono::steady_clock;

/// One end of a ping: a queue pair, memory of its own for what it sends and receives, and memory that the peer may
/// read and write.
class End {
public:
  /// Room for a GRH, which a UD receive begins with.
  static constexpr std::size_t kGrhBytes = 40;

  static verbena::Result<std::unique_ptr<End>> make(const Target& target, verbena::QpType type, std::size_t bytes,
                                                    verbena::SendOps ops = verbena::SendOps::all());

  const std::string& name() const noexcept { return name_; }
  const verbena::Contract& contract() const noexcept { return *contract_; }
  const verbena::Caps& caps() const noexcept { return caps_; }
  verbena::Qp& qp() noexcept { return *qp_; }
  const verbena::Pd& pd() const noexcept { return *pd_; }
  const verbena::QpRequest& request() const noexcept { return request_; }

  std::span<std::uint8_t> local() noexcept { return local_; }    ///< sent from and received into
  std::span<std::uint8_t> shared() noexcept { return shared_; }  ///< what the peer reads and writes
  ibv_sge local_sge(std::size_t bytes) noexcept;
  std::uint64_t shared_address() const noexcept { return reinterpret_cast<std::uintptr_t>(shared_.data()); }
  std::uint32_t rkey() const noexcept { return shared_mr_->rkey(); }

  /// Posts one receive of `bytes` into local(). Empty when it was taken, else what went wrong.
  std::string post_receive(std::size_t bytes);
  std::string post_send(ibv_send_wr& wr);
  /// Waits for one completion with IBV_WC_SUCCESS.
  std::string wait(ibv_wc& completion, Clock::time_point deadline);

private:
  std::string name_;
  std::shared_ptr<const verbena::Contract> contract_;
  verbena::Caps caps_;
  verbena::QpRequest request_;
  std::vector<std::uint8_t> local_, shared_;
  std::optional<verbena::Pd> pd_;
  std::optional<verbena::Mr> local_mr_, shared_mr_;
  std::optional<verbena::Cq> cq_;
  std::optional<verbena::Qp> qp_;
};

}  // namespace cli
