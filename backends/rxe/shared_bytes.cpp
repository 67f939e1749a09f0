// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/rxe/shared_bytes.hpp"

#include <algorithm>
#include <array>

#include "backends/ring_math.hpp"
#include "backends/sentence.hpp"

namespace verbena::rxe {
namespace {

using ring::param;

constexpr std::uint64_t kSge = 16;
/// struct rxe_send_wqe and rxe_recv_wqe before their SGEs, and the ring's own header.
/// Source: kernel include/uapi/rdma/rdma_user_rxe.h; sw/rxe/rxe_queue.c rxe_queue_init.
constexpr std::uint64_t kSendHeader = 208, kRecvHeader = 40, kQueueHeader = 384;

enum Param : std::size_t { kMaxBytes, kMaxWr };
constexpr std::array<ParamInfo, 2> kParams{{
    {"max_bytes", 512, 16, 65536, "bytes of a send WQE that SGEs or inline data may take"},
    {"max_wr", 1048576, 1, 1 << 24, "entries of the largest queue"},
}};

std::uint64_t shared_bytes(const QueueShape& shape) noexcept {
  return std::max<std::uint64_t>(kSge * shape.sge, shape.inline_data);
}

std::uint64_t max_wr(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  if (queue == Queue::send && shared_bytes(shape) > param(params, kMaxBytes)) return 0;
  return param(params, kMaxWr);
}

std::uint64_t ring_bytes(const JointParams&, Queue queue, const QueueShape& shape, std::uint64_t wr) noexcept {
  if (wr == 0) return 0;
  const std::uint64_t element =
      ring::power_of_two(queue == Queue::send ? kSendHeader + shared_bytes(shape) : kRecvHeader + kSge * shape.sge);
  return ring::add(ring::multiply(ring::power_of_two(ring::add(wr, 1)), element), kQueueHeader);
}

std::string explain(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) {
  Sentence says;
  if (queue != Queue::send) {
    return says.add(FMT_COMPILE("a queue holds at most {} receives (asked: {})"), param(params, kMaxWr), wr).text();
  }
  return says
      .add(FMT_COMPILE("a send WQE shares {} bytes: the larger of {} x {} for SGEs and {} inline bytes is {}; a queue "
                       "holds at most {} (asked: {})"),
           param(params, kMaxBytes), shape.sge, kSge, shape.inline_data, shared_bytes(shape), param(params, kMaxWr), wr)
      .text();
}

}  // namespace

const JointFormula kSharedBytes{"rxe_shared_bytes",
                                "SGEs and inline bytes of a send WQE share the same bytes",
                                kParams,
                                max_wr,
                                ring_bytes,
                                explain};

}  // namespace verbena::rxe
