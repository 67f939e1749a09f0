# SPDX-License-Identifier: Apache-2.0 OR MIT
# What holds for every translation unit of the project. Nothing here reaches a consumer's own targets.
include_guard()

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(VERBENA_CCACHE ccache)
  mark_as_advanced(VERBENA_CCACHE)
  if(VERBENA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths below the source tree don't count, so that several checkouts share what they compile.
    set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${VERBENA_CCACHE}")
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  endif()
  # Sanitizers must see the whole program, tests included.
  if(VERBENA_SANITIZE)
    list(JOIN VERBENA_SANITIZE "," sanitizers)
    add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${sanitizers})
  endif()
endif()

# Sets language level and warnings on a target of this project.
function(verbena_compile_rules target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # std::stable_sort of libstdc++ 12 calls std::get_temporary_buffer, which it deprecates itself.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
  endif()
  if(VERBENA_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(VERBENA_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees uninitialised reads that its own instrumentation adds.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()
