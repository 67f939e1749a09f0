// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cerrno>

#include "verbena/verbs.hpp"

namespace verbena {

/// Runs a verb that makes something. errno is cleared first: some drivers return null and leave it alone (libhns'
/// reg_mr when its own allocation fails), and what an earlier call left there would be taken for the cause.
template <class Make>
auto made(Make make) noexcept {
  errno = 0;
  auto* handle = make();
  const int code = errno;
  Made<std::remove_pointer_t<decltype(handle)>> result;
  result.handle = handle;
  if (handle == nullptr) {
    result.error = code != 0 ? code : EINVAL;
    result.errno_missing = code == 0;
  }
  return result;
}

/// Runs a verb that returns int, and gives 0 or a positive errno: verbs return a positive errno, or a negative one, or
/// -1 with errno set.
template <class Call>
int outcome(Call call) noexcept {
  errno = 0;
  const int result = call();
  if (result >= 0) return result;
  if (result == -1) return errno != 0 ? errno : EINVAL;
  return -result;
}

}  // namespace verbena
