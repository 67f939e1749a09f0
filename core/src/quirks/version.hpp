// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::quirks {

/// A version as numbers; missing ones count as 0, so that 6.12 equals 6.12.0.
struct Version {
  std::vector<std::uint64_t> parts;

  friend bool operator==(const Version& left, const Version& right) { return left.compare(right) == 0; }
  int compare(const Version& other) const noexcept;
};

enum class VersionKey : std::uint8_t { kernel, firmware, module_version, rdma_core };

/// Leading `12.34.56`; `rest` is what follows. Empty without a leading number.
std::optional<Version> read_leading_version(std::string_view text, std::string_view& rest);

/// How a host's own words become a Version; firmware has read_firmware. Empty without a leading number, and for a
/// kernel release of a vendor that back-ports drivers (`.el8`, `.el9`, `uek`, `.amzn`, `-default` of SUSE, `.fc` is
/// none of them): its number says nothing of what its drivers do. Debian (`6.12.117+deb12-amd64`), Ubuntu
/// (`6.8.0-45-generic`), mainline and cloud kernels keep their number.
std::optional<Version> read_host_version(VersionKey key, std::string_view text);

/// A number written in a table: digits and dots only.
std::optional<Version> read_table_version(std::string_view text);

enum class Relation : std::uint8_t { less, at_most, equal, at_least, greater };

struct VersionBound {
  Relation relation = Relation::at_least;
  Version version;
};

/// Alternatives; in each, all bounds must hold.
struct VersionSet {
  std::vector<std::vector<VersionBound>> alternatives;

  bool contains(const Version& version) const noexcept;
  /// Whether some version lies in both.
  bool meets(const VersionSet& other) const;
  /// Whether everything in this set is at least `version`.
  bool all_at_least(const Version& version) const;
};

/// `>=6.1 <6.8`, `6.12` (equal); empty when it cannot be read.
std::optional<std::vector<VersionBound>> read_version_bounds(std::string_view text);

}  // namespace verbena::quirks
