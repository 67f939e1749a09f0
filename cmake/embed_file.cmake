# SPDX-License-Identifier: Apache-2.0 OR MIT
# cmake -DINPUT=file -DOUTPUT=file.cpp -DSYMBOL=name -P embed_file.cmake
# Characters one by one: a string literal may be limited to 64 KiB, an array is not.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," characters "${hex}")
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
file(WRITE "${OUTPUT}" "#include <cstddef>
namespace verbena::builtin {
extern const char ${SYMBOL}[];
extern const std::size_t ${SYMBOL}_size;
const char ${SYMBOL}[] = {${characters}'\\0'};
const std::size_t ${SYMBOL}_size = ${size};
}  // namespace verbena::builtin
")
