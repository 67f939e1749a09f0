// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

namespace conform {

/// Room for huge pages of the kernel's default size that are made as they are asked for, on top of what the host sets
/// aside (vm.nr_overcommit_hugepages): none is held while none is mapped. Given back at the end of the scope. Where the
/// process may not set it nothing changes, and cases that need huge pages say what is missing.
class HugePages {
public:
  /// 0: nothing is asked for.
  explicit HugePages(std::uint64_t pages);
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

private:
  std::uint64_t added_ = 0;
};

/// How many can be had: those that are set aside and free, and those that may be made.
std::uint64_t huge_pages_to_be_had();

}  // namespace conform
