// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/irdma/quanta.hpp"

#include <algorithm>
#include <array>

#include "backends/ring_math.hpp"
#include "backends/sentence.hpp"

namespace verbena::irdma {
namespace {

using ring::param;

constexpr std::uint64_t kQuantum = 32;
/// A receive of an X722 takes four quanta whatever its SGEs.
/// Source: kernel hw/irdma/uk.c irdma_uk_calc_depth_shift_rq (ABI above 4).
constexpr std::uint64_t kGen1RecvQuanta = 4;

enum Param : std::size_t { kRing, kRecvRing, kHidden, kRecvHidden, kImmSge, kMinRing, kGeneration };
constexpr std::array<ParamInfo, 7> kParams{{
    {"ring", 32768, 1, 1 << 24, "quanta of the largest send queue"},
    {"recv_ring", 32768, 1, 1 << 24, "quanta of the largest receive queue"},
    {"hidden", 258, 0, 65536, "send quanta that the driver keeps for itself"},
    {"recv_hidden", 1, 0, 65536, "receive quanta that the driver keeps for itself"},
    {"imm_sge", 1, 0, 1, "1: room for immediate data counts as one SGE more"},
    {"min_ring", 8, 1, 65536, "WQEs of the smallest ring"},
    {"generation", 2, 1, 2, "1: X722, with WQEs of up to 4 quanta; 2: E810 and later, with up to 8"},
}};

/// Quanta of one WQE. Source: kernel hw/irdma/uk.c irdma_get_wqe_shift.
std::uint64_t quanta(const JointParams& params, std::uint64_t sge, std::uint32_t inline_data) noexcept {
  if (param(params, kGeneration) == 1) {
    if (sge <= 1 && inline_data <= 16) return 1;
    if (sge < 4 && inline_data <= 48) return 2;
    return 4;
  }
  if (sge <= 1 && inline_data <= 8) return 1;
  if (sge < 4 && inline_data <= 39) return 2;
  if (sge < 8 && inline_data <= 101) return 4;
  return 8;
}

std::uint64_t wqe_quanta(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  if (queue == Queue::send) return quanta(params, shape.sge + param(params, kImmSge), shape.inline_data);
  if (param(params, kGeneration) == 1) return kGen1RecvQuanta;
  return quanta(params, shape.sge, 0);
}

std::uint64_t ring_of(const JointParams& params, Queue queue) noexcept {
  return param(params, queue == Queue::send ? kRing : kRecvRing);
}
std::uint64_t hidden_of(const JointParams& params, Queue queue) noexcept {
  return param(params, queue == Queue::send ? kHidden : kRecvHidden);
}

std::uint64_t max_wr(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  // The ring is a power of two of quanta, so that the largest one is the bound rounded down to one.
  const std::uint64_t ring = std::bit_floor(ring_of(params, queue));
  const std::uint64_t hidden = hidden_of(params, queue);
  return ring <= hidden ? 0 : (ring - hidden) / wqe_quanta(params, queue, shape);
}

std::uint64_t ring_bytes(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) noexcept {
  const std::uint64_t size = wqe_quanta(params, queue, shape);
  const std::uint64_t used = ring::power_of_two(ring::add(ring::multiply(wr, size), hidden_of(params, queue)));
  return ring::multiply(std::max(used, param(params, kMinRing) * size), kQuantum);
}

std::string explain(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) {
  const std::uint64_t size = wqe_quanta(params, queue, shape);
  const std::uint64_t ring = std::bit_floor(ring_of(params, queue));
  const std::uint64_t hidden = hidden_of(params, queue);
  Sentence says;
  if (queue == Queue::send) {
    says.add(FMT_COMPILE("a send WQE for {} SGEs{} and {} inline bytes"), shape.sge,
             param(params, kImmSge) != 0 ? " and immediate data" : "", shape.inline_data);
  } else {
    says.add(FMT_COMPILE("a receive WQE for {} SGEs"), shape.sge);
  }
  return says
      .add(FMT_COMPILE(" takes {} quanta of {} bytes; the ring has {} quanta, of which the driver keeps {}, and ({} - "
                       "{}) / {} = {} WQEs (asked: {})"),
           size, kQuantum, ring, hidden, ring, hidden, size, ring <= hidden ? 0 : (ring - hidden) / size, wr)
      .text();
}

}  // namespace

const JointFormula kQuanta{
    "irdma_quanta", "Depth, SGEs and inline bytes of a queue share a ring of 32-byte quanta, some of them hidden",
    kParams,        max_wr,
    ring_bytes,     explain};

}  // namespace verbena::irdma
