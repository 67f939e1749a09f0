// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace verbena {

/// How a library is found in this process, and a function in it.
struct Loader {
  void* (*open)(const char* library) noexcept;
  void* (*find)(void* library, const char* function) noexcept;

  /// Only the copy that libibverbs loaded as the provider, never a second one beside it: that would register itself as
  /// a provider too, and does not serve the contexts of the first.
  static Loader loaded_already() noexcept;
};

/// Functions of vendors' own libraries. Each is looked up once, since creating an object may ask for several.
/// Thread-safe.
class VendorLibraries {
public:
  explicit VendorLibraries(Loader loader = Loader::loaded_already()) noexcept : loader_(loader) {}

  /// Null where the library is not loaded (which is asked again: a provider may come later) or lacks the function.
  void* function(const char* library, const char* function);

private:
  struct Function {
    std::string name;
    void* address = nullptr;
  };
  struct Open {
    std::string name;
    void* handle = nullptr;
    std::vector<Function> functions;
  };
  Loader loader_;
  std::mutex mutex_;
  std::vector<Open> open_;
};

}  // namespace verbena
