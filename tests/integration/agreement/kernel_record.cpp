// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "kernel_record.hpp"

#include <fstream>

namespace agreement {
namespace {
constexpr const char* kFile = "/proc/nicshell";
}

KernelRecord::KernelRecord() : there_(std::ifstream(kFile).good()) {}

void KernelRecord::empty() const {
  if (there_) std::ofstream(kFile) << "\n";
}

std::string KernelRecord::who_refused() const {
  if (!there_) return {};
  std::string who = "the user-space driver";
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    const auto refused = line.find(" refused ");
    const auto by = line.find(" by ", refused);
    const auto end = line.find(": ", by);
    if (refused == std::string::npos || by == std::string::npos) continue;
    who = line.substr(by + 4, end == std::string::npos ? end : end - by - 4);
    if (who != "shell") who.insert(0, "the copy of ");
  }
  return who;
}

std::string KernelRecord::newest(std::string_view verb) const {
  const std::string word = " " + std::string(verb) + " ";
  std::string found;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);)
    if (line.find(word) != std::string::npos) found = line;
  return found;
}

}  // namespace agreement
