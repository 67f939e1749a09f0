// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/generic/wqe_units.hpp"

#include <algorithm>
#include <array>

#include "backends/ring_math.hpp"
#include "backends/sentence.hpp"

namespace verbena {
namespace {

using ring::param;

enum Param : std::size_t {
  kRing,
  kUnit,
  kHeader,
  kPerSge,
  kInlineHeader,
  kHidden,
  kPowerOfTwo,
  kMaxUnits,
  kRecvRing,
  kRecvHeader,
  kRecvHidden
};
constexpr std::int64_t kMost = std::int64_t{1} << 32;
constexpr std::array<ParamInfo, 11> kParams{{
    {"ring", kMost, 1, kMost, "units of the largest send queue; left out, nothing bounds it here"},
    {"unit", 64, 1, 4096, "bytes of one unit"},
    {"header", 0, 0, 4096, "bytes of a send WQE before its SGEs"},
    {"per_sge", 16, 1, 256, "bytes of one SGE"},
    {"inline_header", 0, 0, 4096, "bytes of a send WQE before its inline data"},
    {"hidden", 0, 0, kMost, "send units that the driver keeps for itself"},
    {"power_of_two", 0, 0, 1, "1: the depth is rounded down to a power of two"},
    {"max_units", kMost, 1, kMost, "units of the largest WQE"},
    {"recv_ring", kMost, 1, kMost, "units of the largest receive queue; left out, nothing bounds it here"},
    {"recv_header", 0, 0, 4096, "bytes of a receive WQE before its SGEs"},
    {"recv_hidden", 0, 0, kMost, "receive units that the driver keeps for itself"},
}};

std::uint64_t wqe_units(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  const std::uint64_t unit = std::max<std::uint64_t>(param(params, kUnit), 1);
  const std::uint64_t sges = param(params, kPerSge) * shape.sge;
  std::uint64_t bytes = param(params, queue == Queue::send ? kHeader : kRecvHeader) + sges;
  if (queue == Queue::send && shape.inline_data > 0)
    bytes = std::max(bytes, param(params, kInlineHeader) + shape.inline_data);
  return std::max<std::uint64_t>((bytes + unit - 1) / unit, 1);
}

std::uint64_t max_wr(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  const std::uint64_t size = wqe_units(params, queue, shape);
  if (queue == Queue::send && size > param(params, kMaxUnits)) return 0;
  const std::uint64_t ring = param(params, queue == Queue::send ? kRing : kRecvRing);
  const std::uint64_t hidden = param(params, queue == Queue::send ? kHidden : kRecvHidden);
  if (ring >= static_cast<std::uint64_t>(kMost)) return ring::kTop;
  const std::uint64_t wr = ring <= hidden ? 0 : (ring - hidden) / size;
  return param(params, kPowerOfTwo) != 0 && wr > 0 ? std::bit_floor(wr) : wr;
}

std::uint64_t ring_bytes(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) noexcept {
  if (wr == 0) return 0;
  const std::uint64_t hidden = param(params, queue == Queue::send ? kHidden : kRecvHidden);
  return ring::multiply(ring::add(ring::multiply(wr, wqe_units(params, queue, shape)), hidden), param(params, kUnit));
}

std::string explain(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) {
  const bool send = queue == Queue::send;
  const std::uint64_t size = wqe_units(params, queue, shape);
  const std::uint64_t ring = param(params, send ? kRing : kRecvRing);
  const std::uint64_t hidden = param(params, send ? kHidden : kRecvHidden);
  Sentence says;
  if (send) {
    says.add(FMT_COMPILE("a send WQE for {} SGEs and {} inline bytes"), shape.sge, shape.inline_data);
  } else {
    says.add(FMT_COMPILE("a receive WQE for {} SGEs"), shape.sge);
  }
  if (send && size > param(params, kMaxUnits)) {
    return says
        .add(FMT_COMPILE(" needs {} units of {} bytes, and the largest has {}"), size, param(params, kUnit),
             param(params, kMaxUnits))
        .text();
  }
  says.add(FMT_COMPILE(" takes {} units of {} bytes; "), size, param(params, kUnit));
  if (ring >= static_cast<std::uint64_t>(kMost))
    return says.add(FMT_COMPILE("no ring bounds how many (asked: {})"), wr).text();
  const std::uint64_t whole = ring <= hidden ? 0 : (ring - hidden) / size;
  const std::uint64_t most = max_wr(params, queue, shape);
  says.add(FMT_COMPILE("the ring has {}, of which the driver keeps {}, and ({} - {}) / {} = {} WQEs"), ring, hidden,
           ring, hidden, size, whole);
  if (most < whole) says.add(FMT_COMPILE(", rounded down to a power of two {}"), most);
  return says.add(FMT_COMPILE(" (asked: {})"), wr).text();
}

}  // namespace

const JointFormula kWqeUnits{"wqe_units", "Depth, SGEs and inline bytes of a queue share a ring of units of one size",
                             kParams,     max_wr,
                             ring_bytes,  explain};

}  // namespace verbena
