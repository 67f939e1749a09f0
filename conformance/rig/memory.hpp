// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace conform {

/// Page-aligned anonymous memory, whole pages, with a page that nobody may touch on either side.
class Memory {
public:
  Memory(std::size_t bytes, std::size_t page);
  Memory(Memory&&) noexcept;
  Memory& operator=(Memory&&) noexcept;
  ~Memory();

  std::uint8_t* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  std::span<std::uint8_t> bytes() const noexcept { return {data_, bytes_}; }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(data_); }
  /// Fills with a pattern that depends on the place and the seed, so that a shift shows.
  void fill(std::uint32_t seed) noexcept;
  void clear() noexcept;

private:
  std::uint8_t* map_ = nullptr;
  std::size_t mapped_ = 0;
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// From now on memory is laid at ascending addresses from here on, where they are free: for a run whose other end needs
/// the same ones. Called before there is any.
void lay_memory_from(std::uintptr_t address) noexcept;

}  // namespace conform
