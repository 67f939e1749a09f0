// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

namespace cli_test {

struct Ran {
  int code = -1;     ///< exit code; 128 + the signal when one ended it
  std::string out;   ///< standard output
  std::string err;   ///< standard error
  std::string all() const { return out + err; }
};

/// Runs the built `verbena` with these arguments; of the environment only `environment` (NAME=VALUE) and PATH are left.
Ran run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

/// Words of a line, parted at blanks.
std::vector<std::string> words(const std::string& line);

/// A file of the source tree.
std::string source_file(const std::string& path);

/// A file with that content in the test's own folder.
std::string written(const std::string& name, const std::string& content);
/// The whole file.
std::string read(const std::string& path);

}  // namespace cli_test
