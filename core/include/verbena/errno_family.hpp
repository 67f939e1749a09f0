// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// What an errno of a verbs call means, as far as it can be told without knowing the driver. One situation has many
/// errnos: "too big" is EINVAL on most drivers, ENOMEM on siw and mlx5's kernel part, E2BIG on cxgb4, EIO on erdma,
/// EFAULT on qedr (creation that finds no memory); a missing verb is EOPNOTSUPP, and was ENOSYS before rdma-core 28.
/// Sources: rdma-core libibverbs/dummy_ops.c and the create functions of each provider; kernel drivers/infiniband/hw.
enum class ErrnoFamily : std::uint8_t {
  none,         ///< 0: no error
  limit,        ///< a number or an argument that the driver does not take
  unsupported,  ///< the driver has no such thing
  memory,  ///< out of memory or, more often, of lockable memory (RLIMIT_MEMLOCK); on some drivers also 'too big'
  permission,  ///< the process lacks a right
  gone,  ///< the device was removed
  io,  ///< EIO: the hardware or its firmware failed; a removed device answers so too, and erdma at a limit
  again,  ///< busy or interrupted: the same call may succeed later
  other,
};
std::string_view name(ErrnoFamily family) noexcept;

/// The positive errno behind a return value: siw, erdma, cxgb4, qedr, bnxt_re in part, and hns before 2022-12 return
/// it negated from their post functions.
constexpr int normalise_errno(int returned) noexcept {
  if (returned >= 0) return returned;
  return returned < -4095 ? 4095 : -returned;  // the kernel's own bound on errno values
}

/// The family of an errno, negated or not.
ErrnoFamily errno_family(int errno_value) noexcept;

/// Whether a creation that failed so may succeed with smaller numbers: the limit, memory, unsupported and io families.
bool may_be_too_much(int errno_value) noexcept;

/// `EINVAL`; `?` for a value that has no name here.
std::string_view errno_name(int errno_value) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
