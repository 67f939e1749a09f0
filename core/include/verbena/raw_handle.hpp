// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <utility>

#pragma GCC visibility push(default)
namespace verbena {

/// The verbs handle inside an owner. Moving the owner takes it along: what was moved from holds null, and says so,
/// where a plain pointer would go on naming an object that another owner destroys.
template <class T>
class RawHandle {
public:
  RawHandle() noexcept = default;
  RawHandle(T* handle) noexcept : handle_(handle) {}  // NOLINT(google-explicit-constructor): it is that pointer
  RawHandle(RawHandle&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
  RawHandle& operator=(RawHandle&& from) noexcept {
    handle_ = std::exchange(from.handle_, nullptr);
    return *this;
  }
  RawHandle(const RawHandle&) = delete;
  RawHandle& operator=(const RawHandle&) = delete;
  ~RawHandle() = default;

  T* get() const noexcept { return handle_; }
  T* operator->() const noexcept { return handle_; }
  /// The handle, which this holds no longer.
  T* take() noexcept { return std::exchange(handle_, nullptr); }

private:
  T* handle_ = nullptr;
};

}  // namespace verbena
#pragma GCC visibility pop
