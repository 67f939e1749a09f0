# SPDX-License-Identifier: Apache-2.0 OR MIT
# Compiles text files into the library; see core/src/builtin/embedded.hpp.
include_guard()

# verbena_embed(FUNCTION PATTERN...): makes verbena::builtin::FUNCTION() list the files that match, by name.
# A file that is added or removed is noticed at the next build.
function(verbena_embed function)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(SORT files)
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_file.cmake")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/embedded/${function}")
  set(declarations "")
  set(rows "")
  set(count 0)
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${function}_${name}" symbol)
    set(output "${folder}/${name}.cpp")
    add_custom_command(
      OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DINPUT=${file}" "-DOUTPUT=${output}" "-DSYMBOL=${symbol}"
        -P "${script}"
      DEPENDS "${file}" "${script}"
      COMMENT "Embedding ${name}"
      VERBATIM)
    verbena_sources("${output}")
    string(APPEND declarations "extern const char ${symbol}[];\nextern const std::size_t ${symbol}_size;\n")
    string(APPEND rows "      {\"${name}\", {${symbol}, ${symbol}_size}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  if(count EQUAL 0)
    set(body "  return {};")
  else()
    set(body "  static const std::array<EmbeddedTable, ${count}> tables{{\n${rows}  }};\n  return tables;")
  endif()
  file(CONFIGURE OUTPUT "${folder}.cpp" @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>
#include <cstddef>

#include \"builtin/embedded.hpp\"

namespace verbena::builtin {

@declarations@
std::span<const EmbeddedTable> @function@() noexcept {
@body@
}

}  // namespace verbena::builtin
")
  verbena_sources("${folder}.cpp")
endfunction()
