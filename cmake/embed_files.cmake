# SPDX-License-Identifier: Apache-2.0 OR MIT
# cmake -DNAMES=file -DOUTPUT=file.cpp -DNAMESPACE=a::b -DFUNCTION=name -DHEADER=file.hpp -DTYPE=name -P embed_files.cmake
# NAMES holds a list of files. Characters one by one: a string literal may be limited to 64 KiB, an array is not.
file(READ "${NAMES}" files)
set(arrays "")
set(rows "")
set(count 0)
foreach(file IN LISTS files)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," characters "${hex}")
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  get_filename_component(name "${file}" NAME)
  string(APPEND arrays "constexpr char file_${count}[] = {${characters}'\\0'};\n")
  string(APPEND rows "    {\"${name}\", {file_${count}, ${size}}},\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  set(tables "constexpr std::span<const ${TYPE}> tables;\n")
else()
  set(tables "constexpr ${TYPE} tables[] = {\n${rows}};\n")
endif()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {
${arrays}${tables}}  // namespace

std::span<const ${TYPE}> ${FUNCTION}() noexcept { return tables; }

}  // namespace ${NAMESPACE}
")
