// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/send_ops.hpp"

#include <array>

#include <fmt/format.h>

namespace verbena::fitting {
namespace {

struct Op {
  std::uint64_t bit;
  Feature feature;
  bool rc, uc, ud;  ///< which types know it. Source: man ibv_post_send, table of opcodes and transport types
};
constexpr std::array<Op, 12> kOps{{
    {SendOps::kRdmaWrite, Feature::rdma_write, true, true, false},
    {SendOps::kRdmaWriteWithImm, Feature::rdma_write_with_imm, true, true, false},
    {SendOps::kSend, Feature::send, true, true, true},
    {SendOps::kSendWithImm, Feature::send_with_imm, true, true, true},
    {SendOps::kRdmaRead, Feature::rdma_read, true, false, false},
    {SendOps::kCompareSwap, Feature::compare_swap, true, false, false},
    {SendOps::kFetchAdd, Feature::fetch_add, true, false, false},
    {SendOps::kLocalInv, Feature::local_inv, true, true, false},
    {SendOps::kBindMw, Feature::bind_mw, true, true, false},
    {SendOps::kSendWithInv, Feature::send_with_inv, true, true, false},
    {SendOps::kFlush, Feature::flush, true, false, false},
    {SendOps::kAtomicWrite, Feature::atomic_write, true, false, false},
}};

constexpr std::uint64_t known_to_verbs() noexcept {
  std::uint64_t bits = SendOps::kTso;
  for (const Op& op : kOps) bits |= op.bit;
  return bits;
}

/// Segmentation is of UD and raw packet queue pairs (man ibv_post_send), and no contract says that a device has it:
/// mlx5, hns and rxe take IBV_QP_EX_WITH_TSO on none of the types here.
Error no_tso(QpType type) {
  Error error;
  error.field = "tso";
  if (type == QpType::ud) {
    error.kind = ErrorKind::unsupported;
    error.by.set_by = SetBy::build;
    error.text = "no contract tells which device segments for ud queue pairs; leave it out";
  } else {
    error.kind = ErrorKind::invalid_request;
    error.by.set_by = SetBy::request;
    error.text = fmt::format("{} queue pairs do not know this opcode (man ibv_post_send)", name(type));
  }
  return error;
}

/// Verbs knows it on UC, and whether a driver does no contract says: mlx5 takes it there, rxe refuses it with
/// EOPNOTSUPP (rdma-core providers/mlx5/qp.c MLX5_SUPPORTED_SEND_OPS_FLAGS_UC, providers/rxe/rxe.c
/// RXE_SUP_UC_QP_SEND_OPS_FLAGS).
Error no_local_inv_on_uc() {
  Error error;
  error.kind = ErrorKind::unsupported;
  error.field = name(Feature::local_inv);
  error.by.set_by = SetBy::build;
  error.text =
      "no contract tells which device takes this opcode on uc queue pairs; leave it out, or ask for an rc queue pair";
  return error;
}

}  // namespace

std::optional<Error> check_send_ops(const QpRequest& request, const Contract& contract) {
  if (request.ops.is_all()) return std::nullopt;
  if (const std::uint64_t strange = request.ops.bits & ~known_to_verbs(); strange != 0) {
    Error error;
    error.kind = ErrorKind::invalid_request;
    error.field = "send_ops";
    error.by.set_by = SetBy::request;
    error.text = fmt::format("{:#x} is no bit of IBV_QP_EX_WITH_*", strange);
    return error;
  }
  if ((request.ops.bits & SendOps::kTso) != 0) return no_tso(request.type);
  for (const Op& op : kOps) {
    if ((request.ops.bits & op.bit) == 0) continue;
    const bool known = request.type == QpType::rc ? op.rc : request.type == QpType::uc ? op.uc : op.ud;
    Error error;
    error.field = name(op.feature);
    if (!known) {
      error.kind = ErrorKind::invalid_request;
      error.by.set_by = SetBy::request;
      error.text = fmt::format("{} queue pairs do not know this opcode (man ibv_post_send)", name(request.type));
      return error;
    }
    if (contract.feature(op.feature).support == Support::absent) {
      error.kind = ErrorKind::unsupported;
      error.by = contract.provenance(contract.feature(op.feature).by);
      error.text = "the device has no such opcode; name only those that you post, or do it another way";
      return error;
    }
    if (op.feature == Feature::local_inv && request.type == QpType::uc) return no_local_inv_on_uc();
  }
  return std::nullopt;
}

}  // namespace verbena::fitting
