// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/joint.hpp"

namespace verbena::mlx5 {

/// A send queue is a ring of 64-byte blocks; a WQE takes as many as its headers, SGEs or inline bytes need.
extern const JointFormula kWqeBlocks;

/// Bytes before the first SGE of a send WQE: what the largest operation that may be posted needs.
/// Source: rdma-core providers/mlx5/verbs.c _sq_overhead.
std::uint64_t send_overhead(const QueueShape& shape) noexcept;
/// Bytes of one send WQE. Source: providers/mlx5/verbs.c mlx5_calc_send_wqe.
std::uint64_t send_wqe_bytes(const QueueShape& shape) noexcept;

}  // namespace verbena::mlx5
