// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/errno_family.hpp"

#include <array>
#include <cerrno>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<9> kFamilies{"none", "limit", "unsupported", "memory", "permission",
                                        "gone", "io",    "again",       "other"};
static_assert(names::word_of(kFamilies, ErrnoFamily::other) == "other");

struct ErrnoInfo {
  int value;
  std::string_view name;
  ErrnoFamily family;
};

// EOPNOTSUPP and ENOTSUP are one number on Linux.
constexpr std::array<ErrnoInfo, 34> kErrnos{{
    {EINVAL, "EINVAL", ErrnoFamily::limit},
    {E2BIG, "E2BIG", ErrnoFamily::limit},
    {ERANGE, "ERANGE", ErrnoFamily::limit},
    {EOVERFLOW, "EOVERFLOW", ErrnoFamily::limit},
    {ENOSPC, "ENOSPC", ErrnoFamily::limit},
    {EFAULT, "EFAULT", ErrnoFamily::memory},
    {ENOMEM, "ENOMEM", ErrnoFamily::memory},
    {ENOBUFS, "ENOBUFS", ErrnoFamily::memory},
    {EOPNOTSUPP, "EOPNOTSUPP", ErrnoFamily::unsupported},
    {ENOSYS, "ENOSYS", ErrnoFamily::unsupported},
    {EPROTONOSUPPORT, "EPROTONOSUPPORT", ErrnoFamily::unsupported},
    {ENOTTY, "ENOTTY", ErrnoFamily::unsupported},
    {EPERM, "EPERM", ErrnoFamily::permission},
    {EACCES, "EACCES", ErrnoFamily::permission},
    {ENODEV, "ENODEV", ErrnoFamily::gone},
    {ENXIO, "ENXIO", ErrnoFamily::gone},
    {EIO, "EIO", ErrnoFamily::io},
    {EAGAIN, "EAGAIN", ErrnoFamily::again},
    {EBUSY, "EBUSY", ErrnoFamily::again},
    {EINTR, "EINTR", ErrnoFamily::again},
    {ENOENT, "ENOENT", ErrnoFamily::other},
    {EBADF, "EBADF", ErrnoFamily::other},
    {EEXIST, "EEXIST", ErrnoFamily::other},
    {EMFILE, "EMFILE", ErrnoFamily::other},
    {ENFILE, "ENFILE", ErrnoFamily::other},
    {ETIMEDOUT, "ETIMEDOUT", ErrnoFamily::other},
    {ECONNREFUSED, "ECONNREFUSED", ErrnoFamily::other},
    {ECONNRESET, "ECONNRESET", ErrnoFamily::other},
    {EADDRINUSE, "EADDRINUSE", ErrnoFamily::other},
    {EADDRNOTAVAIL, "EADDRNOTAVAIL", ErrnoFamily::other},
    {ENETUNREACH, "ENETUNREACH", ErrnoFamily::other},
    {EHOSTUNREACH, "EHOSTUNREACH", ErrnoFamily::other},
    {EPROTO, "EPROTO", ErrnoFamily::other},
    {ENODATA, "ENODATA", ErrnoFamily::other},
}};

const ErrnoInfo* find(int errno_value) noexcept {
  const int value = normalise_errno(errno_value);
  for (const ErrnoInfo& entry : kErrnos) {
    if (entry.value == value) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string_view name(ErrnoFamily family) noexcept {
  return names::word_of(kFamilies, family);
}

ErrnoFamily errno_family(int errno_value) noexcept {
  if (errno_value == 0) return ErrnoFamily::none;
  const ErrnoInfo* entry = find(errno_value);
  return entry != nullptr ? entry->family : ErrnoFamily::other;
}

bool may_be_too_much(int errno_value) noexcept {
  switch (errno_family(errno_value)) {
    case ErrnoFamily::limit:
    case ErrnoFamily::memory:
    case ErrnoFamily::unsupported:
    case ErrnoFamily::io:
      return true;
    case ErrnoFamily::none:
    case ErrnoFamily::permission:
    case ErrnoFamily::gone:
    case ErrnoFamily::again:
    case ErrnoFamily::other:
      break;
  }
  return false;
}

std::string_view errno_name(int errno_value) noexcept {
  const ErrnoInfo* entry = find(errno_value);
  return entry != nullptr ? entry->name : std::string_view{"?"};
}

}  // namespace verbena
