/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef VERBENA_VERSION_H
#define VERBENA_VERSION_H

/* Read by the build as well: the numbers are written nowhere else. */
#define VERBENA_VERSION_MAJOR 0
#define VERBENA_VERSION_MINOR 1
#define VERBENA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded, e.g. "0.1.0"; static storage, never NULL. */
__attribute__((visibility("default"))) const char* verbena_version(void);

#ifdef __cplusplus
}
#endif

#endif
