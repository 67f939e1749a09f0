// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/huge_pages.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace conform {
namespace {

constexpr const char* kOvercommit = "/proc/sys/vm/nr_overcommit_hugepages";

std::optional<std::uint64_t> overcommit() {
  std::ifstream in(kOvercommit);
  std::uint64_t pages = 0;
  if (in >> pages) return pages;
  return std::nullopt;
}

bool set_overcommit(std::uint64_t pages) {
  std::ofstream out(kOvercommit);
  out << pages << std::flush;
  return out.good();
}

std::uint64_t of_meminfo(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  return 0;
}

}  // namespace

HugePages::HugePages(std::uint64_t pages) {
  if (pages == 0) return;
  const auto before = overcommit();
  if (before && set_overcommit(*before + pages)) added_ = pages;
}

HugePages::~HugePages() {
  if (added_ == 0) return;
  const auto now = overcommit();
  if (now) set_overcommit(*now > added_ ? *now - added_ : 0);
}

std::uint64_t huge_pages_to_be_had() {
  const std::uint64_t made = of_meminfo("HugePages_Surp:");
  const std::uint64_t may = overcommit().value_or(0);
  return of_meminfo("HugePages_Free:") + (may > made ? may - made : 0);
}

}  // namespace conform
