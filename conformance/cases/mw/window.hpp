// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "cases/mr/target.hpp"

namespace conform {

inline constexpr unsigned kBindable =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND;

/// Two ends, a region of the second that windows may be bound to, and a window of its domain.
struct Window {
  Window(Case& c, ibv_mw_type type, unsigned access = kBindable);

  /// What ibv_bind_mw (type 1) returns: 0 or a positive errno. `begin` is an offset in the region.
  int bind(std::size_t begin, std::size_t length, unsigned access = IBV_ACCESS_REMOTE_WRITE, std::uint64_t wr_id = 21,
           ibv_qp* on = nullptr);
  /// A type 2 bind posted to the second end's queue pair; 0 or a positive errno.
  int bind2(std::uint32_t rkey, std::size_t begin, std::size_t length, unsigned access = IBV_ACCESS_REMOTE_WRITE);
  int invalidate(std::uint32_t rkey);
  /// Both of these must be carried out; what fails is a finding, and ends the case.
  void bound(std::size_t begin, std::size_t length, unsigned access = IBV_ACCESS_REMOTE_WRITE);
  void bound2(std::uint32_t rkey, std::size_t begin, std::size_t length, unsigned access = IBV_ACCESS_REMOTE_WRITE);
  /// A bind that was posted, or refused with this errno, must be refused or complete with MW_BIND_ERR.
  bool bind_denied(int posted, std::string_view what);

  /// A write of 16 bytes at this offset of the region arrives, and changes no other byte.
  void writes(std::uint32_t rkey, std::size_t at, std::string_view what);
  /// It doesn't. The connection is of no more use afterwards.
  void no_write(std::uint32_t rkey, std::size_t at, std::string_view what, std::size_t length = 16);

  Case& c;
  Loop loop;
  Target of;
  Object<ibv_mw> mw;
};

/// The key of the next bind of a type 2 window: its low 8 bits are the caller's.
constexpr std::uint32_t next_key(std::uint32_t rkey) {
  return (rkey & ~std::uint32_t{0xff}) | ((rkey + 1) & 0xff);
}

}  // namespace conform
