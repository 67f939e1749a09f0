// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "verbena/provenance.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What went wrong, for code to branch on; the text is for people and is never parsed.
enum class ErrorKind : std::uint8_t {
  invalid_request,  ///< the request contradicts itself (a floor above the wish, zero length, unknown name)
  limit,            ///< a number cannot be met and the policy or a floor forbids less
  unsupported,      ///< the device has no such feature (one family of errnos: see errno_family.hpp)
  no_memory,        ///< out of memory or of lockable memory; the text names the memlock limit and the need
  permission,       ///< the process lacks a right (capability, device node, mlock not allowed at all)
  no_device,        ///< no such device, or none at all
  device_gone,      ///< the device was removed or reported a fatal event; the context is of no more use
  refused,          ///< the device refused what the contract says it takes; errno and every try are recorded
  timeout,          ///< the caller's deadline passed
  bad_table,        ///< a quirk table, model or setting cannot be used; file, line and column are given
  io,               ///< a file or socket could not be read or written
};

std::string_view name(ErrorKind kind) noexcept;

/// A refusal with its numbers: which attribute, what was asked, what would have been allowed, and who says so.
struct Error {
  ErrorKind kind = ErrorKind::refused;
  std::string field{};                     ///< the verbs attribute at fault (`max_send_wr`), empty when none is
  std::optional<std::uint64_t> asked{};   ///< in the field's own unit
  /// The nearest value that would have been accepted with everything else as it was. From fit(): asked for again as the
  /// wish and as the floor, it is granted; empty where no value of this field alone would be, and the text then says
  /// which other must change, and to what.
  std::optional<std::uint64_t> allowed{};
  Provenance by{};  ///< who set the limit
  int errno_value = 0;  ///< positive errno as the driver gave it, 0 when there is none
  std::uint32_t vendor_code = 0;  ///< vendor syndrome, 0 when there is none
  std::string text{};  ///< one or two sentences: what happened, and what to do about it

  friend bool operator==(const Error&, const Error&) = default;
};

/// One printable line: kind, field, asked, allowed, who says so, errno, text.
std::string to_string(const Error& error);

template <class T>
using Result = tl::expected<T, Error>;
using Failure = tl::unexpected<Error>;

}  // namespace verbena
#pragma GCC visibility pop
