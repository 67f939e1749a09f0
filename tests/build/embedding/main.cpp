// SPDX-License-Identifier: Apache-2.0 OR MIT
// embedding FILE...: 0 when these files, in this order, are what is embedded.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "builtin/embedded.hpp"

int main(int argc, char** argv) {
  const auto tables = verbena::builtin::quirk_tables();
  if (tables.size() != static_cast<std::size_t>(argc - 1) || !verbena::builtin::models().empty()) {
    std::printf("%zu tables embedded, %d expected\n", tables.size(), argc - 1);
    return 1;
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string path = argv[i + 1];
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (tables[i].text != text || path.substr(path.rfind('/') + 1) != tables[i].name) {
      std::printf("%s differs from what is embedded\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
