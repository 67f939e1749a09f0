// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace conform {

/// Many addresses over the same few bytes of memory again and again, so that long regions need little of it. Of huge
/// pages where some are set aside and the period takes them, since those are registered many times faster.
class RepeatedMemory {
public:
  /// `period` is a multiple of the page. data() is null where the addresses cannot be had.
  RepeatedMemory(std::size_t bytes, std::size_t period);
  RepeatedMemory(const RepeatedMemory&) = delete;
  RepeatedMemory& operator=(const RepeatedMemory&) = delete;
  ~RepeatedMemory() { unmap(); }

  std::uint8_t* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(data_); }

private:
  bool map(std::size_t period, unsigned huge);
  void unmap() noexcept;

  std::size_t bytes_;
  std::uint8_t* data_ = nullptr;
  std::uint8_t* room_ = nullptr;
  std::size_t reserved_ = 0;
};

}  // namespace conform
