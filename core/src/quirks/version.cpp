// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/version.hpp"

#include <algorithm>
#include <array>

namespace verbena::quirks {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

bool back_ported(std::string_view rest) {
  constexpr std::array<std::string_view, 8> marks{".el", "uek", ".amzn", "-default", ".oe", ".an", ".tl", ".ky"};
  return std::any_of(marks.begin(), marks.end(),
                     [&](std::string_view mark) { return rest.find(mark) != std::string_view::npos; });
}

/// A bound looks at as many numbers as it has: 6.12.117 is `<=6.12` and `6.12`, and not `>6.12`.
int order_up_to(const Version& version, const Version& bound) noexcept {
  for (std::size_t i = 0; i < bound.parts.size(); ++i) {
    const std::uint64_t part = i < version.parts.size() ? version.parts[i] : 0;
    if (part != bound.parts[i]) return part < bound.parts[i] ? -1 : 1;
  }
  return 0;
}

/// The first version behind all that begin with these numbers: 6.13 behind 6.12.
Version behind(Version version) {
  ++version.parts.back();
  return version;
}

bool holds(const VersionBound& bound, const Version& version) noexcept {
  const int order = order_up_to(version, bound.version);
  switch (bound.relation) {
    case Relation::less:
      return order < 0;
    case Relation::at_most:
      return order <= 0;
    case Relation::equal:
      return order == 0;
    case Relation::at_least:
      return order >= 0;
    case Relation::greater:
      return order > 0;
  }
  return false;
}

/// An interval of versions: empty ends are open to infinity.
struct Interval {
  std::optional<Version> low, high;
  bool low_in = true, high_in = true;

  bool empty() const {
    if (!low || !high) return false;
    const int order = low->compare(*high);
    return order > 0 || (order == 0 && !(low_in && high_in));
  }
  void raise(const Version& version, bool in) {
    const int order = low ? version.compare(*low) : 1;
    if (order > 0) {
      low = version;
      low_in = in;
    } else if (order == 0) {
      low_in = low_in && in;
    }
  }
  void lower(const Version& version, bool in) {
    const int order = high ? version.compare(*high) : -1;
    if (order < 0) {
      high = version;
      high_in = in;
    } else if (order == 0) {
      high_in = high_in && in;
    }
  }
  void narrow(const std::vector<VersionBound>& bounds) {
    for (const VersionBound& bound : bounds) {
      if (bound.relation == Relation::at_least || bound.relation == Relation::equal) raise(bound.version, true);
      if (bound.relation == Relation::greater) raise(behind(bound.version), true);
      if (bound.relation == Relation::at_most || bound.relation == Relation::equal) lower(behind(bound.version), false);
      if (bound.relation == Relation::less) lower(bound.version, false);
    }
  }
};

}  // namespace

std::optional<Version> read_leading_version(std::string_view text, std::string_view& rest) {
  Version version;
  std::size_t at = 0;
  while (at < text.size() && digit(text[at])) {
    std::uint64_t number = 0;
    std::size_t digits = 0;
    for (; at < text.size() && digit(text[at]); ++at) {
      if (++digits > 18) return std::nullopt;
      number = number * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    version.parts.push_back(number);
    if (at + 1 < text.size() && text[at] == '.' && digit(text[at + 1])) {
      ++at;
    } else {
      break;
    }
  }
  rest = text.substr(at);
  if (version.parts.empty() || version.parts.size() > 8) return std::nullopt;
  return version;
}

int Version::compare(const Version& other) const noexcept {
  const std::size_t count = std::max(parts.size(), other.parts.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t left = i < parts.size() ? parts[i] : 0;
    const std::uint64_t right = i < other.parts.size() ? other.parts[i] : 0;
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

std::optional<Version> read_host_version(VersionKey key, std::string_view text) {
  std::string_view rest;
  auto version = read_leading_version(text, rest);
  if (!version) return std::nullopt;
  if (key == VersionKey::kernel && back_ported(rest)) return std::nullopt;
  return version;
}

std::optional<Version> read_table_version(std::string_view text) {
  std::string_view rest;
  auto version = read_leading_version(text, rest);
  if (!version || !rest.empty()) return std::nullopt;
  return version;
}

bool VersionSet::contains(const Version& version) const noexcept {
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const auto& bounds) {
    return std::all_of(bounds.begin(), bounds.end(), [&](const auto& bound) { return holds(bound, version); });
  });
}

bool VersionSet::meets(const VersionSet& other) const {
  for (const auto& mine : alternatives)
    for (const auto& theirs : other.alternatives) {
      Interval both;
      both.narrow(mine);
      both.narrow(theirs);
      if (!both.empty()) return true;
    }
  return false;
}

bool VersionSet::all_at_least(const Version& version) const {
  return std::all_of(alternatives.begin(), alternatives.end(), [&](const auto& bounds) {
    Interval interval;
    interval.narrow(bounds);
    return interval.low && interval.low->compare(version) >= 0;
  });
}

std::optional<std::vector<VersionBound>> read_version_bounds(std::string_view text) {
  std::vector<VersionBound> bounds;
  while (true) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.empty()) break;
    VersionBound bound;
    bound.relation = Relation::equal;
    if (text.starts_with(">=")) {
      bound.relation = Relation::at_least;
      text.remove_prefix(2);
    } else if (text.starts_with("<=")) {
      bound.relation = Relation::at_most;
      text.remove_prefix(2);
    } else if (text.starts_with("==")) {
      text.remove_prefix(2);
    } else if (text.starts_with('>')) {
      bound.relation = Relation::greater;
      text.remove_prefix(1);
    } else if (text.starts_with('<')) {
      bound.relation = Relation::less;
      text.remove_prefix(1);
    }
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const std::size_t end = std::min(text.find(' '), text.size());
    auto version = read_table_version(text.substr(0, end));
    if (!version) return std::nullopt;
    bound.version = std::move(*version);
    bounds.push_back(std::move(bound));
    text.remove_prefix(end);
  }
  if (bounds.empty()) return std::nullopt;
  return bounds;
}

}  // namespace verbena::quirks
