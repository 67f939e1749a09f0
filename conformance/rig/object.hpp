// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <utility>

namespace conform {

/// A verbs object that a case made, by libibverbs or by Verbena, or what refused it. Destroyed at the end of its scope.
template <class T>
class Object {
public:
  Object() = default;
  /// Refused with a positive errno.
  static Object refused(int error) {
    Object object;
    object.error_ = error;
    return object;
  }
  /// `destroy` gives 0 or a positive errno.
  Object(T* raw, std::function<int()> destroy) : raw_(raw), destroy_(std::move(destroy)) {}

  Object(Object&& other) noexcept
      : raw_(std::exchange(other.raw_, nullptr)),
        error_(std::exchange(other.error_, 0)),
        destroy_(std::exchange(other.destroy_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    if (this != &other) {
      destroy();
      raw_ = std::exchange(other.raw_, nullptr);
      error_ = std::exchange(other.error_, 0);
      destroy_ = std::exchange(other.destroy_, nullptr);
    }
    return *this;
  }
  ~Object() { destroy(); }

  T* raw() const noexcept { return raw_; }
  T* operator->() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }
  /// Positive errno of the refusal; 0 where there is an object.
  int error() const noexcept { return error_; }

  /// 0 or a positive errno. Refused with EBUSY, the object is still there and may be destroyed again; after any other
  /// answer it is gone.
  int destroy() {
    if (raw_ == nullptr || !destroy_) return 0;
    const int error = destroy_();
    if (error == kBusy) return error;
    raw_ = nullptr;
    destroy_ = nullptr;
    return error;
  }

private:
  static constexpr int kBusy = 16;  // EBUSY
  T* raw_ = nullptr;
  int error_ = 0;
  std::function<int()> destroy_;
};

}  // namespace conform
