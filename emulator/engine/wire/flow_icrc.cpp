// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/flow_icrc.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>

#include "engine/wire/bth.hpp"
#include "engine/wire/icrc.hpp"
#include "engine/wire/udp_checksum.hpp"

namespace verbena::engine::wire {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;  // of Ethernet; the highest bit stands for 1
constexpr std::size_t kMaskedInBth = 4;  // FECN and BECN

constexpr std::size_t kIdentificationAt = 4;
constexpr std::size_t kBehindIdentification = Ip::kV4Bytes + Udp::kBytes - kIdentificationAt - 2;

/// What a byte with `after` zeros behind it comes to.
constexpr std::uint32_t byte_then_zeros(std::uint32_t byte, std::size_t after) noexcept {
  std::uint32_t crc = byte;
  for (std::size_t bit = 0; bit < 8 * (after + 1); ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
  return crc;
}

using OfByte = std::array<std::uint32_t, 256>;

constexpr OfByte of_byte(std::size_t after) noexcept {
  OfByte table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) table[byte] = byte_then_zeros(byte, after);
  return table;
}

constexpr OfByte kOfHigh = of_byte(kBehindIdentification + 1);
constexpr OfByte kOfLow = of_byte(kBehindIdentification);

/// The product of two polynomials, modulo that of the CRC.
constexpr std::uint32_t product(std::uint32_t one, std::uint32_t other) noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 1U << 31; bit != 0; bit >>= 1) {
    if ((one & bit) != 0) sum ^= other;
    other = (other >> 1) ^ ((other & 1U) != 0 ? kPolynomial : 0U);
  }
  return sum;
}

/// x to that power.
constexpr std::uint32_t power(std::uint64_t exponent) noexcept {
  std::uint32_t result = 1U << 31;
  for (std::uint32_t square = 1U << 30; exponent != 0; exponent >>= 1) {
    if ((exponent & 1U) != 0) result = product(result, square);
    square = product(square, square);
  }
  return result;
}

constexpr std::uint64_t kOrder = 0xffffffff;  // of x: that power of it is 1

/// Takes back what so many bits, with which a number was multiplied, did to it.
constexpr std::uint32_t back(std::uint64_t bits) noexcept {
  return power(kOrder - bits);
}

/// For 1, 2, 4, ... bytes.
constexpr std::array<std::uint32_t, 17> kBack = [] {
  std::array<std::uint32_t, 17> table{};
  for (std::size_t bit = 0; bit < table.size(); ++bit) table[bit] = back(std::uint64_t{8} << bit);
  return table;
}();
constexpr std::uint32_t kBackToIdentification = back(32 + 8 * kBehindIdentification);

}  // namespace

FlowIcrc::FlowIcrc(const Ip& ip, const Udp& udp, std::size_t data_bytes) noexcept
    : counts_(ip.version == IpVersion::v4) {
  std::array<std::byte, Ip::kV6Bytes + Udp::kBytes> masked;
  const auto udp_bytes = static_cast<std::uint16_t>(Udp::kBytes + data_bytes);
  Ip unseen = ip;
  unseen.identification = 0;
  write_ip(unseen, udp_bytes, masked.data());
  if (counts_) {
    masked[1] = masked[8] = masked[10] = masked[11] = kUncovered;
  } else {
    masked[0] |= std::byte{0x0f};
    masked[1] = masked[2] = masked[3] = masked[7] = kUncovered;
  }
  std::byte* const at = masked.data() + ip.bytes();
  write_udp(udp, udp_bytes, at);
  at[6] = at[7] = kUncovered;
  before_ = libdeflate_crc32(kCrcOfLrh, masked.data(), ip.bytes() + Udp::kBytes);
}

std::uint32_t FlowIcrc::of_identification(std::uint16_t identification) noexcept {
  return kOfHigh[identification >> 8] ^ kOfLow[identification & 0xffU];
}

std::uint32_t icrc_behind(std::uint32_t before, std::span<std::byte> covered) noexcept {
  std::byte& masked = covered[kMaskedInBth];
  const std::byte kept = masked;
  masked = kUncovered;
  const std::uint32_t crc = libdeflate_crc32(before, covered.data(), covered.size());
  masked = kept;
  return crc;
}

std::optional<std::uint16_t> identification_of(std::uint32_t found, std::uint32_t stands,
                                               std::size_t covered_bytes) noexcept {
  if (covered_bytes >> kBack.size() != 0) return std::nullopt;
  // The difference is identification * x^(32 + 8 * bytes behind it).
  std::uint32_t alone = product(found ^ stands, kBackToIdentification);
  for (std::size_t bit = 0; covered_bytes >> bit != 0; ++bit) {
    if ((covered_bytes >> bit & 1U) != 0) alone = product(alone, kBack[bit]);
  }
  if ((alone & 0xffffU) != 0) return std::nullopt;
  const auto first = static_cast<std::uint16_t>(alone >> 16 & 0xffU);
  return static_cast<std::uint16_t>(std::uint32_t{first} << 8 | alone >> 24);
}

}  // namespace verbena::engine::wire
