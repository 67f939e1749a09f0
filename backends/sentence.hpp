// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <iterator>
#include <string>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace verbena {

/// The arithmetic behind a grant, put together piece by piece in one buffer from formats that are compiled
/// (FMT_COMPILE): a fit that lowers something has to say why within a microsecond.
class Sentence {
public:
  template <class Format, class... Values>
  Sentence& add(const Format& format, const Values&... values) {
    fmt::format_to(std::back_inserter(text_), format, values...);
    return *this;
  }
  std::string text() const { return {text_.data(), text_.size()}; }

private:
  fmt::basic_memory_buffer<char, 384> text_;
};

}  // namespace verbena
