// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbena/quirks.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Wishes of a site, as opposed to facts about devices. Environment over /etc/verbena/site.yaml over what is built in.
struct Settings {
  bool beyond_declared = true;   ///< VERBENA_FIT_BEYOND_DECLARED=allow|forbid
  bool strict_quirks = false;    ///< VERBENA_QUIRKS_STRICT=yes|no: a dropped layer fails the open
  unsigned ladder_tries = 8;     ///< VERBENA_CREATE_TRIES: creations tried before a refusal is final, 1..64
  std::string quirks_path;       ///< VERBENA_QUIRKS: files or directories of a further layer
};

/// One setting as `verbena config` prints it.
struct SettingInfo {
  std::string key;       ///< in the site file: `fit.beyond_declared`
  std::string variable;  ///< in the environment: `VERBENA_FIT_BEYOND_DECLARED`
  std::string value;
  std::string from;      ///< `default`, `/etc/verbena/site.yaml:3`, `environment`
  std::string help;      ///< allowed values and what they do
};

struct LoadedSettings {
  Settings values;
  std::vector<SettingInfo> info;
  std::vector<Finding> findings;  ///< unknown VERBENA_ variables with their nearest neighbour, bad values
  bool privileged = false;        ///< set-uid, set-gid or file capabilities: the environment was not read
};

/// Reads the environment once (never again later) and the site file. `site_file` empty: the default path.
[[nodiscard]] Result<LoadedSettings> load_settings(std::string_view site_file = {});

/// The same from given variables; how tests do it.
[[nodiscard]] Result<LoadedSettings> load_settings(std::string_view site_file, std::span<const std::string> environment,
                                                   bool privileged);

}  // namespace verbena
#pragma GCC visibility pop
