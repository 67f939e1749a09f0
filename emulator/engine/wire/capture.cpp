// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/capture.hpp"

#include <algorithm>

#include "engine/wire/bytes.hpp"

namespace verbena::engine::wire {
namespace {

constexpr std::size_t kMostCaptured = 0xffff;

/// Writes bytes and numbers one after the other.
class Writer {
public:
  explicit Writer(std::byte* to) noexcept : to_(to) {}

  void u16(std::size_t number) noexcept { put(static_cast<std::uint16_t>(number)); }
  void u32(std::size_t number) noexcept { put(static_cast<std::uint32_t>(number)); }
  void u64(std::uint64_t number) noexcept { put(number); }
  void padded(std::span<const std::byte> bytes) noexcept {
    to_ = std::copy(bytes.begin(), bytes.end(), to_);
    to_ = std::fill_n(to_, (4 - bytes.size() % 4) % 4, std::byte{0});
  }

private:
  template <class Number>
  void put(Number number) noexcept {
    store(to_, number);
    to_ += sizeof number;
  }

  std::byte* to_;
};

}  // namespace

std::array<std::byte, kCaptureHeadBytes> capture_head(LinkType type) noexcept {
  std::array<std::byte, kCaptureHeadBytes> head;
  Writer write(head.data());
  write.u32(0x0a0d0d0a);  // section header
  write.u32(28);
  write.u32(0x1a2b3c4d);  // read the other way round by a reader of the other byte order
  write.u16(1);           // version 1.0
  write.u16(0);
  write.u64(~std::uint64_t{0});  // how long the section is isn't known
  write.u32(28);
  write.u32(1);  // interface description
  write.u32(32);
  write.u16(static_cast<std::size_t>(type));
  write.u16(0);
  write.u32(0);  // packets are never cut
  write.u16(9);  // if_tsresol
  write.u16(1);
  write.u32(0x09000000);  // 10^-9 s
  write.u32(0);           // no more options
  write.u32(32);
  return head;
}

std::size_t write_captured(std::chrono::nanoseconds since_epoch, std::span<const std::byte> packet,
                           std::string_view comment, std::span<std::byte> out) noexcept {
  const std::size_t bytes = capture_bytes(packet.size(), comment.size());
  if (out.size() < bytes || packet.size() > kMostCaptured || comment.size() > kMostCaptured) return 0;
  Writer write(out.data());
  write.u32(6);  // enhanced packet
  write.u32(bytes);
  write.u32(0);  // of the first interface
  write.u64(static_cast<std::uint64_t>(since_epoch.count()));
  write.u32(packet.size());
  write.u32(packet.size());
  write.padded(packet);
  if (!comment.empty()) {
    write.u16(1);  // opt_comment
    write.u16(comment.size());
    write.padded(std::as_bytes(std::span(comment)));
    write.u32(0);
  }
  write.u32(bytes);
  return bytes;
}

}  // namespace verbena::engine::wire
