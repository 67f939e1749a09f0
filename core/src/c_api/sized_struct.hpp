// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "verbena/result.hpp"

namespace verbena::c_api {

inline Error size_error(std::uint64_t size, std::uint64_t known, std::string text) {
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = "size";
  error.asked = size;
  error.allowed = known;
  error.by.set_by = SetBy::request;
  error.text = std::move(text);
  return error;
}

/// Reads a caller's struct of any version: what an older one lacks is zero; what a newer one has beyond ours must be.
template <class T>
Result<T> read_sized(const T* from, const char* what) {
  T known{};
  known.size = sizeof(T);
  if (from == nullptr) return known;
  if (from->size < sizeof(from->size) || from->size > 65536) {
    return Failure(size_error(from->size, sizeof(T), std::string(what) + ": `size` must hold sizeof the struct"));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  if (from->size > sizeof(T) &&
      std::any_of(bytes + sizeof(T), bytes + from->size, [](unsigned char byte) { return byte != 0; })) {
    return Failure(size_error(from->size, sizeof(T),
                              std::string(what) + " uses members that this version of the library does not know"));
  }
  std::memcpy(&known, from, std::min(from->size, sizeof(T)));
  known.size = sizeof(T);
  return known;
}

/// Fills a caller's struct as far as it reaches; `size` stays the caller's. False when it has no room for its size.
template <class T>
bool write_sized(T* to, const T& from) noexcept {
  if (to == nullptr || to->size < sizeof(to->size)) return false;
  const std::size_t size = to->size;
  std::memcpy(to, &from, std::min(size, sizeof(T)));
  to->size = size;
  return true;
}

}  // namespace verbena::c_api
