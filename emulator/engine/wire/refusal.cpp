// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/refusal.hpp"

namespace verbena::engine::wire {

std::string_view name(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::too_short:
      return "too_short";
    case Refusal::ip_version:
      return "ip_version";
    case Refusal::ip_options:
      return "ip_options";
    case Refusal::ip_checksum:
      return "ip_checksum";
    case Refusal::fragment:
      return "fragment";
    case Refusal::not_udp:
      return "not_udp";
    case Refusal::not_roce_port:
      return "not_roce_port";
    case Refusal::length_mismatch:
      return "length_mismatch";
    case Refusal::udp_checksum:
      return "udp_checksum";
    case Refusal::icrc:
      return "icrc";
    case Refusal::transport_version:
      return "transport_version";
    case Refusal::unknown_opcode:
      return "unknown_opcode";
    case Refusal::pad_beyond_payload:
      return "pad_beyond_payload";
    case Refusal::payload_size:
      return "payload_size";
  }
  return "?";
}

}  // namespace verbena::engine::wire
