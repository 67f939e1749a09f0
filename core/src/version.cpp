// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/version.h"

#define VERBENA_TEXT_OF(x) #x
#define VERBENA_TEXT(x) VERBENA_TEXT_OF(x)

extern "C" const char* verbena_version(void) {
  return VERBENA_TEXT(VERBENA_VERSION_MAJOR) "." VERBENA_TEXT(VERBENA_VERSION_MINOR) "." VERBENA_TEXT(
      VERBENA_VERSION_PATCH);
}
