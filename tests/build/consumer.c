/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>

#include <verbena/version.h>

int main(void) {
  return strcmp(verbena_version(), "0.1.0") == 0 ? 0 : 1;
}
