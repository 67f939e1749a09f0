// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/hns/extended_sge.hpp"

#include <algorithm>
#include <array>

#include "backends/ring_math.hpp"
#include "backends/sentence.hpp"

namespace verbena::hns {
namespace {

using ring::param;

constexpr std::uint64_t kWqe = 64, kSge = 16, kSgesInWqe = 2;
// The extended area takes at least one page of the hardware's own size, whatever the host's page is.
constexpr std::uint64_t kLeastExtended = 256;

enum Param : std::size_t { kFloor, kReservedRecvSge, kInlineInExtended, kInlineInWqe, kInlineBySges };
constexpr std::array<ParamInfo, 5> kParams{{
    {"floor", 64, 1, 65536, "entries of the smallest queue"},
    {"reserved_recv_sge", 0, 0, 1, "receive SGEs that the driver keeps (1 on HIP08)"},
    {"inline_in_extended", 0, 0, 1, "1: inline bytes beyond the WQE lie in the extended area (HIP09)"},
    {"inline_in_wqe", 32, 0, 64, "inline bytes that a WQE holds itself"},
    {"inline_by_sges", 0, 0, 1, "1: inline bytes beyond the WQE get the room of the SGEs alone (libraries before 46)"},
}};

/// Extended SGEs of one WQE. Source: rdma-core providers/hns/hns_roce_u_verbs.c set_ext_sge_param.
std::uint64_t extended(const JointParams& params, const QueueShape& shape) noexcept {
  const bool datagram = shape.type == QpType::ud;
  const std::uint64_t in_wqe = datagram ? 0 : kSgesInWqe;
  const std::uint64_t sges = shape.sge > in_wqe ? shape.sge - in_wqe : datagram ? 1 : 0;
  std::uint64_t inline_sges = 0;
  if (param(params, kInlineInExtended) != 0 && shape.inline_data > (datagram ? 0 : param(params, kInlineInWqe)))
    inline_sges = ring::power_of_two(shape.inline_data) / kSge;
  const std::uint64_t count = std::max(sges, inline_sges);
  return count == 0 ? 0 : ring::power_of_two(count);
}

/// Most inline bytes where they have no room of their own: what the WQE holds, or on UD, whose WQE holds 8, one SGE.
/// More SGEs would carry more, but a grant of inline bytes must hold whatever the SGEs are.
/// Source: rdma-core 44 providers/hns/hns_roce_u_hw_v2.c set_rc_inl, set_ud_inl, fill_ext_sge_inl_data.
std::uint64_t inline_room(const JointParams& params, const QueueShape& shape) noexcept {
  if (param(params, kInlineBySges) == 0) return ring::kTop;
  return shape.type == QpType::ud ? kSge : param(params, kInlineInWqe);
}

std::uint64_t max_wr(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  if (queue == Queue::send && shape.inline_data > inline_room(params, shape)) return 0;
  return ring::kTop;  // the extended area grows with the queue: SGEs cost memory, not depth
}

std::uint64_t ring_bytes(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) noexcept {
  if (wr == 0) return 0;
  const std::uint64_t entries = std::max(param(params, kFloor), ring::power_of_two(wr));
  if (queue != Queue::send)
    return ring::multiply(entries,
                          kSge * ring::power_of_two(std::uint64_t{shape.sge} + param(params, kReservedRecvSge)));
  const std::uint64_t each = extended(params, shape);
  const std::uint64_t area =
      each == 0 ? 0 : std::max(ring::power_of_two(ring::multiply(entries, each)), kLeastExtended);
  return ring::add(ring::multiply(entries, kWqe), ring::multiply(area, kSge));
}

std::string explain(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) {
  const std::uint64_t entries = std::max(param(params, kFloor), ring::power_of_two(wr));
  Sentence says;
  if (queue != Queue::send) {
    return says
        .add(FMT_COMPILE("{} receives take a ring of {} entries with {} SGEs each"), wr, entries,
             ring::power_of_two(std::uint64_t{shape.sge} + param(params, kReservedRecvSge)))
        .text();
  }
  if (shape.inline_data > inline_room(params, shape)) {
    return says
        .add(FMT_COMPILE("{} inline bytes are refused when they are posted: this library has room for {}"),
             shape.inline_data, inline_room(params, shape))
        .text();
  }
  return says
      .add(FMT_COMPILE("{} sends take a ring of {} entries of {} bytes and {} extended SGEs each"), wr, entries, kWqe,
           extended(params, shape))
      .text();
}

}  // namespace

const JointFormula kExtendedSge{"hns_extended_sge",
                                "Queues have at least 64 entries; SGEs and inline bytes beyond a WQE lie in an area of "
                                "their own",
                                kParams,
                                max_wr,
                                ring_bytes,
                                explain};

}  // namespace verbena::hns
