// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/send_ops.hpp"

#include <array>

#include <fmt/format.h>

namespace verbena::fitting {
namespace {

struct Op {
  std::uint64_t bit;
  Feature feature;
  bool rc, uc, ud;   ///< which types know it. Source: man ibv_post_send, table of opcodes and transport types
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
/// IBV_QP_EX_WITH_TSO: no feature of a contract, but verbs' own.
constexpr std::uint64_t kTso = std::uint64_t{1} << 10U;

constexpr std::uint64_t known_to_verbs() noexcept {
  std::uint64_t bits = kTso;
  for (const Op& op : kOps) bits |= op.bit;
  return bits;
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
  }
  return std::nullopt;
}

}  // namespace verbena::fitting
