# SPDX-License-Identifier: Apache-2.0 OR MIT
# Debian 12's libdeflate (1.14) ships no CMake package. find_package(Libdeflate) makes the imported target
# libdeflate::libdeflate.
include(FindPackageHandleStandardArgs)

find_path(Libdeflate_INCLUDE_DIR libdeflate.h)
find_library(Libdeflate_LIBRARY deflate)
mark_as_advanced(Libdeflate_INCLUDE_DIR Libdeflate_LIBRARY)
find_package_handle_standard_args(Libdeflate REQUIRED_VARS Libdeflate_LIBRARY Libdeflate_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "the emulator's ICRC needs it (Debian: libdeflate-dev), -DVERBENA_BUILD_EMULATOR=OFF leaves it out")

if(Libdeflate_FOUND AND NOT TARGET libdeflate::libdeflate)
  add_library(libdeflate::libdeflate UNKNOWN IMPORTED)
  set_target_properties(libdeflate::libdeflate PROPERTIES
    IMPORTED_LOCATION "${Libdeflate_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Libdeflate_INCLUDE_DIR}")
endif()
