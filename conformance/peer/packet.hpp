// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace conform::peer {

/// What can go over the wire as it lies in memory: both ends are of one build of the headers, which the greeting
/// checks.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

/// Values in a row of bytes, written at the end and read from the front. Reading past the end gives zeros and makes it
/// bad.
class Packet {
public:
  Packet() = default;
  explicit Packet(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}

  template <Plain T>
  void put(const T& value) {
    put_bytes(&value, sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  void put_bytes(const void* from, std::size_t count) {
    const auto* begin = static_cast<const std::uint8_t*>(from);
    bytes_.insert(bytes_.end(), begin, begin + count);
  }
  /// Writes over what was put at `place`.
  template <Plain T>
  void put_at(std::size_t place, const T& value) {
    std::memcpy(bytes_.data() + place, &value, sizeof value);
  }

  template <Plain T>
  void get(T& value) {
    const std::uint8_t* from = take(sizeof value);
    if (from != nullptr) {
      std::memcpy(&value, from, sizeof value);
    } else {
      std::memset(static_cast<void*>(&value), 0, sizeof value);
    }
  }
  template <Plain T>
  T get() {
    T value{};
    get(value);
    return value;
  }
  std::string text() {
    const auto length = get<std::uint32_t>();
    const std::uint8_t* from = take(length);
    return from != nullptr ? std::string(reinterpret_cast<const char*>(from), length) : std::string();
  }
  /// The next bytes where they lie; null when there are fewer.
  const std::uint8_t* take(std::size_t count) {
    if (bad_ || count > bytes_.size() - at_) {
      bad_ = true;
      return nullptr;
    }
    const std::uint8_t* from = bytes_.data() + at_;
    at_ += count;
    return from;
  }

  bool good() const noexcept { return !bad_; }
  std::size_t left() const noexcept { return bytes_.size() - at_; }
  const std::vector<std::uint8_t>& bytes() const noexcept { return bytes_; }

private:
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool bad_ = false;
};

}  // namespace conform::peer
