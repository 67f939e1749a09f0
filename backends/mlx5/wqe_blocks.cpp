// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/wqe_blocks.hpp"

#include <algorithm>
#include <array>

#include "backends/ring_math.hpp"
#include "backends/sentence.hpp"

namespace verbena::mlx5 {
namespace {

using ring::param;

// Segment sizes in bytes: rdma-core providers/mlx5/wqe.h.
constexpr std::uint64_t kBlock = 64;
constexpr std::uint64_t kSge = 16;
constexpr std::uint64_t kControl = 16, kRemoteAddress = 16, kAtomic = 16, kDatagram = 48;
constexpr std::uint64_t kUmrControl = 48, kMkeyContext = 64, kUmrLists = 64;
constexpr std::uint64_t kInlineHeader = 4;

enum Param : std::size_t { kMaxBlocks, kMaxDescBytes, kMaxRecvWr, kMaxRecvDescBytes };
constexpr std::array<ParamInfo, 4> kParams{{
    {"max_blocks", 32768, 1, 1 << 24, "64-byte blocks of the largest send queue (log_max_qp_sz of the firmware)"},
    {"max_desc_bytes", 1024, 64, 4096, "bytes of the largest send WQE"},
    {"max_recv_wr", 32768, 1, 1 << 24, "entries of the largest receive queue"},
    {"max_recv_desc_bytes", 512, 16, 4096, "bytes of the largest receive WQE"},
}};

/// Operations that the driver has to make room for. What is not declared when the QP is made counts as all that the
/// type can do.
bool may_post(const QueueShape& shape, std::uint64_t ops) noexcept {
  return !shape.ops_declared || shape.ops.is_all() || (shape.ops.bits & ops) != 0;
}

std::uint64_t recv_wqe_bytes(std::uint32_t sge) noexcept {
  return ring::power_of_two(kSge * std::max<std::uint64_t>(sge, 1));
}

bool fits_one_wqe(const JointParams& params, const QueueShape& shape) noexcept {
  const std::uint64_t bytes = param(params, kMaxDescBytes);
  const std::uint64_t overhead = send_overhead(shape);
  if (overhead > bytes) return false;
  return shape.sge <= (bytes - overhead) / kSge && send_wqe_bytes(shape) <= bytes;
}

std::uint64_t max_wr(const JointParams& params, Queue queue, const QueueShape& shape) noexcept {
  if (queue != Queue::send) {
    if (kSge * std::max<std::uint64_t>(shape.sge, 1) > param(params, kMaxRecvDescBytes)) return 0;
    return param(params, kMaxRecvWr);
  }
  if (!fits_one_wqe(params, shape)) return 0;
  // The ring is a power of two of bytes, so that the largest one is the bound rounded down to one.
  const std::uint64_t bytes = std::bit_floor(param(params, kMaxBlocks)) * kBlock;
  return bytes / send_wqe_bytes(shape);
}

std::uint64_t ring_bytes(const JointParams&, Queue queue, const QueueShape& shape, std::uint64_t wr) noexcept {
  if (wr == 0) return 0;
  if (queue != Queue::send) return std::max(kBlock, ring::multiply(ring::power_of_two(wr), recv_wqe_bytes(shape.sge)));
  return ring::power_of_two(ring::multiply(wr, send_wqe_bytes(shape)));
}

std::string explain(const JointParams& params, Queue queue, const QueueShape& shape, std::uint64_t wr) {
  Sentence says;
  if (queue != Queue::send) {
    says.add(FMT_COMPILE("a receive WQE with {} SGEs takes {} of at most {} bytes; the queue holds at most {}"),
             shape.sge, recv_wqe_bytes(shape.sge), param(params, kMaxRecvDescBytes), param(params, kMaxRecvWr));
    return says.text();
  }
  const std::uint64_t overhead = send_overhead(shape);
  const std::uint64_t wqe = send_wqe_bytes(shape);
  const bool fits = fits_one_wqe(params, shape);
  if (fits) {
    says.add(FMT_COMPILE("a send WQE takes the larger of {} + {} x {} for SGEs"), overhead, shape.sge, kSge);
  } else {
    says.add(FMT_COMPILE("a send WQE needs {} + {} x {} for SGEs"), overhead, shape.sge, kSge);
  }
  if (shape.inline_data != 0) {
    says.add(FMT_COMPILE(", {} + align16({} + {}) for inline bytes"), overhead, kInlineHeader, shape.inline_data);
  }
  if (!fits)
    return says.add(FMT_COMPILE(": {} bytes, and the largest has {}"), wqe, param(params, kMaxDescBytes)).text();
  const std::uint64_t bytes = std::bit_floor(param(params, kMaxBlocks)) * kBlock;
  return says
      .add(FMT_COMPILE(", in blocks of {}: {} bytes; the ring has {} blocks x {} = {} bytes, and {} / {} = {} WQEs "
                       "(asked: {})"),
           kBlock, wqe, bytes / kBlock, kBlock, bytes, bytes, wqe, bytes / wqe, wr)
      .text();
}

}  // namespace

std::uint64_t send_overhead(const QueueShape& shape) noexcept {
  std::uint64_t bytes = kControl;
  const bool datagram = shape.type == QpType::ud;
  if (!datagram) {
    if (may_post(shape, SendOps::kRdmaWrite | SendOps::kRdmaWriteWithImm | SendOps::kRdmaRead))
      bytes = std::max(bytes, kControl + kRemoteAddress);
    if (may_post(shape, SendOps::kCompareSwap | SendOps::kFetchAdd))
      bytes = std::max(bytes, kControl + kRemoteAddress + kAtomic);
    if (may_post(shape, SendOps::kLocalInv | SendOps::kBindMw))
      bytes = std::max(bytes, kControl + kUmrControl + kMkeyContext + kUmrLists);
  }
  return datagram ? bytes + kDatagram : bytes;
}

std::uint64_t send_wqe_bytes(const QueueShape& shape) noexcept {
  const std::uint64_t overhead = send_overhead(shape);
  const std::uint64_t with_sges = overhead + kSge * shape.sge;
  const std::uint64_t with_inline =
      shape.inline_data == 0 ? 0 : overhead + ring::align(kInlineHeader + shape.inline_data, 16);
  return ring::align(std::max(with_sges, with_inline), kBlock);
}

const JointFormula kWqeBlocks{
    "mlx5_wqe_blocks", "Depth, SGEs and inline bytes of a send queue share a ring of 64-byte blocks",
    kParams,           max_wr,
    ring_bytes,        explain};

}  // namespace verbena::mlx5
