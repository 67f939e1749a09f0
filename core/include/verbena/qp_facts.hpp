// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "verbena/caps.hpp"
#include "verbena/device_id.hpp"
#include "verbena/request.hpp"
#include "verbena/timers.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What one side must know of the other's queue pair to connect to it. A value: hand it over by whatever means there
/// are; both sides then compute the same agreement from the two.
struct QpFacts {
  static constexpr std::uint16_t kVersion = 1;
  std::uint16_t version = kVersion;  ///< sides of different versions do not connect

  QpType type = QpType::rc;
  Transport transport = Transport::unknown;
  std::uint32_t qp_num = 0;
  std::uint32_t psn = 0;  ///< of the first packet that this side sends; random, 24 bits
  std::uint8_t port = 1;
  std::uint16_t lid = 0;               ///< InfiniBand only
  std::array<std::uint8_t, 16> gid{};  ///< all zero where the path needs none
  GidType gid_type = GidType::ib;
  std::uint32_t mtu = 0;                ///< bytes that this side's port takes
  std::uint8_t max_rd_atomic = 0;       ///< READs and atomics that this side would like to have under way
  std::uint8_t max_dest_rd_atomic = 0;  ///< READs and atomics that it can answer at one time
  std::uint32_t qkey = 0;               ///< UD only
  QpTimers timers{};

  /// True where the connection manager moves the queue pair: the address and TCP port to dial follow.
  bool over_rdma_cm = false;
  std::array<std::uint8_t, 16> cm_address{};  ///< IPv6, or IPv4 mapped (::ffff:a.b.c.d)
  std::uint16_t cm_port = 0;                  ///< host byte order

  friend bool operator==(const QpFacts&, const QpFacts&) = default;
};

/// `rc qp 0x11 psn 0x3f2a01 gid ::ffff:10.0.0.1 mtu 4096 ...`, one line; QP numbers in hex, LIDs in decimal.
std::string to_string(const QpFacts& facts);

/// How the facts' owner would like to be connected; empty: what suits device and peer.
struct ConnectWish {
  QpTimers timers{};
  std::uint16_t pkey_index = 0;
  std::optional<std::uint32_t> access{};             ///< IBV_ACCESS_*; empty: what the type and device can serve
  std::optional<std::uint8_t> max_rd_atomic{};       ///< empty: up to 16
  std::optional<std::uint8_t> max_dest_rd_atomic{};  ///< empty: up to 16, or a 16th of a budget that QPs share
  std::optional<std::uint32_t> mtu{};                ///< bytes, 256..4096; never above the port's
  std::optional<std::uint32_t> gid_index{};          ///< empty: an address of the port's own interface, RoCE v2
  std::uint32_t qkey = 0x11111111;                   ///< UD only

  friend bool operator==(const ConnectWish&, const ConnectWish&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
