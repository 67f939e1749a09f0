// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/hca_caps.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "backends/mlx5/direct_verbs.hpp"
#include "verbena/errno_family.hpp"

namespace verbena::mlx5 {
namespace {

// linux include/linux/mlx5/mlx5_ifc.h: QUERY_HCA_CAP, its two mailboxes and struct cmd_hca_cap; all big-endian.
constexpr std::uint16_t kQueryHcaCap = 0x100;
constexpr std::uint16_t kGeneralDeviceCurrent = 1;  // op_mod: capability type 0, the values in force
constexpr std::size_t kRequestBytes = 16;
constexpr std::size_t kAnswerHeader = 16;
constexpr std::size_t kAnswerBytes = kAnswerHeader + (0x8000 / 8);  // union hca_cap_union is 0x8000 bits
constexpr std::size_t kLogMaxQpSize = 0x88 / 8;
constexpr std::size_t kMaxWqeBytesSend = 0x290 / 8;
constexpr std::size_t kMaxWqeBytesReceive = 0x2b0 / 8;

using GeneralCommand = int (*)(ibv_context*, const void*, std::size_t, void*, std::size_t);

std::uint32_t big16(const std::uint8_t* bytes) {
  return (std::uint32_t{bytes[0]} << 8) | bytes[1];
}

bool sane_wqe(std::uint32_t bytes) {
  return bytes >= 64 && bytes % 16 == 0;
}

}  // namespace

int probe_hca_caps(Verbs& verbs, ibv_context* context, Caps& caps) {
  const auto command = function_of<GeneralCommand>(verbs, "mlx5dv_devx_general_cmd");
  if (command == nullptr || !serves(verbs, context->device)) return ENOSYS;

  std::array<std::uint8_t, kRequestBytes> request{};
  request[0] = kQueryHcaCap >> 8;
  request[1] = kQueryHcaCap & 0xff;
  request[7] = kGeneralDeviceCurrent;
  std::array<std::uint8_t, kAnswerBytes> answer{};
  if (const int error = command(context, request.data(), request.size(), answer.data(), answer.size()); error != 0)
    return normalise_errno(error);
  if (answer[0] != 0) return EREMOTEIO;  // the command's own status; libmlx5 gives the same errno for it
  const std::uint8_t* const hca = answer.data() + kAnswerHeader;

  const unsigned log_blocks = hca[kLogMaxQpSize];
  // The declared depth counts blocks, or on newer kernels a quarter of them: it never exceeds them.
  if (log_blocks < 6 || log_blocks >= 32 || (std::uint64_t{1} << log_blocks) < caps[Cap::max_qp_wr].value_or(0))
    return EPROTO;
  caps.set(Cap::max_send_wqebb, std::uint64_t{1} << log_blocks);
  if (const auto bytes = big16(hca + kMaxWqeBytesSend); sane_wqe(bytes)) caps.set(Cap::max_sq_desc_bytes, bytes);
  if (const auto bytes = big16(hca + kMaxWqeBytesReceive); sane_wqe(bytes)) caps.set(Cap::max_rq_desc_bytes, bytes);
  return 0;
}

}  // namespace verbena::mlx5
