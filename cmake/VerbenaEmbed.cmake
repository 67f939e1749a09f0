# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compiles text files into the library; see core/src/builtin/embedded.hpp.
include_guard()

# verbena_embed(FUNCTION PATTERN...): makes verbena::builtin::FUNCTION() list the files that match, by name.
# A file that is added, removed or changed is noticed at the next build.
function(verbena_embed function)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(SORT files)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/embedded/${function}.cpp")
  # The list of names is a dependency too, or a file that is removed would stay in.
  set(names "${CMAKE_CURRENT_BINARY_DIR}/embedded/${function}.txt")
  file(CONFIGURE OUTPUT "${names}" CONTENT "@files@" @ONLY)
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_files.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DNAMES=${names}" "-DOUTPUT=${output}" "-DFUNCTION=${function}" -P "${script}"
    DEPENDS ${files} "${names}" "${script}"
    COMMENT "Embedding ${function}"
    VERBATIM)
  verbena_sources("${output}")
endfunction()
