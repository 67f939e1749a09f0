// SPDX-License-Identifier: Apache-2.0 OR MIT
// mlx5dv on shells of mlx5 NICs (tests/vm/nicshell), against the genuine libmlx5: what Verbena asks of it, what it
// makes of the answers, and that it does without where the library is not found. Each check is a line `ok:` or
// `FAILED:`.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "raw_calls.hpp"
#include "through_verbena.hpp"
#include "verbena/settings.hpp"

namespace {

using namespace verbena;

void usage() {
  std::fprintf(stderr,
               "usage: mlx5dv_paths -d DEVICE... [-x] [-w]\n\n"
               "  -x   the kernel is expected to give DevX contexts\n"
               "  -w   libmlx5 is expected not to be found, or not to serve the devices\n\n"
               "Exit code: 0, 1 when a check fails, 2 usage, 77 when this is no shell of a NIC.\n");
}

}  // namespace

int main(int argc, char** argv) {
  mlx5dv_paths::Expected expected;
  std::vector<std::string> devices;
  for (int option = 0; (option = getopt(argc, argv, "d:xw")) != -1;) {
    if (option == 'd') devices.emplace_back(optarg);
    if (option == 'x') expected.devx = true;
    if (option == 'w') expected.library = false;
    if (option == '?') return usage(), 2;
  }
  if (devices.empty()) return usage(), 2;
  mlx5dv_paths::Checks checks;
  if (!checks.record().there()) {
    std::printf("skipped: /proc/nicshell is not there\n");
    return 77;
  }

  std::vector<LogRecord> log;
  LibraryOptions options;
  if (auto settings = load_settings()) options.settings = std::move(*settings);
  options.log = [&](const LogRecord& record) { log.push_back(record); };
  const auto library = Library::create(std::move(options));
  if (!library) {
    std::printf("%s\n", to_string(library.error()).c_str());
    return 1;
  }
  for (const std::string& device : devices) {
    mlx5dv_paths::try_through_verbena(*library, log, device, expected, checks);
    if (expected.library) mlx5dv_paths::try_raw_calls(device, expected, checks);
  }
  std::printf("%u failed\n", checks.failed());
  return checks.failed() == 0 ? 0 : 1;
}
