// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "engine/wire/ip.hpp"

namespace verbena::emulator::cm {

/// A management datagram: 24 bytes of header, then what the class says.
inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::byte, kMadBytes>;

/// The messages of communication management, their fields named as in the InfiniBand specification, volume 1, chapter
/// 12; where they lie: linux include/rdma/ibta_vol1_c12.h, drivers/infiniband/core/cm_msgs.h. How much private data
/// each carries: include/rdma/ib_cm.h enum ib_cm_data_size.
struct Path {
  std::uint16_t local_lid = 0;
  std::uint16_t remote_lid = 0;
  engine::wire::Gid local_gid{};
  engine::wire::Gid remote_gid{};
  std::uint32_t flow_label = 0;         ///< 20 bits
  std::uint8_t packet_rate = 0;         ///< enum ibv_rate
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t sl = 0;                  ///< 4 bits
  bool subnet_local = false;
  std::uint8_t local_ack_timeout = 0;   ///< 4.096 us * 2^n, 5 bits
  friend bool operator==(const Path&, const Path&) = default;
};

/// Asks for a connection.
struct Req {
  std::uint32_t local_comm_id = 0;
  std::uint64_t service_id = 0;
  std::uint64_t local_ca_guid = 0;
  std::uint32_t local_qkey = 0;
  std::uint32_t local_qpn = 0;                      ///< 24 bits
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t remote_cm_response_timeout = 0;      ///< 4.096 us * 2^n, 5 bits, as the local one
  std::uint8_t transport_service_type = 0;          ///< 0: RC, 1: UC
  bool end_to_end_flow_control = false;
  std::uint32_t starting_psn = 0;                   ///< 24 bits: what the receiver of this begins to send with
  std::uint8_t local_cm_response_timeout = 0;
  std::uint8_t retry_count = 0;                     ///< 3 bits
  std::uint16_t pkey = 0;
  std::uint8_t path_mtu = 0;                        ///< enum ibv_mtu
  std::uint8_t rnr_retry_count = 0;                 ///< 3 bits
  std::uint8_t max_cm_retries = 0;                  ///< 4 bits
  bool srq = false;
  Path primary;
  Path alternate;
  std::array<std::byte, 92> private_data{};
  friend bool operator==(const Req&, const Req&) = default;
};

/// Which message is meant by an MRA or a REJ.
enum class Answers : std::uint8_t { req = 0, rep = 1, other = 2 };

/// Asks for patience.
struct Mra {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  Answers message{};
  std::uint8_t service_timeout = 0;  ///< 4.096 us * 2^n, 5 bits
  std::array<std::byte, 222> private_data{};
  friend bool operator==(const Mra&, const Mra&) = default;
};

/// Why a REJ is one. Source: linux include/rdma/ib_cm.h enum ib_cm_rej_reason.
enum class Reason : std::uint16_t {
  timeout = 4,
  invalid_service_id = 8,
  invalid_transport_type = 9,
  stale_connection = 10,
  invalid_gid = 12,
  consumer_defined = 28,
};

struct Rej {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  Answers message{};
  std::uint8_t info_length = 0;  ///< bytes of `info` that mean something, 7 bits
  Reason reason{};               ///< whatever came, be it named above or not
  std::array<std::byte, 72> info{};
  std::array<std::byte, 148> private_data{};
  friend bool operator==(const Rej&, const Rej&) = default;
};

/// Grants it.
struct Rep {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint32_t local_qkey = 0;
  std::uint32_t local_qpn = 0;     ///< 24 bits
  std::uint32_t starting_psn = 0;  ///< 24 bits
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;   ///< 4.096 us * 2^n, 5 bits
  std::uint8_t failover_accepted = 0;  ///< 2 bits
  bool end_to_end_flow_control = false;
  std::uint8_t rnr_retry_count = 0;    ///< 3 bits
  bool srq = false;
  std::uint64_t local_ca_guid = 0;
  std::array<std::byte, 196> private_data{};
  friend bool operator==(const Rep&, const Rep&) = default;
};

/// Ready to use.
struct Rtu {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::array<std::byte, 224> private_data{};
  friend bool operator==(const Rtu&, const Rtu&) = default;
};

/// Ends it.
struct Dreq {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint32_t remote_qpn = 0;  ///< 24 bits
  std::array<std::byte, 220> private_data{};
  friend bool operator==(const Dreq&, const Dreq&) = default;
};

struct Drep {
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::array<std::byte, 224> private_data{};
  friend bool operator==(const Drep&, const Drep&) = default;
};

/// Asks which datagram queue pair serves.
struct SidrReq {
  std::uint32_t request_id = 0;
  std::uint16_t pkey = 0;
  std::uint64_t service_id = 0;
  std::array<std::byte, 216> private_data{};
  friend bool operator==(const SidrReq&, const SidrReq&) = default;
};

/// Source: linux include/rdma/ib_cm.h enum ib_cm_sidr_status.
enum class SidrStatus : std::uint8_t { success = 0, unsupported = 1, reject = 2 };

struct SidrRep {
  std::uint32_t request_id = 0;
  SidrStatus status{};  ///< whatever came
  std::uint8_t info_length = 0;
  std::uint32_t qpn = 0;  ///< 24 bits
  std::uint64_t service_id = 0;
  std::uint32_t qkey = 0;
  std::array<std::byte, 72> info{};
  std::array<std::byte, 136> private_data{};
  friend bool operator==(const SidrRep&, const SidrRep&) = default;
};

using Body = std::variant<Req, Mra, Rej, Rep, Rtu, Dreq, Drep, SidrReq, SidrRep>;

struct Message {
  std::uint64_t transaction_id = 0;
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

Mad encode(const Message& message) noexcept;

/// Empty where this is no message of communication management of class version 2: of another length, class, method or
/// version, or with an attribute that is none of the above.
std::optional<Message> parse(std::span<const std::byte> bytes) noexcept;

}  // namespace verbena::emulator::cm
