# SPDX-License-Identifier: Apache-2.0 OR MIT
# One function for each kind of thing that the project builds.
include_guard()

# verbena_sources(FILE...): adds sources to the library, from any folder. Paths are relative to that folder.
function(verbena_sources)
  list(TRANSFORM ARGV REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  target_sources(verbena_objects PRIVATE ${ARGV})
endfunction()

# The library is linked from verbena_objects; a source added to `verbena` itself would be missing from the tests.
function(verbena_check_sources)
  get_target_property(sources verbena SOURCES)
  list(FILTER sources EXCLUDE REGEX "TARGET_OBJECTS:verbena_objects")
  if(sources)
    message(FATAL_ERROR "Use verbena_sources(...) instead of target_sources(verbena ...) for: ${sources}")
  endif()
endfunction()

# What verbena_test, verbena_bench and verbena_fuzz are about: the library with its internals, unless SUBJECT says otherwise.
macro(verbena_default_subject)
  if(NOT arg_SUBJECT)
    set(arg_SUBJECT verbena_static)
  endif()
endmacro()

# verbena_has_threads(VARIABLE LIBRARIES SOURCES): whether a program starts threads, or links the emulator, which does.
add_custom_target(with_threads)
function(verbena_has_threads variable libraries sources)
  set(${variable} FALSE PARENT_SCOPE)
  if("verbena_emulator" IN_LIST libraries)
    set(${variable} TRUE PARENT_SCOPE)
  endif()
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" includes REGEX "^#include <(thread|future|pthread\\.h)>" LIMIT_COUNT 1)
    if(includes)
      set(${variable} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# verbena_test(NAME name SOURCES file... [SUBJECT target] [LABELS label...] [LIBRARIES target...] [TIMEOUT seconds]
#   [ENVIRONMENT A=b...])
# A GoogleTest program that sees the library's internals. Without LABELS it is a `unit` test. The target with_threads builds
# those that have more than one thread; where a program is one test, they have the label `threads` too.
function(verbena_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT;SUBJECT" "SOURCES;LABELS;LIBRARIES;ENVIRONMENT")
  verbena_default_subject()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  verbena_compile_rules(${arg_NAME})
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    # Times are not those of a processor.
    target_compile_definitions(${arg_NAME} PRIVATE VERBENA_TEST_EMULATED)
  endif()
  target_link_libraries(${arg_NAME} PRIVATE ${arg_SUBJECT} ${arg_LIBRARIES} GTest::gmock_main rapidcheck)
  verbena_has_threads(threads "${arg_LIBRARIES}" "${arg_SOURCES}")
  if(threads)
    add_dependencies(with_threads ${arg_NAME})
  endif()
  set(properties LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(VERBENA_TEST_DISCOVERY)
    include(GoogleTest)
    gtest_discover_tests(${arg_NAME} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
  else()
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
    set_tests_properties(${arg_NAME} PROPERTIES ${properties})
    if(threads)
      set_property(TEST ${arg_NAME} APPEND PROPERTY LABELS threads)
    endif()
  endif()
endfunction()

# verbena_bench(NAME name SOURCES file... [SUBJECT target] [LIBRARIES target...]): a Google Benchmark program; ctest runs
# each of its benchmarks once, to know that it still works, and never to measure.
function(verbena_bench)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SUBJECT" "SOURCES;LIBRARIES")
  verbena_default_subject()
  if(NOT benchmark_FOUND)
    message(STATUS "Google Benchmark not found: ${arg_NAME} is left out")
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  verbena_compile_rules(${arg_NAME})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_SUBJECT} ${arg_LIBRARIES} benchmark::benchmark_main)
  if(VERBENA_BUILD_TESTS)
    add_test(NAME bench.${arg_NAME} COMMAND ${arg_NAME} --benchmark_min_time=0)
    set_tests_properties(bench.${arg_NAME} PROPERTIES LABELS bench TIMEOUT 120)
  endif()
endfunction()

# verbena_tool(NAME name SOURCES file... [LIBRARIES target...]): a command that is installed. It links the shared
# library, so it sees the public interface alone. The target is called tool_<name>.
function(verbena_tool)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBRARIES")
  add_executable(tool_${arg_NAME} ${arg_SOURCES})
  verbena_compile_rules(tool_${arg_NAME})
  set_target_properties(tool_${arg_NAME} PROPERTIES
    OUTPUT_NAME ${arg_NAME}
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_link_libraries(tool_${arg_NAME} PRIVATE verbena::verbena ${arg_LIBRARIES})
  add_dependencies(shipped tool_${arg_NAME})
  if(VERBENA_INSTALL)
    install(TARGETS tool_${arg_NAME} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  endif()
endfunction()

# verbena_fuzz(NAME name SOURCES file... [SUBJECT target] [CORPUS folder...] [LIBRARIES target...]): a libFuzzer
# target. ctest runs it for VERBENA_FUZZ_SECONDS on the corpus; what it finds is written to the build folder.
set(VERBENA_FUZZ_SECONDS 20 CACHE STRING "How long ctest runs each fuzz target")
function(verbena_fuzz)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SUBJECT" "SOURCES;CORPUS;LIBRARIES")
  verbena_default_subject()
  add_executable(${arg_NAME} ${arg_SOURCES})
  verbena_compile_rules(${arg_NAME})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_SUBJECT} ${arg_LIBRARIES})
  target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
  set(found "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.found")
  file(MAKE_DIRECTORY "${found}/corpus")
  add_test(NAME fuzz.${arg_NAME}
    COMMAND ${arg_NAME} -max_total_time=${VERBENA_FUZZ_SECONDS} -timeout=5 -rss_limit_mb=2048 -print_final_stats=1
      "-artifact_prefix=${found}/" "${found}/corpus" ${arg_CORPUS}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  math(EXPR limit "${VERBENA_FUZZ_SECONDS} + 120")
  set_tests_properties(fuzz.${arg_NAME} PROPERTIES LABELS fuzz TIMEOUT ${limit})
endfunction()
