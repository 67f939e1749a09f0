# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compiles text files into a program; see core/src/builtin/embedded.hpp.
include_guard()
set(VERBENA_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake")

# verbena_embed_source(variable NAMESPACE n HEADER h TYPE t FUNCTION f FILES pattern...): a source that defines
# n::f(), which lists the files that match, by name; h declares it and the type of its entries. The source's path is put
# into the variable. A file that is added, removed or changed is noticed at the next build.
function(verbena_embed_source variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAMESPACE;HEADER;TYPE;FUNCTION" "FILES")
  file(GLOB files CONFIGURE_DEPENDS ${arg_FILES})
  list(SORT files COMPARE FILE_BASENAME)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${arg_FUNCTION}.cpp")
  # The list of names is a dependency too, or a file that is removed would stay in.
  set(names "${CMAKE_CURRENT_BINARY_DIR}/embedded/${arg_FUNCTION}.txt")
  file(CONFIGURE OUTPUT "${names}" CONTENT "@files@" @ONLY)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DNAMES=${names}" "-DOUTPUT=${output}" "-DFUNCTION=${arg_FUNCTION}"
      "-DNAMESPACE=${arg_NAMESPACE}" "-DHEADER=${arg_HEADER}" "-DTYPE=${arg_TYPE}" -P "${VERBENA_EMBED_SCRIPT}"
    DEPENDS ${files} "${names}" "${VERBENA_EMBED_SCRIPT}"
    COMMENT "Embedding ${arg_FUNCTION}"
    VERBATIM)
  # Each of these has arrays of the same names.
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

# verbena_embed(FUNCTION PATTERN...): makes verbena::builtin::FUNCTION() list the files that match.
function(verbena_embed function)
  verbena_embed_source(output NAMESPACE verbena::builtin HEADER builtin/embedded.hpp TYPE EmbeddedTable
    FUNCTION ${function} FILES ${ARGN})
  verbena_sources("${output}")
endfunction()
