# SPDX-License-Identifier: Apache-2.0 OR MIT
# Debian's cross compiler for aarch64; programs run here under qemu-user. The libraries come from a folder of unpacked
# arm64 packages that `tools/sysroot` makes, since libyaml-cpp-dev can't be installed for two architectures at once.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT VERBENA_SYSROOT)
  set(VERBENA_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-aarch64")
endif()
get_filename_component(VERBENA_SYSROOT "${VERBENA_SYSROOT}" ABSOLUTE)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VERBENA_SYSROOT)

set(CMAKE_FIND_ROOT_PATH "${VERBENA_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Unpacked, not installed, /lib is a folder beside /usr/lib; libnl is there.
set(libraries "${VERBENA_SYSROOT}/usr/lib/aarch64-linux-gnu:${VERBENA_SYSROOT}/lib/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries}")
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=${libraries}:/usr/aarch64-linux-gnu/lib")
