// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/firmware.hpp"

#include <algorithm>
#include <array>

namespace verbena::quirks {
namespace {

// What ibv_device_attr::fw_ver and sysfs' fw_ver hold. Sources: query_device of rdma-core providers mlx4, mlx5, hns and
// erdma (three numbers), bnxt_re, qedr, cxgb4 and efa (four); Linux 6.12 hw/irdma/verbs.c irdma_get_dev_fw_str (two).
// The board of an mlx5 or mlx4 may stand behind in brackets, the package of a bnxt_re behind a slash.
constexpr std::array kSchemes{
    FirmwareScheme{"mlx5", 3, " "}, FirmwareScheme{"mlx4", 3, " "},     FirmwareScheme{"irdma", 2},
    FirmwareScheme{"hns", 3},       FirmwareScheme{"bnxt_re", 4, "/ "}, FirmwareScheme{"qedr", 4},
    FirmwareScheme{"cxgb4", 4},     FirmwareScheme{"efa", 4},           FirmwareScheme{"erdma", 3},
    FirmwareScheme{"rxe", 0},       FirmwareScheme{"siw", 0},
};

}  // namespace

const FirmwareScheme* firmware_scheme(std::string_view driver) noexcept {
  const auto* found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                   [&](const FirmwareScheme& scheme) { return scheme.driver == driver; });
  return found != kSchemes.end() ? found : nullptr;
}

std::optional<Version> read_firmware(std::string_view driver, std::string_view text) {
  const FirmwareScheme* scheme = firmware_scheme(driver);
  std::string_view rest;
  auto version = read_leading_version(text, rest);
  if (!version) return std::nullopt;
  if (std::all_of(version->parts.begin(), version->parts.end(), [](std::uint64_t part) { return part == 0; })) {
    return std::nullopt;
  }
  const bool bare = rest.empty();
  if (scheme == nullptr) return bare ? version : std::nullopt;
  if (version->parts.size() != scheme->numbers) return std::nullopt;
  if (!bare && scheme->behind.find(rest.front()) == std::string_view::npos) return std::nullopt;
  return version;
}

}  // namespace verbena::quirks
