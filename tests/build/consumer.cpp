// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstring>

#include <verbena/version.h>
#include <verbena/result.hpp>

int main() {
  const verbena::Result<int> answer = 42;
  return answer && std::strcmp(verbena_version(), "0.1.0") == 0 ? 0 : 1;
}
