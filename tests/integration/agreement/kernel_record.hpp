// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <string_view>

namespace agreement {

/// Who refused, as the shells of NICs record it (tests/vm/nicshell/README.md). Without shells nobody says.
class KernelRecord {
public:
  KernelRecord();
  bool there() const noexcept { return there_; }
  void empty() const;
  /// The function of the kernel driver's copy that refused since `empty`, `shell`, or `the user-space driver` when
  /// nothing came as far as the kernel. Empty without shells.
  std::string who_refused() const;
  /// The newest line about that verb (`create_qp`) since `empty`; empty when it never came as far as the kernel.
  std::string newest(std::string_view verb) const;

private:
  bool there_;
};

}  // namespace agreement
