// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rig/traffic.hpp"

namespace conform {

/// A shared receive queue on the second device, with the memory that its receives point at. Ends that use it are made
/// with given().
class Pool {
public:
  static constexpr std::size_t kSlotBytes = 256;
  static constexpr std::size_t kSlots = 64;

  explicit Pool(Case& c, ibv_srq_attr asked = {.max_wr = 16, .max_sge = 1, .srq_limit = 0});

  ibv_srq* srq() const noexcept { return srq_.raw(); }
  Object<ibv_srq>& object() noexcept { return srq_; }
  const ibv_srq_attr& returned() const noexcept { return returned_; }
  /// For LoopShape::b.
  Given given() const noexcept { return {.pd = pd_.raw(), .srq = srq_.raw()}; }
  std::uint8_t* slot(std::size_t index) const noexcept { return memory_.data() + index % kSlots * kSlotBytes; }
  ibv_sge sge(std::size_t index, std::size_t length = kSlotBytes) const noexcept;

  /// Posts a receive of wr_id into the slot of that number; a positive errno or 0.
  int receive(std::uint64_t wr_id) const;
  /// As many, of wr_id `first` and up; a refusal is a finding and ends the case.
  void fill(std::uint32_t count, std::uint64_t first = 1) const;
  /// A list as it stands; `bad` as the driver left it.
  int post(ibv_recv_wr& list, ibv_recv_wr*& bad) const;

private:
  Case& case_;
  Object<ibv_pd> pd_;
  Memory memory_;
  Object<ibv_mr> mr_;
  ibv_srq_attr returned_{};
  Object<ibv_srq> srq_;
};

/// A message from a of `loop` into whichever receive is next; its send is polled. What the receive came to is in b's
/// completion queue.
bool message(Case& c, Loop& loop, std::uint64_t wr_id = 1);
/// `count` of them, each received at b with success.
void consume(Case& c, Loop& loop, std::uint32_t count);

}  // namespace conform
