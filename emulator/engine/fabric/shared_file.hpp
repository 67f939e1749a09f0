// SPDX-License-Identifier: Apache-2.0 OR MIT
// The file of a shared fabric as the kernel sees it: its name, its memory, and locks on single bytes of it. The locks
// are those of an open file description (fcntl(2), F_OFD_SETLK), so that two ends in one process are two, and the
// kernel lets go of them when the last process that has the description ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>
#include <tl/expected.hpp>

namespace verbena::engine::fabric::shared_file {

/// Where the fabric of that name is; nullopt where it isn't a name.
std::optional<std::string> path(const std::string& name);

/// Opens it, or makes it. It has to be this user's, unless `mode` lets others in. The error is an errno.
tl::expected<int, int> open(const std::string& path, mode_t mode) noexcept;
/// Is it still the one of that name?
bool still_there(const std::string& path, int file) noexcept;

/// At least so large; errno says why not.
bool grow(int file, std::uint64_t bytes) noexcept;
/// The host has memory for that part from now on, so that nobody is killed by SIGBUS who touches it.
bool give(int file, std::uint64_t at, std::uint64_t bytes) noexcept;
/// That part is zeros again, and costs nothing.
void take(int file, std::uint64_t at, std::uint64_t bytes) noexcept;

/// One at a time joins or leaves. False where someone else has been at it for seconds.
bool gate(int file) noexcept;
void ungate(int file) noexcept;

/// A slot is its holder's; false where it is someone else's.
bool hold(int file, std::uint32_t slot) noexcept;
void let_go(int file, std::uint32_t slot) noexcept;
/// Someone else holds it.
bool held(int file, std::uint32_t slot) noexcept;

}  // namespace verbena::engine::fabric::shared_file
